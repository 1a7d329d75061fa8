"""Pages of rows: what happened on a branch, input by input.

A page reads only the lines that it shows, so its cost does not depend on the length of the journal.
A filter searches blocks of lines, first for their bytes. It ends its page, which may have few rows
or none, after a number of lines; `next` continues from there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol

from msgspec import json

from sim.api.pipeline.inputs import (
    Input,
    RestCall,
    RpcCall,
    StreamFrame,
    StreamHungUp,
    WebhookAnswered,
)
from sim.api.pipeline.requests import symbols_of
from sim.core.catalogue.assumption_values import unknown_name
from sim.core.model.refusals import InvalidRequest, NotFound
from sim.kernel.branches import Branch, LinePosition, Tree
from sim.kernel.instants import format_instant
from sim.kernel.work import Work
from sim.read.history.rows import KINDS, Row, row_of, steps_of
from sim.read.layout import listed
from sim.read.line_search import BLOCK, lines_with, prepare, texts_of
from sim.read.record import JournalEntry, posts_of
from sim.read.requests import RequestReader
from sim.run.simulation import Simulation

LIMIT, LIMIT_MAX = 100, 1_000
ROW_KINDS = tuple(kind for kind in KINDS if kind != "jump")
# The kinds of rows that each type of input may have.
_KINDS_OF = {
    b"rest": ("request",),
    b"rpc": ("request",),
    b"open": ("stream",),
    b"hangup": ("stream",),
    b"frame": ("frame",),
    b"advance": ("clock", "timer"),
    b"step": ("step",),
    b"control": ("control",),
    b"answer_due": ("control",),
    b"answer": ("webhook",),
}
_TYPE = re.compile(rb'"input":\{"type":"(\w+)"')
# Inputs whose caller or subject is in the line of their cause.
_NAMED_BY_CAUSE = (StreamFrame, StreamHungUp, WebhookAnswered)
# Lines of these types do not name it: they hold a protobuf message, or refer to another line.
_UNNAMED = {b"rpc", b"open", b"frame", b"hangup", b"answer", b"step"}
# The subject of a request without a symbol: the first of these that it has.
_NAMES = ("order_id", "external_id", "event_id", "account", "clord_id", "id")
# A filtered page ends after so many lines, or after so many that were read without a match.
LINES_MAX, READ_MAX = 50_000, 2_000
_NAMED_MAX = 20  # names in a refusal
_TITLE_MAX = 300  # the record has the full text


class Query(NamedTuple):
    """A query: at most `limit` rows after the input `after`, of these kinds (empty for all), about
    this subject, of this caller ("" for any).
    """

    after: int = 0
    limit: int = LIMIT
    kinds: tuple[str, ...] = ()
    subject: str = ""
    caller: str = ""


class BranchEntry(NamedTuple):
    """An entry of the journal, where it is on which branch, and its completed row."""

    branch: Branch
    position: LinePosition
    recorded: JournalEntry
    row: Row


class Source(Protocol):
    """The source of rows: a journal, or the file of a finished run."""

    @property
    def branches(self) -> Tree: ...

    @property
    def branch(self) -> Branch: ...

    def line_at(self, position: LinePosition, /) -> bytes: ...


class Rows:
    """The rows of a simulation's journal, on any of its branches, or of another source."""

    def __init__(self, simulation: Simulation, source: Source | None = None) -> None:
        self._simulation = simulation
        self._source = source
        self._requests = RequestReader(simulation.contract)
        self._steps = steps_of(simulation.journal.header)

    @property
    def journal(self) -> Source:
        """The source of the rows."""
        return self._source or self._simulation.journal

    def branch(self, name: str = "") -> Branch:
        """Return a branch by its name; "" is the current one.

        Refuses an unknown name, listing the known ones.
        """
        branches = self.journal.branches
        if not name:
            return self.journal.branch
        if name not in branches:
            choices = tuple(branches)
            raise InvalidRequest(
                unknown_name("branch", name, choices),
                remedy=f"known: {listed(choices, _NAMED_MAX)}",
            )
        return branches[name]

    def check(self, branch: Branch, seq: int, least: int = 1) -> None:
        """Refuse an input that a branch does not have, naming the range that it has."""
        if not least <= seq <= branch.seq:
            message = f"{branch.name} has the inputs {least}..{branch.seq}, not {seq}"
            if branch.seq < least:
                message = f"{branch.name} has no inputs yet"
            raise NotFound(message, rule="T1", remedy="GET /_sim/v1/history lists them")

    # ---- one row

    def entry(self, branch: Branch, seq: int) -> BranchEntry:
        """Return the line of an input, decoded. Refused as not found."""
        self.check(branch, seq)
        position = branch.position(seq)
        return self._read(branch.holder(seq), position, self.journal.line_at(position))

    def _read(self, branch: Branch, position: LinePosition, raw: bytes) -> BranchEntry:
        recorded = JournalEntry(raw)
        row = self._completed(branch, position, row_of(recorded, self._steps), recorded.input)
        return BranchEntry(branch, position, recorded, row)

    def _completed(self, branch: Branch, position: LinePosition, row: Row, recorded: Input) -> Row:
        """Return a row, completed with what its own line does not say."""
        if isinstance(recorded, RestCall | RpcCall):
            return row if row.subject else row._replace(subject=self._subject_of(recorded))
        if isinstance(recorded, _NAMED_BY_CAUSE) and position.cause:
            out = JournalEntry(self.journal.line_at(branch.position(position.cause))).out
            if not isinstance(recorded, WebhookAnswered):
                return row._replace(caller=out.caller)
            for sent in posts_of(out):
                if sent.attempt == recorded.attempt:
                    subject = f"webhook/{sent.event_id}"
                    return row._replace(subject=subject, title=f"{sent.url} answers")
        return row

    def _subject_of(self, recorded: RestCall | RpcCall) -> str:
        operation = self._requests.operation_of(recorded)
        if operation is None:
            return ""
        request = self._requests.request(recorded, operation)
        if request is None:
            return ""
        if symbols := symbols_of(request):
            return symbols[0]
        named = (getattr(request, name, "") for name in _NAMES)
        return next((text for text in named if isinstance(text, str) and text), "")

    def plain(self, entry: BranchEntry) -> dict[str, Any]:
        """Return a row as it is answered."""
        row = entry.row
        return {
            "seq": row.seq,
            "at": format_instant(row.at),
            "branch": entry.branch.name,
            "kind": row.kind,
            "title": _title(entry),
            "subject": row.subject,
            "caller": row.caller,
            "status": row.status,
            "verdict": row.verdict,
            "events": list(row.events),
            "caused_by": entry.position.cause or None,
            "who": row.actor,
            "result": row.result,
            "ok": row.good,
        }

    # ---- pages

    def page(self, query: Query, branch: Branch) -> Work[dict[str, Any]]:
        """Return a page of rows, as it is answered.

        Refuses an invalid limit or kind, a start beyond the end, and an unknown caller or subject.
        """
        last = branch.seq
        self._check_query(query, branch, last)
        page_rows: list[dict[str, Any]] = []
        seq = yield from self._fill(page_rows, query, branch)
        if not page_rows and seq == last and (query.caller or query.subject):
            yield from self._check_names(query, branch)
        return {"rows": page_rows, "next": seq if seq < last else None, "last": last}

    def _fill(self, page_rows: list[dict[str, Any]], query: Query, branch: Branch) -> Work[int]:
        """Add the rows of a page. Return the last input that was examined."""
        sought = _Filter(query)
        seq, missed = query.after, 0
        for on, first, last in branch.parts(query.after, branch.seq):
            for begin in range(first, last, BLOCK):
                end = min(begin + BLOCK, last)
                texts = () if sought.is_open else texts_of(self.journal, on, begin, end)
                if not (sought.is_open or any(sought.may_be_in(text) for text, _ in texts)):
                    seq = end
                for position in on.positions(seq, end):
                    seq += 1
                    raw = self.journal.line_at(position)
                    if not (sought.is_open or sought.may_be(raw)):
                        continue
                    entry = self._read(on, position, raw)
                    if sought.matches(entry.row):
                        page_rows.append(self.plain(entry))
                        if len(page_rows) == query.limit:
                            return seq
                    else:
                        missed += 1
                yield
                if missed >= READ_MAX or seq - query.after >= LINES_MAX:
                    return seq
        return seq

    def _check_query(self, query: Query, branch: Branch, last: int) -> None:
        if not 1 <= query.limit <= LIMIT_MAX:
            raise InvalidRequest(f"limit is a number of rows from 1 to {LIMIT_MAX}")
        if query.after > last:
            remedy = "`next` of a page says where to continue; `last` is the last input"
            message = f"{branch.name} has the inputs 1..{last}: there is nothing after"
            raise InvalidRequest(f"{message} {query.after}", remedy=remedy)
        for kind in query.kinds:
            if kind not in ROW_KINDS:
                remedy = f"known: {', '.join(ROW_KINDS)}"
                raise InvalidRequest(unknown_name("kind", kind, ROW_KINDS), remedy=remedy)

    def _check_names(self, query: Query, branch: Branch) -> Work[None]:
        """Refuse a caller or a subject that occurs neither in the branch nor in the run."""
        exchange = self._simulation.exchange
        choices = {
            "caller": lambda name: name in set(self._parties()),
            "subject": lambda name: name in exchange.instruments or name in exchange.trading.ledger,
        }
        more = {"caller": self._parties, "subject": exchange.instruments.symbols}
        yield from prepare(self.journal, branch)
        for column, name in (("caller", query.caller), ("subject", query.subject)):
            if not name or choices[column](name) or self._has_text(branch, name):
                continue
            values = yield from self._latest_names(column, branch)
            if name not in values:
                here = sorted(values - {""})
                remedy = (
                    f"here: {listed(here, _NAMED_MAX)}" if here else f"no row has a {column} here"
                )
                nearest = unknown_name(column, name, [*here, *more[column]()])
                raise InvalidRequest(nearest, remedy=remedy)

    def _has_text(self, branch: Branch, name: str) -> bool:
        text = b":" + json.encode(name)
        return any(True for _ in lines_with(self.journal, branch, [text], 0, branch.seq))

    def _latest_names(self, column: str, branch: Branch) -> Work[set[str]]:
        """Return the callers or subjects of the latest rows."""
        values = set[str]()
        for seq in range(max(0, branch.seq - READ_MAX) + 1, branch.seq + 1):
            values.add(getattr(self.entry(branch, seq).row, column))
            yield
        return values

    def _parties(self) -> Iterator[str]:
        """Yield every possible caller, by every name that rows use."""
        firms = self._simulation.exchange.firms
        for firm in firms.all():
            yield firm.name
            yield firm.client_id
            yield from (user.name for user in firm.users)
        yield from (key.key_id for key in firms.api_keys())

    # ---- branches

    def branches(self) -> list[dict[str, Any]]:
        """Return every branch, oldest first."""
        journal = self.journal
        return [
            {
                "name": branch.name,
                "parent": branch.parent.name if branch.parent is not None else None,
                "from_seq": branch.from_seq,
                "last_seq": branch.seq,
                "current": branch is journal.branch,
                "forked": None,
                "begun": branch.begun,
                "seed": branch.seed,
            }
            for branch in journal.branches.values()
        ]


def _title(entry: BranchEntry) -> str:
    row = entry.row
    if row.kind != "timer":
        return row.title if len(row.title) <= _TITLE_MAX else row.title[:_TITLE_MAX] + "…"
    fired = dict.fromkeys(
        f"{timer.timer} {timer.subject}".strip() for timer in entry.recorded.out.fired
    )
    return listed(list(fired), 3)


class _Filter:
    """A query as tests of bytes and of rows: of a block of lines, of one line, of a finished row.

    A test of bytes lets pass what may match, because lines of the types in `_UNNAMED` need not
    contain the caller and the subject.
    """

    def __init__(self, query: Query) -> None:
        self._query = query
        self.is_open = not (query.kinds or query.caller or query.subject)
        self._types = {
            type
            for type, kinds in _KINDS_OF.items()
            if not query.kinds or not {*kinds}.isdisjoint(query.kinds)
        }
        self._texts = [json.encode(text)[1:-1] for text in (query.caller, query.subject) if text]
        self._some, self._unnamed = _any_of(self._types), _any_of(self._types & _UNNAMED)

    def may_be_in(self, block: bytes) -> bool:
        """Return whether a block of lines may have a match."""
        if self._texts and self._unnamed.search(block):
            return True
        return all(text in block for text in self._texts) and bool(self._some.search(block))

    def may_be(self, line: bytes) -> bool:
        """Return whether a line may be a match."""
        match = _TYPE.search(line)
        if match is None or match[1] not in self._types:
            return False
        return match[1] in _UNNAMED or all(text in line for text in self._texts)

    def matches(self, row: Row) -> bool:
        """Return whether a row is a match."""
        query = self._query
        return (
            (not query.kinds or row.kind in query.kinds)
            and (not query.caller or row.caller == query.caller)
            and (not query.subject or row.subject == query.subject)
        )


def _any_of(types: set[bytes]) -> re.Pattern[bytes]:
    return re.compile(rb'"input":\{"type":"(?:%b)"' % b"|".join(sorted(types)))
