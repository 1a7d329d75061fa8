"""`sim timeline`: selected rows of a journal, as text or as JSON."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import groupby
from typing import Any, NamedTuple, TextIO

from msgspec import DecodeError, json

from sim.api.pipeline.request_log import is_called
from sim.kernel.instants import EASTERN, Instant, format_instant, format_span, to_datetime
from sim.kernel.journal import Header
from sim.read.errors import MALFORMED, UnreadableJournal
from sim.read.history.rows import MARK, Row, rows
from sim.read.layout import counted, listed, put, width, wrapped
from sim.read.replay import journal_lines
from sim.run.actors.script.step_order import STEP_TIMER

# Events that affect many instruments at once, and how many of them are shown one by one.
_OF_MANY = re.compile(r"(\S+)(: \w+ → \w+| settles: .*| is listed, .*)")
_SHOWN_EACH = 3
_SOME = 12  # names listed in a sentence


class Selection(NamedTuple):
    """The rows to show: all, unless a field restricts them.

    `caller` is a full name or its last part. `symbol` selects rows whose input or outcome names it.
    `since` is an instant, or the number of an input.
    """

    kinds: tuple[str, ...] = ()
    caller: str = ""
    symbol: str = ""
    since: Instant = 0

    def holds(self, row: Row) -> bool:
        """Return whether a row is selected, apart from its symbol."""
        if self.kinds and row.kind not in self.kinds:
            return False
        if self.caller and not is_called(row.caller, self.caller):
            return False
        return (row.at if self.since > row.seq + 10**12 else row.seq) >= self.since


def timeline(path: str, out: TextIO, selection: Selection) -> None:
    """Print a journal's timeline, or why it is empty. Raises UnreadableJournal."""
    with _selected(path, selection) as (header, selected):
        put(f"{header.name}, seed {header.seed}", file=out)
        some = write(selected if selection.kinds else folded(selected), out)
    if not some:
        put(*wrapped(nothing_matches(path)), file=out)


def nothing_matches(path: str) -> str:
    """Describe what a journal contains, if no row was selected. Raises UnreadableJournal."""
    with _selected(path, Selection()) as (_, every):
        kinds, callers = Counter[str](), Counter[str]()
        for row in every:
            kinds[row.kind] += 1
            callers[row.caller] += 1
    del callers[""]
    if not kinds:
        return "no rows: nothing has happened"
    counts = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))
    callers_hint = f"; callers are {listed(sorted(callers), _SOME)}" if callers else ""
    return f"no row matches: there are {counts}{callers_hint}"


def document(path: str, selection: Selection) -> dict[str, Any]:
    """Return a journal's timeline as a document, with every row. Raises UnreadableJournal."""
    with _selected(path, selection) as (header, selected):
        return {
            "scenario": header.name,
            "seed": header.seed,
            "rows": [plain(row) for row in selected],
        }


@contextmanager
def _selected(path: str, selection: Selection) -> Iterator[tuple[Header, Iterator[Row]]]:
    """Yield the header of a journal and the selected rows. UnreadableJournal names the line."""
    number = 1
    named = re.compile(rb"(?<![\w-])%s(?![\w-])" % re.escape(selection.symbol.encode()))

    def lines_of(numbered: Iterable[tuple[int, bytes]]) -> Iterator[bytes]:
        nonlocal number
        for number, raw in numbered:  # noqa: B007  (an error names the line it was in)
            if not selection.symbol or named.search(raw):
                yield raw

    with journal_lines(path) as (header, numbered):
        try:
            yield header, filter(selection.holds, rows(lines_of(numbered), header))
        except MALFORMED as error:
            # These lines have not been validated: anything that is not a record fails here.
            reason = error if isinstance(error, DecodeError) else repr(error)
            raise UnreadableJournal(path, f"not a journal record: {reason}", number) from error


def folded(unfolded: Iterable[Row]) -> Iterator[Row]:
    """Yield rows, with consecutive plain moves of the clock combined.

    Rows that only led to the step after them are omitted.
    """

    def is_bare(row: Row) -> bool:
        return row.kind in ("clock", "timer") and not row.details

    for bare, group in groupby(unfolded, is_bare):
        grouped = list(group)
        if bare:
            grouped = [row for row in grouped if row.result != STEP_TIMER]
        if not bare or len(grouped) < 2:
            yield from grouped
            continue
        first, last = grouped[0], grouped[-1]
        fired = sum(row.fired for row in grouped)
        passed = f"+{format_span(last.at - first.at)}" if last.at > first.at else ""
        title = f"{len(grouped)} moves {passed}".rstrip()
        yield last._replace(title=title, result=f"{counted(fired, 'timer')} fired" if fired else "")


def write(selected: Iterable[Row], out: TextIO) -> bool:
    """Print rows in columns, and a line with the date whenever the Eastern day changes.

    Returns whether there were any rows. Long text moves the columns after it to the right, and
    wraps; nothing is cut.
    """
    day = ""
    actor_width, title_width = (28, 52) if width() >= WIDE else (16, 34)
    for row in selected:
        moment = to_datetime(row.at, EASTERN)
        if f"{moment:%A %Y-%m-%d}" != day:
            day = f"{moment:%A %Y-%m-%d}"
            put(f"── {day}, Eastern Time", file=out)
        time = f"{moment:%H:%M:%S}.{moment.microsecond // 1000:03d}"
        columns = f"{row.actor:<{actor_width}} {_readable(row.title):<{title_width}}"
        line = f"{columns} {row.result}".rstrip()
        mark = MARK[row.good]
        _write_wrapped(line, f"{time} {mark} ", mark, out)
        for detail in grouped(row.details):
            _write_wrapped(detail, f"{'':15}└ ", detail[:1], out)
    return bool(day)


WIDE = 110  # columns that fit a row with long names
_INDENT = 17  # indent of continuation lines
_COLOUR = {"✓": "green", "✗": "red"}


def _readable(title: str) -> str:
    """Return the text of a row, with the arguments of an action as `name=value` instead of JSON."""
    action, brace, rest = title.partition("{")
    if not brace:
        return title
    try:
        arguments = json.decode(brace + rest)
    except DecodeError:
        return title
    texts = (
        f"{name}={value if isinstance(value, str) else json.encode(value).decode()}"
        for name, value in arguments.items()
    )
    return f"{' '.join(action.split())} {' '.join(texts)}".rstrip()


def _write_wrapped(text: str, first: str, mark: str, out: TextIO) -> None:
    """Print a line, its mark in colour. What does not fit is on the next lines, in its column."""
    painted = mark, _COLOUR.get(mark, "")
    if _INDENT + len(text) <= width():
        put(f"{first}{text}".rstrip(), file=out, painted=painted)
        return
    lines = list(wrapped(text, " " * _INDENT))
    put(f"{first}{lines[0][_INDENT:]}", *lines[1:], file=out, painted=painted)


def grouped(details: Iterable[str], of_many: re.Pattern[str] = _OF_MANY) -> Iterator[str]:
    """Yield details. If the same happens to many instruments, only the first and a count.

    JSON has each of them. `of_many` splits a detail into the name and the event.
    """
    alike: dict[str, list[str]] = {}
    for detail in details:
        match = of_many.fullmatch(detail)
        alike.setdefault(match[2] if match else detail, []).append(detail)
    for many in alike.values():
        if len(many) > _SHOWN_EACH:
            yield f"{many[0]}  (and {len(many) - 1} more)"
        else:
            yield from many


def plain(row: Row) -> dict[str, Any]:
    """Return a row for programs."""
    return {
        "seq": row.seq,
        "at": format_instant(row.at),
        "kind": row.kind,
        "who": row.caller or row.actor,
        "what": row.title,
        "result": row.result,
        "ok": row.good,
        "verdict": row.verdict,
        "details": list(row.details),
    }
