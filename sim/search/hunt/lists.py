"""Lists that are read in one state of the exchange: their pages, directions and ranges of time.

Nothing happens between these reads, so they show parts of one list:

- every page of a list shows the rows at its position, whatever the length of the pages
- the other direction shows the same rows, in the opposite order if time orders them
- a range of time shows no row that a wider range does not show, and ranges that cover it show all
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

from msgspec import json, structs

from sim.contract.contract import Operation
from sim.contract.wire_fields import fields_of
from sim.search.hunt.questions import ClientRead
from sim.search.hunt.troubles import Trouble

_PAGING = (("page_size", "page_token"), ("limit", "cursor"), ("limit", "offset"))
NEXT = ("nextPageToken", "nextCursor", "cursor")
_DIRECTIONS = ("newest_first", "sort_order", "order_direction")
_RANGE = ("start_time", "end_time")


class ListShape(NamedTuple):
    """Names of fields of a list: of its pages, its direction, its range of time and its rows."""

    length: str
    position: str
    direction: str
    rows: str
    ranged: bool


@cache
def shape_of_list(operation: Operation) -> ListShape | None:
    """Return the names of a list's fields; None if the operation is no list in pages."""
    names = {field.name for field in fields_of(operation.request)}
    rows = [each for each in fields_of(operation.response) if each.repeated or each.key_kind]
    paging = next((pair for pair in _PAGING if names >= set(pair)), None)
    if paging is None or not rows or operation.kind != "unary":
        return None
    direction = next((name for name in _DIRECTIONS if name in names), "")
    return ListShape(*paging, direction, rows[0].json_name, names >= set(_RANGE))


class ReadList:
    """What was read of one list, in one direction and range."""

    def __init__(self, name: str, direction: Any, span: tuple[int, int] | None) -> None:
        self.direction, self.span = direction, span
        self.length: int | None = None
        self._name = name
        self._rows: dict[int, Any] = {}
        self._starts: dict[Any, int] = {"": 0}

    @property
    def rows(self) -> list[Any] | None:
        """All rows, if they were read."""
        if self.length is None or len(self._rows) < self.length:
            return None
        return [self._rows[number] for number in range(self.length)]

    def add(self, position: Any, page: dict[str, Any], rows: list[Any]) -> Iterator[Trouble]:
        """Add a page; yield how it contradicts others."""
        start = position if isinstance(position, int) else self._starts.get(position)
        if start is None:
            return
        following = next((page[name] for name in NEXT if page.get(name)), "")
        for number, row in enumerate(rows, start):
            if row == self._rows.get(number - 1):
                yield self._trouble(f"row {number} repeats the one before it")
                return
            if self._rows.setdefault(number, row) != row:
                yield self._trouble(f"row {number} differs between two pages")
                return
        end = start + len(rows)
        if following and not page.get("eof"):
            self._starts[following] = end
        elif not isinstance(position, int):
            self.length = end
        if self.length is not None and max(self._rows, default=-1) >= self.length:
            yield self._trouble(
                f"one page ends the list after {self.length} rows, another does not"
            )

    def _trouble(self, text: str) -> Trouble:
        return Trouble("agreement", f"{self._name} pages", f"{self._name}: {text}")


class ReadLists:
    """The lists that one caller read in one state."""

    def __init__(self) -> None:
        self._lists: dict[bytes, list[ReadList]] = {}

    def add(self, question: ClientRead) -> Iterator[Trouble]:
        """Add an answer; yield how it contradicts others."""
        operation, request = question.operation, question.request
        shape = shape_of_list(operation)
        page = question.answer
        if shape is None or request is None or not isinstance(page, dict):
            return
        position = getattr(request, shape.position)
        direction = getattr(request, shape.direction) if shape.direction else None
        start, end = (getattr(request, name) if shape.ranged else None for name in _RANGE)
        span = None if start is None or end is None else (start, end)
        plain = dict.fromkeys((shape.length, shape.position, *(shape.direction,) * bool(direction)))
        if span is not None:
            plain |= dict.fromkeys(_RANGE)
        bare = operation.request()
        base = structs.replace(request, **{name: getattr(bare, name) for name in plain})
        key = json.encode((operation.name, question.plane, question.caller, base))
        family = self._lists.setdefault(key, [])
        same = [each for each in family if (each.direction, each.span) == (direction, span)]
        if not same:
            same = [ReadList(operation.name, direction, span)]
            family += same
        rows = page.get(shape.rows) or []
        yield from same[0].add(
            position, page, list(rows.items()) if isinstance(rows, dict) else rows
        )
        if same[0].rows is not None:
            yield from _directions(operation.name, family, same[0])
            yield from _ranges(operation.name, family, same[0])


def _directions(name: str, family: list[ReadList], new: ReadList) -> Iterator[Trouble]:
    assert new.rows is not None
    for other in family:
        if other.rows is None or other.span != new.span or other.direction == new.direction:
            continue
        if isinstance(new.direction, bool):  # newest first
            same = new.rows == other.rows[::-1]
        else:
            same = sorted(map(json.encode, new.rows)) == sorted(map(json.encode, other.rows))
        if not same:
            text = f"{name}: {len(new.rows)} rows in one direction, and others in the opposite one"
            yield Trouble("agreement", f"{name} directions", text)


def _ranges(name: str, family: list[ReadList], new: ReadList) -> Iterator[Trouble]:
    """Compare each range with those within it."""
    complete = [each for each in family if each.rows is not None and each.span is not None]
    for outer in complete:
        if outer.direction != new.direction or outer.span is None:
            continue
        start, end = outer.span
        parts = [each for each in complete if _within(each, outer)]
        rows = outer.rows or []
        united = [row for part in parts for row in part.rows or []]
        if any(row not in rows for row in united):
            text = f"{name}: a range of time has a row that a wider one does not have"
            yield Trouble("agreement", f"{name} ranges", text)
        for part in sorted(parts, key=lambda each: each.span or (0, 0)):
            if part.span is not None and part.span[0] <= start:
                start = max(start, part.span[1])
        if start >= end and any(row not in united for row in rows):
            text = f"{name}: a range of time has a row that no part of it has"
            yield Trouble("agreement", f"{name} ranges", text)


def _within(part: ReadList, outer: ReadList) -> bool:
    if part is outer or part.direction != outer.direction:
        return False
    assert part.span is not None and outer.span is not None
    return outer.span[0] <= part.span[0] and part.span[1] <= outer.span[1]
