"""Which operations, answers, rules, quirks, faults and dates of the exchange a test suite has
exercised, and which it has not.

A `Recorder` observes simulations from outside and changes none. It counts each call by operation,
plane, status and rule, counts decisions by rule, quirks and injected faults, and notes the virtual
instants over which the runs went. `Coverage` is the result; two of them can be added, so that parts
of a suite in several processes become one. The catalogues define what can be covered: every entry
that was never exercised is in the document with a count of 0.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from textwrap import wrap
from typing import Any, NamedTuple

from msgspec import Struct, field, json

from sim.api.pipeline.inputs import Outcome
from sim.api.pipeline.request_log import LoggedCall
from sim.contract.contract import Operation, load_contract
from sim.core.catalogue.quirks import catalogue
from sim.core.service.fault_spec import KINDS
from sim.kernel.instants import Instant, format_instant, parse_instant
from sim.read import dates
from sim.read.decisions import RULES, decisions_in, kinds_of
from sim.read.errors import MALFORMED, UsageError
from sim.read.layout import first_lines
from sim.run.simulation import Simulation

_NO_OPERATION = "unknown path"
# Where each kind of fault can be injected; `code` is another way to write `status`.
_POINTS = [(kind.name, plane) for kind in KINDS if kind.name != "code" for plane in kind.planes]
_SHOWN = 20  # names shown of a list in the summary


class AnswerKind(NamedTuple):
    """A kind of answer.

    `rule` is that of the refusal; without one, it is the stage of the refusal.
    """

    operation: str
    plane: str
    status: int
    code: int
    rule: str


class Coverage(Struct):
    """The counts, and the first and last virtual instant of all runs (0: none)."""

    runs: int = 0
    answers: Counter[AnswerKind] = field(default_factory=Counter)
    quirks: Counter[str] = field(default_factory=Counter)
    rules: Counter[str] = field(default_factory=Counter)
    faults: Counter[tuple[str, str]] = field(default_factory=Counter)
    first: Instant = 0
    last: Instant = 0

    def add(self, other: Coverage) -> None:
        """Add the coverage of another process or an earlier run."""
        self.runs += other.runs
        self.answers += other.answers
        self.quirks += other.quirks
        self.rules += other.rules
        self.faults += other.faults
        for at in (other.first, other.last):
            self.note_instant(at)

    def note_instant(self, at: Instant) -> None:
        """Note an instant of a run; 0 means none."""
        if at:
            self.first = min(self.first or at, at)
            self.last = max(self.last, at)


class Recorder:
    """Counts what simulations do.

    It is notified of each input after it happened, like a console.
    """

    def __init__(self) -> None:
        self.coverage = Coverage()

    def begin(self, simulation: Simulation) -> None:
        """Note the beginning of a run."""
        self.coverage.runs += 1
        self.coverage.note_instant(simulation.now)

    def after_input(self, simulation: Simulation, outcome: Outcome, _wall: int = 0) -> None:
        """Count the calls of an input, later answers to earlier calls, and injected faults."""
        coverage, log = self.coverage, simulation.log
        for entry in log.since(outcome.seq - 1):
            coverage.answers[_answer(entry)] += 1
        for before, entry in log.corrected(outcome.seq):
            coverage.answers[_answer(before)] -= 1
            coverage.answers[_answer(entry)] += 1
        for injection in outcome.injections:
            for kind in kinds_of(injection):
                coverage.faults[kind, injection.plane] += 1
        for decision in decisions_in(outcome):
            coverage.rules[decision.rule] += 1
            if quirk := decision.facts.get("quirk"):
                coverage.quirks[quirk] += 1
        coverage.note_instant(simulation.now)

    def after_attempt(self, simulation: Simulation, *attempt: object) -> None:
        """Do nothing: an attempt is not a call of a client."""


def _answer(entry: LoggedCall) -> AnswerKind:
    why = entry.why
    rule = (why.rule or why.stage) if why is not None else ""
    name = entry.operation or _NO_OPERATION
    return AnswerKind(name, entry.plane, entry.status, entry.code, rule)


# ---- the document


def document(coverage: Coverage) -> dict[str, Any]:
    """Return what was covered and what was not, for programs. `read` is the inverse."""
    rules = [*RULES, *sorted(coverage.rules.keys() - set(RULES))]  # statements decide, too
    return {
        "coverage": 1,
        "runs": coverage.runs,
        "totals": {name: {"met": met, "of": of} for name, (met, of) in _totals(coverage).items()},
        "operations": _operations(coverage),
        "quirks": {name: coverage.quirks[name] for name in catalogue()},
        "rules": {rule: {"decisions": coverage.rules[rule]} for rule in rules},
        "faults": _faults(coverage),
        "dates": _dates(coverage),
        "first": format_instant(coverage.first) if coverage.first else None,
        "last": format_instant(coverage.last) if coverage.last else None,
    }


def _faults(coverage: Coverage) -> dict[str, dict[str, int]]:
    """Return how often each kind of fault was injected, by plane."""
    rows: dict[str, dict[str, int]] = {}
    for kind, plane in _POINTS:
        rows.setdefault(kind, {})[plane] = coverage.faults[kind, plane]
    return rows


def packed(coverage: Coverage) -> str:
    """Return only what was covered, as JSON for `read`."""
    counted = document(coverage)
    operations = counted["operations"]
    counted["operations"] = {name: row for name, row in operations.items() if row["calls"]}
    counted["rules"] = {rule: row for rule, row in counted["rules"].items() if row["decisions"]}
    del counted["dates"]
    return json.encode(counted).decode()


def _operations(coverage: Coverage) -> dict[str, Any]:
    """Return every operation: planes with their calls, and the answers."""
    rows: dict[str, Any] = {
        operation.name: {"calls": 0, "planes": dict.fromkeys(_planes(operation), 0), "answers": []}
        for operation in load_contract().operations
    }
    for answer in sorted(coverage.answers):
        count = coverage.answers[answer]
        if count <= 0:
            continue
        row = rows.setdefault(answer.operation, {"calls": 0, "planes": {}, "answers": []})
        row["calls"] += count
        row["planes"][answer.plane] = row["planes"].get(answer.plane, 0) + count
        counted = {**answer._asdict(), "count": count}
        del counted["operation"]
        row["answers"].append(counted)
    return rows


def _planes(operation: Operation) -> tuple[str, ...]:
    return (*operation.planes, *(("grpc",) if operation.grpc else ()))


def _dates(coverage: Coverage) -> list[dict[str, Any]]:
    """Return each date on which something changes, with the sides of it that runs covered."""
    rows = []
    for row in dates.rows():
        at = parse_instant(row["from"])
        sides = {"before": 0 < coverage.first < at, "after": coverage.last >= at}
        if row["kind"] != "changelog":
            rows.append({"kind": row["kind"], "name": row["name"], "from": row["from"], **sides})
    return rows


def read(text: bytes, name: str) -> Coverage:
    """Return the coverage in a document made by `document`. Raises UsageError for anything else."""
    coverage = Coverage()
    try:
        document = json.decode(text)
        if document["coverage"] != 1:
            raise ValueError("another version")
        coverage.runs = document["runs"]
        for operation, row in document["operations"].items():
            for answer in row["answers"]:
                count = answer.pop("count")
                coverage.answers[AnswerKind(operation=operation, **answer)] = count
        coverage.quirks.update(document["quirks"])
        for rule, row in document["rules"].items():
            coverage.rules[rule] = row["decisions"]
        for kind, planes in document["faults"].items():
            coverage.faults.update({(kind, plane): count for plane, count in planes.items()})
        for at in (document["first"], document["last"]):
            coverage.note_instant(parse_instant(at) if at else 0)
    except MALFORMED as error:
        raise UsageError(
            f"{name} is not a coverage file: pytest --exchange-coverage and sim run --coverage"
            f" write them ({error})"
        ) from None
    return coverage


def merged(parts: Iterable[Coverage]) -> Coverage:
    """Return the coverage of several parts as one."""
    total = Coverage()
    for part in parts:
        total.add(part)
    return total


# ---- the summary


def _never_met(coverage: Coverage) -> dict[str, tuple[list[str], int]]:
    """Return what was never covered by kind, and how many there are of the kind."""
    operations = {name: row["calls"] for name, row in _operations(coverage).items()}
    served = [name for name in operations if name != _NO_OPERATION]
    sides = [(side, row) for row in _dates(coverage) for side in ("before", "after")]
    unmet = [f"{side} {row['from'][:10]} ({row['name']})" for side, row in sides if not row[side]]
    faults = [f"{kind} on {plane}" for kind, plane in _POINTS if not coverage.faults[kind, plane]]
    return {
        "operations": ([name for name in served if not operations[name]], len(served)),
        "quirks": ([name for name in catalogue() if not coverage.quirks[name]], len(catalogue())),
        "faults": (faults, len(_POINTS)),
        "sides of dates": (unmet, len(sides)),
    }


def _totals(coverage: Coverage) -> dict[str, tuple[int, int]]:
    """Return how many entries were covered, and of how many.

    For answers, both numbers are the same.
    """
    counts = {kind: (of - len(names), of) for kind, (names, of) in _never_met(coverage).items()}
    kinds = len({answer for answer, count in coverage.answers.items() if count > 0})
    return {"operations": counts.pop("operations"), "answers": (kinds, kinds), **counts}


def headline(coverage: Coverage) -> str:
    """Return one line that says how much was covered."""
    totals = _totals(coverage)
    parts = [
        f"{met} different answers" if name == "answers" else f"{met} of {all_} {name}"
        for name, (met, all_) in totals.items()
    ]
    runs = "1 run" if coverage.runs == 1 else f"{coverage.runs} runs"
    return f"{runs} met {', '.join(parts)}"


def lines(coverage: Coverage) -> Iterator[str]:
    """Yield the summary for people: what was covered, with its answers, then what was not."""
    operations = _operations(coverage)
    yield from wrap(headline(coverage), 80)
    yield ""
    yield "answers"
    for name, row in operations.items():
        if row["calls"]:
            yield f"  {name}"
        for answer in row["answers"]:
            kind = answer["plane"]
            status = f"code {answer['code']}" if kind == "grpc" else answer["status"]
            yield f"    {answer['count']:>6}  {kind:<9} {status}  {answer['rule']}".rstrip()
    yield ""
    never = {kind: names for kind, (names, _) in _never_met(coverage).items()}
    yield from _names("operation", "never met", never["operations"])
    yield from _names("operation", "never refused", _without(operations, refused=True))
    yield from _names("operation", "only refused", _without(operations, refused=False))
    yield from _names("quirk", "never met", never["quirks"])
    yield from _names("fault", "never met", never["faults"])
    yield from _names("side of a date", "never met", never["sides of dates"], "sides of dates")


def _without(operations: dict[str, Any], *, refused: bool) -> list[str]:
    """Return operations that were called and have no answer of a kind."""
    return [
        name
        for name, row in operations.items()
        if row["calls"] and not any(_is_refusal(answer) is refused for answer in row["answers"])
    ]


def _is_refusal(answer: dict[str, Any]) -> bool:
    return bool(answer["code"] if answer["plane"] == "grpc" else answer["status"] >= 400)


def _names(noun: str, verdict: str, names: list[str], many: str = "") -> Iterator[str]:
    yield f"{len(names)} {noun if len(names) == 1 else many or noun + 's'} {verdict}"
    rest = "and {} more; --json lists all of them"
    yield from (f"  {line}" for line in first_lines(names, _SHOWN, rest))
