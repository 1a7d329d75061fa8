"""What the bidirectional market data stream answers to its client's frames (rule S10, §4.4)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from sim.oracle.exchange import NaiveExchange
from sim.oracle.frames import Row
from sim.oracle.state import Document
from sim.oracle.subscriptions import OpenStream

_MOST = 1_000  # symbols that an acknowledgement lists (rule S10)


class Answer(NamedTuple):
    """Rows that answer a frame, the symbols whose books follow them, and how the stream ends."""

    rows: list[Row]
    symbols: list[str]
    end: tuple[int, int, str] | None = None


def answer(exchange: NaiveExchange, stream: OpenStream, frame: Document) -> Answer:
    """Return what a client's frame is answered with. Options count in the first frame only."""
    command = next((name for name in ("subscribe", "unsubscribe", "keepalive") if name in frame), "")
    first, stream.spoken = not stream.spoken, True
    if not command or (first and command == "keepalive"):
        return Answer([], [], (3, 1008, "S10"))
    if first:
        stream.depth, stream.single = frame.get("depth") or 10, bool(frame.get("unaggregated"))
        stream.snapshot_only = bool(frame.get("snapshotOnly"))
    if command == "keepalive":
        return Answer([], [])
    symbols = list(dict.fromkeys(frame[command].get("symbols", ())))
    reply = _subscribe if command == "subscribe" else _unsubscribe
    return reply(exchange, stream, symbols)


def _subscribe(exchange: NaiveExchange, stream: OpenStream, symbols: list[str]) -> Answer:
    every = exchange.beginning.instruments
    if unknown := [symbol for symbol in symbols if symbol not in every]:
        return _error("INVALID_SYMBOL", unknown)
    active = active_symbols(exchange, stream)
    if again := [symbol for symbol in symbols if symbol in active]:
        return _error("ALREADY_SUBSCRIBED", again)
    added = symbols or [symbol for symbol in every if symbol not in active]
    if not added:
        return _error("ALREADY_SUBSCRIBED", [])
    if not symbols:
        stream.symbols, stream.scales = None, True
    elif stream.symbols is not None:
        stream.symbols |= dict.fromkeys(symbols)
    scales = [
        {
            "symbol": symbol,
            "priceScale": str(exchange.market(symbol).price_scale),
            "quantityScale": str(exchange.market(symbol).qty_scale),
        }
        for symbol in added
    ]
    document = _acknowledgement(exchange, stream, "symbolsAdded", added)
    if len(added) <= _MOST:
        document["symbolScales"] = scales
    end = (0, 1000, "S11") if stream.snapshot_only else None
    return Answer([Row("", "subscriptionAck", document, "S10")], added, end)


def _unsubscribe(exchange: NaiveExchange, stream: OpenStream, symbols: list[str]) -> Answer:
    active = active_symbols(exchange, stream)
    if foreign := [symbol for symbol in symbols if symbol not in active]:
        return _error("NOT_SUBSCRIBED", foreign)
    if stream.symbols is None:  # what is left of everything is shown as if it had been named
        stream.symbols, stream.scales = dict.fromkeys(active), False
        for symbol, row in stream.sent.items():
            hidden = "priceScale", "quantityScale", "transactTime"
            document = {key: row.document[key] for key in row.document if key not in hidden}
            stream.sent[symbol] = row._replace(document=document)
    for symbol in symbols:
        del stream.symbols[symbol]
        stream.sent.pop(symbol, None)
    document = _acknowledgement(exchange, stream, "symbolsRemoved", symbols)
    return Answer([Row("", "subscriptionAck", document, "S10")], [])


def active_symbols(exchange: NaiveExchange, stream: OpenStream) -> Iterable[str]:
    """Return the symbols that a stream follows."""
    return exchange.beginning.instruments if stream.symbols is None else stream.symbols


def _acknowledgement(
    exchange: NaiveExchange, stream: OpenStream, name: str, symbols: list[str]
) -> Document:
    """Return an acknowledgement; it counts symbols, and lists them up to a thousand."""
    active = list(active_symbols(exchange, stream))
    document: Document = {}
    for key, some in ((name, symbols), ("activeSymbols", active)):
        count = "activeSymbolCount" if some is active else f"{key}Count"
        document[key] = some if len(some) <= _MOST else []
        document[count] = len(some)
        document[f"{key}Truncated"] = len(some) > _MOST
    return document


def _error(code: str, symbols: list[str]) -> Answer:
    document: Document = {"errorCode": code}
    if symbols:
        document["symbols"] = symbols
    return Answer([Row("", "subscriptionError", document, "S10")], [])
