"""What the bidirectional market data stream answers to its client's frames (rule S10, §4.4)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from sim.oracle.exchange import NaiveExchange
from sim.oracle.state import Document
from sim.oracle.streams.frames import FrameRow, picture
from sim.oracle.streams.subscriptions import End, OpenStream

_MOST = 1_000  # symbols that an acknowledgement lists (rule S10)

# Rows that answer a frame, the symbols whose books follow them, and how the stream ends.
Answer: TypeAlias = tuple[list[FrameRow], list[str], End | None]


def answer(exchange: NaiveExchange, stream: OpenStream, frame: Document) -> Answer:
    """Return what a client's frame is answered with. Options count in the first frame only."""
    command = next(
        (name for name in ("subscribe", "unsubscribe", "keepalive") if name in frame), ""
    )
    first, stream.spoken = not stream.spoken, True
    if not command or (first and command == "keepalive"):
        return [], [], (3, 1008, "S10")
    if first:
        stream.depth, stream.single = frame.get("depth") or 10, bool(frame.get("unaggregated"))
        stream.snapshot_only = bool(frame.get("snapshotOnly"))
    if command == "keepalive":
        return [], [], None
    symbols = list(dict.fromkeys(frame[command].get("symbols", ())))
    active = exchange.beginning.listed() if stream.symbols is None else list(stream.symbols)
    if command == "unsubscribe":
        if foreign := [symbol for symbol in symbols if symbol not in active]:
            return _error("NOT_SUBSCRIBED", foreign)
        if symbols:
            _remove(stream, symbols, active)
        document = _acknowledgement(
            "symbolsRemoved", symbols, active if stream.symbols is None else stream.symbols
        )
        return [FrameRow("", "subscriptionAck", document, "S10")], [], None
    if unknown := [symbol for symbol in symbols if symbol not in exchange.beginning.instruments]:
        return _error("INVALID_SYMBOL", unknown)
    every = () if symbols else exchange.beginning.listed()
    added = symbols or [symbol for symbol in every if symbol not in active]
    again = [symbol for symbol in symbols if symbol in active]
    if again or (not symbols and stream.symbols is None):
        return _error("ALREADY_SUBSCRIBED", again)
    if not symbols:
        _reshape(stream)
    stream.scales = not symbols
    stream.symbols = {**dict.fromkeys(active), **dict.fromkeys(symbols)} if symbols else None
    document = _acknowledgement("symbolsAdded", added, stream.symbols or every)
    if len(added) <= _MOST:
        fields = "symbol #priceScale=price_scale #quantityScale=qty_scale"
        document["symbolScales"] = [picture(exchange.market(each).terms, fields) for each in added]
    end = (0, 1000, "S11") if stream.snapshot_only else None
    return [FrameRow("", "subscriptionAck", document, "S10")], added, end


def _remove(stream: OpenStream, symbols: list[str], active: Iterable[str]) -> None:
    """Follow some symbols no longer. What is left of everything is shown as if it were named."""
    if stream.symbols is None:
        _reshape(stream)
    stream.scales = False
    stream.symbols = {symbol: None for symbol in active if symbol not in symbols}
    for symbol in symbols:
        stream.sent.pop(symbol, None)


def _reshape(stream: OpenStream) -> None:
    """Forget the scales of books, and their instants: a book in another form is made anew."""
    hidden = "priceScale", "quantityScale", "transactTime"
    for symbol, row in stream.sent.items():
        document = {name: row.document[name] for name in row.document if name not in hidden}
        stream.sent[symbol] = row._replace(document=document)


def _acknowledgement(name: str, symbols: list[str], active: Iterable[str]) -> Document:
    """Return an acknowledgement; it counts symbols, and lists them up to a thousand."""
    document: Document = {}
    for key, count, some in (
        (name, f"{name}Count", symbols),
        ("activeSymbols", "activeSymbolCount", list(active)),
    ):
        document |= {key: some if len(some) <= _MOST else [], count: len(some)}
        document[f"{key}Truncated"] = len(some) > _MOST
    return document


def _error(code: str, symbols: list[str]) -> Answer:
    document: Document = {"errorCode": code} | ({"symbols": symbols} if symbols else {})
    return [FrameRow("", "subscriptionError", document, "S10")], [], None
