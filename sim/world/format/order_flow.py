"""Recorded order flow: a CSV file of orders, cancels and replaces.

The file is packed when the scenario is read, and unpacked in parts when the scenario runs. Each
part is a fixed number of lines, compressed. So a million rows need a few megabytes, any line can be
read without those before it, and a journal can contain the file. `Reader` checks the rows against
the world before a run, so an invalid row never reaches the exchange.

This module does not know the exchange; `actors/participants/order_flow_player.py` sends the rows.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from sim.core.model.enums import OrderType, Side, TimeInForce
from sim.core.model.quantities import NotADecimal, scaled
from sim.kernel.instants import NS_PER_S, Instant, parse_instant, parse_span
from sim.kernel.regular_file import open_regular
from sim.world.format.participant_entries import FlowEntry
from sim.world.format.suggestions import suggestion
from sim.world.format.world_entries import OrderEntry

PART_LINES = 2_048
LINE_LIMIT = 1_000  # bytes
SIZE_LIMIT = 1 << 28  # bytes of a file
PROBLEMS_SHOWN = 20

NEW, CANCEL, REPLACE = "new", "cancel", "replace"
COLUMNS = {
    "at": (
        'seconds after the start, a duration such as "+1m30s", or an instant; rows are in order of'
        " time"
    ),
    "as": (
        "maker, taker, noise, another participant, or firms/<firm>/users/<user>; `as` of the flow"
        " when empty"
    ),
    "action": "new, cancel or replace; new when empty",
    "id": "client order id: of the new order, or of the one to cancel or replace",
    "symbol": "instrument",
    "side": "buy or sell",
    "price": "dollars; empty for a market order, or to keep the price in a replace",
    "qty": "contracts; in a replace the new total, empty to keep it",
    "type": "limit or market; limit when empty",
    "tif": "gtc, day, ioc or fok; gtc when empty",
}
REQUIRED = ("at", "symbol")

_LATEST: Instant = parse_instant("2200-01-01T00:00:00Z")  # within 64 bits of nanoseconds
_NUMBER = re.compile(r"[0-9]{1,12}(?:\.[0-9]{1,9})?", re.ASCII)
_ACTIONS = {"": NEW, NEW: NEW, CANCEL: CANCEL, REPLACE: REPLACE}
_SIDES = {"buy": Side.BUY, "sell": Side.SELL}
_TYPES = {"": OrderType.LIMIT, "limit": OrderType.LIMIT, "market": OrderType.MARKET_TO_LIMIT}
_TIFS = {
    "": TimeInForce.GOOD_TILL_CANCEL,
    "gtc": TimeInForce.GOOD_TILL_CANCEL,
    "day": TimeInForce.DAY,
    "ioc": TimeInForce.IMMEDIATE_OR_CANCEL,
    "fok": TimeInForce.FILL_OR_KILL,
}
_WORDS: dict[str, Mapping[str, object]] = {
    "action": _ACTIONS,
    "type": _TYPES,
    "tif": _TIFS,
    "side": _SIDES,
}


class FlowError(ValueError):
    """A file that is not a valid order flow. `line` and `column` count from 1."""

    def __init__(self, line: int, column: int, message: str) -> None:
        super().__init__(message)
        self.line = line
        self.column = column


class FlowRow(NamedTuple):
    """One row: when it is due, its action, and the order that it names. A replace has the new price
    and quantity, None for what it keeps.
    """

    due: Instant
    action: str
    order: OrderEntry


class PackedFile(NamedTuple):
    """A file: the SHA-256 of its bytes, and its lines in compressed parts of PART_LINES."""

    sha256: str
    parts: tuple[bytes, ...]


def packed_of(entry: FlowEntry) -> PackedFile:
    """The file of a flow entry whose content has been read."""
    return PackedFile(entry.sha256, entry.content)


def pack_file(path: Path) -> PackedFile:
    """Read a file and pack it, one part at a time. OSError if it cannot be read, FlowError if the
    file or a line is too long.
    """
    digest, parts, lines, size = sha256(), [], [], 0
    with open_regular(path) as file:
        number = 0
        while line := file.readline(LINE_LIMIT + 1):
            number += 1
            size += len(line)
            if len(line) > LINE_LIMIT:
                raise FlowError(
                    number, LINE_LIMIT + 1, f"this line has more than {LINE_LIMIT} bytes"
                )
            if size > SIZE_LIMIT:
                raise FlowError(number, 1, f"the file is larger than {SIZE_LIMIT} bytes")
            digest.update(line)
            lines.append(line)
            if len(lines) == PART_LINES:
                parts.append(zlib.compress(b"".join(lines), 6))
                lines.clear()
    if lines:
        parts.append(zlib.compress(b"".join(lines), 6))
    return PackedFile(digest.hexdigest(), tuple(parts))


def is_intact(packed: PackedFile) -> bool:
    """Whether the content of the parts has the SHA-256."""
    digest = sha256()
    try:
        for part in packed.parts:
            unpacker = zlib.decompressobj()
            digest.update(unpacker.decompress(part, PART_LINES * LINE_LIMIT))
            if not unpacker.eof:
                return False
    except zlib.error:
        return False
    return digest.hexdigest() == packed.sha256


def lines_of(packed: PackedFile, first: int = 0) -> Iterator[tuple[int, str]]:
    """(number, text) of the lines from a number on, without line ends; the first line has the
    number 0. FlowError if the text is not UTF-8.
    """
    for index in range(first // PART_LINES, len(packed.parts)):
        number = index * PART_LINES
        for line in zlib.decompress(packed.parts[index]).split(b"\n"):
            if number >= first:
                try:
                    yield number, line.rstrip(b"\r").decode("utf-8-sig" if not number else "utf-8")
                except UnicodeDecodeError as error:
                    raise FlowError(number + 1, error.start + 1, "this is not UTF-8 text") from None
            number += 1


class Reader:
    """Reads one file. `start` is the scenario's start; `default` sends rows that name nobody."""

    def __init__(self, packed: PackedFile, start: Instant, default: str) -> None:
        """FlowError if the first line does not name the columns."""
        self._packed = packed
        self._start = start
        self._default = default
        heading = next(lines_of(packed), None)
        if heading is None:
            names = ",".join(COLUMNS)
            raise FlowError(
                1, 1, f"the file is empty; its first line must name the columns: {names}"
            )
        self._columns = _heading(heading[1])
        # Index of the cell of each of COLUMNS; -1 is the empty cell that `_row` appends.
        indices = {name: index for index, name in enumerate(self._columns)}
        self._places = [indices.get(name, -1) for name in COLUMNS]

    def rows(self, first: int = 0) -> Iterator[tuple[int, FlowRow]]:
        """(number of the line, row) from a line on. Empty lines and lines that begin with
        # are skipped.
        """
        for number, line in lines_of(self._packed, max(first, 1)):
            if line and not line.isspace() and line[0] != "#":
                yield number, self._row(number, line)

    def _row(self, number: int, line: str) -> FlowRow:
        cells = line.split(",")
        if len(cells) != len(self._columns):
            columns = len(self._columns)
            raise FlowError(
                number + 1,
                1,
                f"this row has {len(cells)} cells, but the first line names {columns} columns",
            )
        if '"' in line or " " in line or "\t" in line:
            cells = [_bare(cell) for cell in cells]
        cells.append("")
        ordered = [cells[index] for index in self._places]
        at, participant, action, clord_id, symbol, side, price, qty, type, tif = ordered
        try:
            due, kind = _due(at, self._start), _ACTIONS[action]
            entry = OrderEntry(
                as_=participant or self._default,
                symbol=symbol,
                side=_SIDES[side] if kind == NEW else Side.BUY,
                price=price or None,
                qty=qty or None,
                type=_TYPES[type],
                tif=_TIFS[tif],
                clord_id=clord_id,
            )
        except KeyError:
            words = {"action": action, "type": type, "tif": tif, "side": side}
            raise self._unknown_word(number, line, words) from None
        except ValueError as error:
            raise self.wrong(number, line, "at", f"at: {error}") from None
        if kind != NEW:
            if not clord_id:
                raise self.wrong(number, line, "id", f"a {kind} needs the id of an order")
        elif not qty:
            raise self.wrong(number, line, "qty", "a new order needs a quantity")
        elif (entry.type is OrderType.LIMIT) != bool(price):
            message = "a limit order needs a price, and a market order must not have one"
            raise self.wrong(number, line, "price", message)
        return FlowRow(due, kind, entry)

    def _unknown_word(self, number: int, line: str, words: Mapping[str, str]) -> FlowError:
        """The problem of the first cell whose word is not valid in its column."""
        column = next(name for name, word in words.items() if word not in _WORDS[name])
        choice = " or ".join(filter(None, _WORDS[column]))
        message = f"{column} must be {choice}, not {words[column][:40]!r}"
        return self.wrong(number, line, column, message)

    def wrong(self, number: int, line: str, column: str, message: str) -> FlowError:
        """A problem at the beginning of a cell, or of the line if the file lacks the column."""
        offset = 0
        if column in self._columns:
            offset = sum(len(cell) + 1 for cell in line.split(",")[: self._columns.index(column)])
        return FlowError(number + 1, offset + 1, message)

    def check(
        self, scales: Mapping[str, tuple[int, int]], exists: Callable[[str], bool]
    ) -> Iterator[FlowError]:
        """All problems, at most PROBLEMS_SHOWN.

        `scales` has the scales of price and quantity by symbol; `exists` says whether
        a name exists.
        """
        reported, latest, choices = 0, None, lru_cache(maxsize=4096)(exists)
        for number, line in lines_of(self._packed, 1):
            if not line or line.isspace() or line[0] == "#":
                continue
            try:
                row = self._row(number, line)
                for column, message in _row_problems(
                    row.order, scales.get(row.order.symbol), choices
                ):
                    raise self.wrong(number, line, column, message)
                if latest is not None and row.due < latest:
                    raise self.wrong(number, line, "at", "rows must be in order of time")
                latest = row.due
            except FlowError as error:
                reported += 1
                yield error
                if reported == PROBLEMS_SHOWN:
                    return


def _row_problems(
    order: OrderEntry, scales: tuple[int, int] | None, choices: Callable[[str], bool]
) -> Iterator[tuple[str, str]]:
    """(column, message) of what does not fit the world."""
    if scales is None:
        yield "symbol", f"unknown symbol {order.symbol[:80]!r}"
        return
    if not choices(order.as_):
        yield "as", f"there is no firm or participant {order.as_[:80]!r}"
    for column, text, scale in (("price", order.price, scales[0]), ("qty", order.qty, scales[1])):
        if text and (message := _unfit(text, scale)):
            yield column, f"{column}: {message}"


def _heading(line: str) -> Sequence[str]:
    cells = line.split(",")
    columns = [_bare(cell) for cell in cells]
    offset = 1
    for index, name in enumerate(columns):
        if name not in COLUMNS:
            unknown = f"unknown column {name[:40]!r}{suggestion(name, COLUMNS)}"
            raise FlowError(1, offset, f"{unknown}; known: {', '.join(COLUMNS)}")
        if name in columns[:index]:
            raise FlowError(1, offset, f"the column {name!r} occurs twice")
        offset += len(cells[index]) + 1
    for name in REQUIRED:
        if name not in columns:
            raise FlowError(1, 1, f"the column {name!r} is missing")
    return columns


def _bare(cell: str) -> str:
    """A cell without spaces and quotation marks around it."""
    cell = cell.strip()
    return cell[1:-1] if len(cell) > 1 and cell[0] == cell[-1] == '"' else cell


def _due(text: str, start: Instant) -> Instant:
    if _NUMBER.fullmatch(text):
        seconds, _, fraction = text.partition(".")
        due = start + int(seconds) * NS_PER_S + int(fraction.ljust(9, "0"))
    else:
        due = start + parse_span(text[1:]) if text[:1] == "+" else parse_instant(text)
    if due >= _LATEST:
        raise ValueError("must be before the year 2200")
    return due


@lru_cache(maxsize=1 << 16)
def _unfit(text: str, unit: int) -> str:
    """Why text is not a positive price or quantity of an instrument; "" if it is one."""
    try:
        return "" if scaled(text, unit) > 0 else f"{text} is not above zero"
    except NotADecimal as error:
        return str(error)
