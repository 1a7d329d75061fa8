"""What the bidirectional market data stream answers to its client's frames (rule S10, §4.4)."""

from __future__ import annotations

from typing import TypeAlias

from sim.kernel.instants import parse_instant
from sim.oracle.exchange import NaiveExchange
from sim.oracle.state import Document
from sim.oracle.streams.frames import FrameRow, picture
from sim.oracle.streams.subscriptions import End, OpenStream

_KEEPALIVES = parse_instant("2026-05-01T04:00:00Z")  # from when on they are read (§9)
_MOST = 1_000  # symbols that an acknowledgement lists (rule S10)

# Rows that answer a frame, the symbols whose books follow them, and how the stream ends.
Answer: TypeAlias = tuple[list[FrameRow], list[str], End | None]


def answer(exchange: NaiveExchange, stream: OpenStream, frame: Document) -> Answer:
    """Return what a client's frame is answered with. Options count in the first frame only."""
    served = ("subscribe", "unsubscribe") + ("keepalive",) * (exchange.now >= _KEEPALIVES)
    commands = [name for name in served if name in frame]
    first, stream.spoken = not stream.spoken, True
    if not commands or (first and commands[0] == "keepalive"):
        return [], [], (3, 1008, "S10")
    if first and int(frame.get("depth", 0)) < 0:
        return [], [], (3, 1008, "S8")
    if first:
        stream.depth, stream.single = frame.get("depth") or 10, bool(frame.get("unaggregated"))
        stream.snapshot_only = bool(frame.get("snapshotOnly"))
    if commands[0] == "keepalive":
        return [], [], None
    symbols = list(dict.fromkeys(frame[commands[0]].get("symbols", ())))
    active = exchange.beginning.listed() if stream.symbols is None else list(stream.symbols)
    if commands[0] == "unsubscribe":
        return _unsubscribed(stream, symbols, active), [], None
    if unknown := [symbol for symbol in symbols if symbol not in exchange.beginning.instruments]:
        return _error("INVALID_SYMBOL", unknown), [], None
    added = symbols or [each for each in exchange.beginning.listed() if each not in set(active)]
    again = [symbol for symbol in symbols if symbol in active]
    if again or (not symbols and stream.symbols is None):
        return _error("ALREADY_SUBSCRIBED", again), [], None
    stream.symbols = dict.fromkeys([*active, *symbols]) if symbols else None
    follows = exchange.beginning.listed() if stream.symbols is None else list(stream.symbols)
    rows = _acknowledgement("symbolsAdded", added, follows)
    if len(added) <= _MOST:
        fields = "symbol #priceScale=price_scale #quantityScale=qty_scale"
        scales = [picture(exchange.market(each).terms, fields) for each in added]
        rows[0].document["symbolScales"] = scales
    return rows, added, (0, 1000, "S11") if stream.snapshot_only else None


def _unsubscribed(stream: OpenStream, symbols: list[str], active: list[str]) -> list[FrameRow]:
    """Follow some symbols no longer."""
    if foreign := [symbol for symbol in symbols if symbol not in active]:
        return _error("NOT_SUBSCRIBED", foreign)
    left = [symbol for symbol in active if symbol not in symbols]
    if symbols:
        stream.symbols = dict.fromkeys(left)
        for symbol in symbols:
            stream.sent.pop(symbol, None)
    return _acknowledgement("symbolsRemoved", symbols, left)


def _acknowledgement(name: str, symbols: list[str], active: list[str]) -> list[FrameRow]:
    """Return an acknowledgement; it counts symbols, and lists them up to a thousand."""
    document: Document = {}
    for key, count, some in (
        (name, f"{name}Count", symbols),
        ("activeSymbols", "activeSymbolCount", active),
    ):
        document |= {key: some if len(some) <= _MOST else [], count: len(some)}
        document[f"{key}Truncated"] = len(some) > _MOST
    return [FrameRow("", "subscriptionAck", document, "S10")]


def _error(code: str, symbols: list[str]) -> list[FrameRow]:
    document: Document = {"errorCode": code} | ({"symbols": symbols} if symbols else {})
    return [FrameRow("", "subscriptionError", document, "S10")]
