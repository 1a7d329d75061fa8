"""Features: what a run met, in the field's own words.

Theory. Lines of code say what a program did; testers of an exchange ask what *the exchange* went
through. A feature is a short text `group:detail` that names one such thing. Two runs that met the
same features are the same to a search; a run that met one more has seen something new.

| Group | Detail |
|---|---|
| operation | an operation that was called, and the plane |
| answer | operation, plane, status or gRPC code, and the rule or stage of a refusal |
| edge | one change of state of a market, order, trade, verification, funding transaction, quote … |
| order | type, time in force, conditions and channel of an order, and what was reported of it |
| rule | a rule that decided something (`decisions.py`) |
| stream | an operation of streams and its outcome: opened, kinds of frames, resumed, its end |
| pair | two kinds of events, one right after the other |
| date | a dated rule, and the side of its date on which a client was answered |
| cash, position | kinds of changes of balances and positions |
| auction | a market that left a collecting state, and the outcome |
| webhook | an attempt, signed or not, for the first time or again |
| fault, quirk, timer, action | what was injected or fired, or what an operator did |

Everything is read from what an input left behind: its line of the journal, the request log, the
outcome. Nothing is changed, and nothing is asked that would be an input.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Generator, Iterable, Iterator, Sequence
from functools import cache

from sim.api.pipeline.inputs import Controlled, Outcome
from sim.api.pipeline.request_log import LoggedCall
from sim.core.exchange import Exchange
from sim.core.model.enums import ExecutionType, InstrumentState
from sim.core.model.events import (
    CancelRejected,
    CashMoved,
    DormantInstrumentsMoved,
    Executed,
    KycDecided,
    MaintenanceChanged,
    PositionChanged,
    RfqChanged,
    RuleApplied,
    Settled,
    StateChanged,
)
from sim.core.model.funding_records import FundingState
from sim.core.model.quantities import DOLLAR
from sim.kernel.instants import Instant, parse_instant
from sim.read import dates
from sim.read.decisions import decisions_of, kinds_of
from sim.read.record import JournalEntry, entries, facts_of, tag_of
from sim.read.stream_features import StreamFeatures
from sim.run.engine.journal_record import RecordedEvent, RecordedTrade
from sim.run.simulation import Simulation

GROUPS = ("operations", "answers", "edges", "rules", "streams")  # groups that reports count first
_COLLECTING = (InstrumentState.PREOPEN, InstrumentState.MATCH_AND_CLOSE_AUCTION)


def totals(features: Iterable[str]) -> dict[str, int]:
    """Return the number of features of each group, in the order of `GROUPS` first.

    An operation counts once, whatever its planes.
    """
    counts = dict.fromkeys(GROUPS, 0)
    operations = set()
    for feature in features:
        group, _, detail = feature.partition(":")
        name = f"{group}s" if f"{group}s" in counts else group
        if group == "operation":
            operations.add(detail.partition("|")[0])
        else:
            counts[name] = counts.get(name, 0) + 1
    counts["operations"] = len(operations)
    others = sorted(name for name in counts if name not in GROUPS)
    return {name: counts[name] for name in (*GROUPS, *others)}


class FeatureReader:
    """Reads the features of one run, input by input."""

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation
        self._seq = simulation.seq
        self._states = StateChanges(simulation.exchange)
        self._streams = StreamFeatures(simulation)
        self._before = ""  # kind of the previous event
        self._era = -1
        self._settled: set[tuple[str, str]] = set()

    def after_input(self, outcome: Outcome) -> list[str]:
        """Return the features of everything since the last call, in order, with repeats."""
        simulation, since = self._simulation, self._seq
        self._seq = simulation.seq
        features = [feature for call in simulation.log.since(since) for feature in _of_call(call)]
        for before, call in simulation.log.corrected(simulation.seq):
            features += _of_call(call) if call.status != before.status else ()
        for entry in entries(simulation.journal.lines(since, simulation.seq)):
            features += self._of_entry(entry)
            features += self._streams.of_input(entry)
        features += self._streams.of_effects(outcome.effects)
        for injection in outcome.injections:
            features += (f"fault:{injection.plane}|{kind}" for kind in kinds_of(injection))
        features += self._states.take()
        if features:
            features += self._dates()
        return features

    def _of_entry(self, entry: JournalEntry) -> Iterator[str]:
        if isinstance(entry.input, Controlled):
            yield f"action:{entry.input.action}|{'refused' if entry.out.message else 'done'}"
        for fired in entry.out.fired:
            yield f"timer:{fired.timer}"
        yield from (f"rule:{decision.rule}" for decision in decisions_of(entry.out))
        for event in entry.events:
            if isinstance(event, RuleApplied):
                if quirk := facts_of(event).get("quirk"):
                    yield f"quirk:{quirk}"
                continue
            kind = yield from self._of_event(event)
            if self._before:
                yield f"pair:{self._before}>{kind}"
            self._before = kind
        yield from _auctions(entry.events)

    def _of_event(self, event: RecordedEvent) -> Generator[str, None, str]:
        """Yield the features of an event, and return its kind."""
        name = tag_of(event)
        match event:
            case Executed():
                report, kind = event.execution, event.execution.type.name
                yield from _execution_features(event)
                yield from self._states.edge("order", report.order.id, kind)
                return f"{name} {kind}"
            case StateChanged() | DormantInstrumentsMoved():
                yield f"edge:lifecycle|{event.was.name}|{event.state.name}"
                return f"{name} {event.state.name}"
            case RecordedTrade():
                yield from self._states.edge("trade", event.id, event.state.name)
                return f"{name} {event.state.name}"
            case CashMoved():
                sign = "in" if event.after > event.before else "out"
                yield f"cash:{event.type.name}|{sign}"
                return f"{name} {event.type.name}"
            case PositionChanged():
                kind = _position_kind(event)
                yield f"position:{kind}"
                if event.net < 0 and self._has_collateral_return(event.account):
                    yield "position:given back"
                return f"{name} {kind}"
            case RfqChanged():
                yield from self._states.edge("rfq", event.rfq.id, event.kind)
                return f"{name} {event.kind}"
            case CancelRejected():
                change = "replace" if event.is_replace else "cancel"
                yield f"order:{change} refused|{event.reason.value}"
                return f"{name} {change}"
            case Settled():
                kind = "preliminary" if event.preliminary else "final"
                yield f"edge:settlement|{kind}"
                if not self._settled_first(event.symbol, kind):
                    yield f"edge:settlement again|{kind}"
                return f"{name} {kind}"
            case KycDecided():
                return f"{name} {'approved' if event.approved else 'rejected'}"
            case MaintenanceChanged():
                yield f"edge:maintenance|{'begun' if event.active else 'over'}"
                return f"{name} {event.active}"
        return name

    def _settled_first(self, symbol: str, kind: str) -> bool:
        """Return whether a settlement of a kind is the first of its market."""
        first = (symbol, kind) not in self._settled
        self._settled.add((symbol, kind))
        return first

    def _has_collateral_return(self, account: str) -> bool:
        """Return whether related short positions of an account get a collateral return (P8)."""
        trading = self._simulation.exchange.trading
        if not trading.ledger.require(account).collateral_return:
            return False
        alone = 0
        for position in trading.positions.of(account):
            scale = trading.instruments.require(position.symbol).qty_scale
            alone += max(-position.net, 0) * (DOLLAR // scale)
        return trading.margin_requirement(account) < alone

    def _dates(self) -> Iterator[str]:
        """Yield sides of dates, once for each stretch between two dates."""
        instants, sides = _sides()
        era = bisect_right(instants, self._simulation.now)
        if era != self._era:
            self._era = era
            yield from sides[era]


class FeatureRecorder:
    """Collects the features of a run, notified of each input like a coverage recorder."""

    def __init__(self) -> None:
        self.met: dict[str, None] = {}
        self._reader: FeatureReader | None = None

    def begin(self, simulation: Simulation) -> None:
        """Note the beginning of a run."""
        self._reader = FeatureReader(simulation)

    def after_input(self, simulation: Simulation, outcome: Outcome) -> None:
        """Note the features of an input."""
        if self._reader is not None:
            self.met.update(dict.fromkeys(self._reader.after_input(outcome)))


def _auctions(events: Sequence[RecordedEvent]) -> Iterator[str]:
    """Yield what happened while a market left a state that collects orders."""
    for left in events:
        if not isinstance(left, StateChanged) or left.was not in _COLLECTING:
            continue
        edge = f"{left.was.name}|{left.state.name}"
        trades = (event for event in events if isinstance(event, RecordedTrade))
        if any(trade.symbol == left.symbol for trade in trades):
            yield f"auction:{edge}|traded"
        reports = (event for event in events if isinstance(event, Executed) and event.rule == "L19")
        if any(report.execution.order.symbol == left.symbol for report in reports):
            yield f"auction:{edge}|self-match"


def _of_call(entry: LoggedCall) -> Iterator[str]:
    why = entry.why
    rule = (why.rule or why.stage) if why is not None else ""
    if not entry.operation:
        yield f"answer:unknown path|{entry.plane}|{entry.status}|{rule}"
        return
    status = f"code {entry.code}" if entry.plane == "grpc" else str(entry.status)
    yield f"operation:{entry.operation}|{entry.plane}"
    yield f"answer:{entry.operation}|{entry.plane}|{status}|{rule}"
    for limit in entry.over:
        yield f"limit:{limit}"


def _position_kind(event: PositionChanged) -> str:
    """Return how a position changed: opened, grown, shrunk, closed, turned, or settled."""
    net, was = event.net, event.net - event.qty_change
    if event.settlement is not None:
        return "settled long" if was > 0 else "settled short"
    side = "long" if (net or was) > 0 else "short"
    if not was:
        return f"opened {side}"
    if not net:
        return f"closed {side}"
    if (was > 0) is not (net > 0):
        return f"turned {side}"
    return f"{'grown' if abs(net) > abs(was) else 'shrunk'} {side}"


@cache
def _sides() -> tuple[list[Instant], list[tuple[str, ...]]]:
    """Return the instants of changes, and for each stretch between them its sides."""
    changes = sorted(
        (parse_instant(row["from"]), row["name"]) for row in dates.rows() if row["kind"] == "rule"
    )
    instants = sorted({at for at, _ in changes})
    bounds: list[Instant] = [0, *instants]
    return instants, [
        tuple(f"date:{name}|{at}|{'after' if at <= begin else 'before'}" for at, name in changes)
        for begin in bounds
    ]


def describe(feature: str) -> str:
    """Return a feature in readable form."""
    group, _, detail = feature.partition(":")
    return f"{group} {detail.replace('|', ' ')}".rstrip()


# ---- orders


_CONDITIONS = (
    *("all_or_none", "post_only", "strict_limit", "best_limit", "immediately_executable_limit"),
    *("ignore_price_checks", "min_qty", "cash_qty", "cross_id", "quote_id", "session_id"),
)
# The rules of self-match prevention, in continuous trading and in an auction.
_SELF_MATCH = ("L19", "M26", "M27", "M28", "M29", "M30")


def _execution_features(event: Executed) -> list[str]:
    """Return what a report says about the kind of order and its outcome."""
    execution, order = event.execution, event.execution.order
    kind, channel = execution.type.name, order.channel.name
    role = ""
    if execution.type in (ExecutionType.FILL, ExecutionType.PARTIAL_FILL):
        role = "taker" if execution.aggressor else "maker"
    terms = f"{order.type.name}|{order.tif.name}"
    features = [f"order:{terms}|{kind}|{role}", f"order:{channel}|{kind}"]
    features += (f"order:{name}|{kind}|{role}" for name in _CONDITIONS if getattr(order, name))
    if execution.type is ExecutionType.REJECTED:
        features.append(f"order:reject|{execution.reject_reason.name}")
    if execution.type is ExecutionType.CANCELED:
        features.append(f"order:canceled|{execution.unsolicited.name}")
        if event.rule == "P5":
            features.append("order:canceled|unfunded")
    if event.rule in _SELF_MATCH:
        features += (f"order:self-match|{order.smp.name}", f"order:self-match|{channel}")
    if role and execution.commission:
        sign = "rebate" if execution.commission < 0 else "fee"
        features.append(f"order:commission|{role}|{sign}")
    return features


# ---- changes of state


class StateChanges:
    """The last known state of orders, trades, quotes, verifications and webhooks of one run, found
    by comparison where events do not report a change, or only partly.
    """

    def __init__(self, exchange: Exchange) -> None:
        self._exchange = exchange
        self._last: dict[tuple[str, str], str] = {}  # by kind and key
        self._funding = len(exchange.funding.changes)
        list(self.take())  # the initial state does not count as a change

    def take(self) -> Iterator[str]:
        """Yield the changes since the last call."""
        exchange = self._exchange
        for case in exchange.kyc.cases():
            key = f"{case.firm} {case.external_id}"
            yield from self.edge("verification", key, case.stage.value, again=False)
        for firm, breaker in exchange.webhooks.breakers().items():
            yield from self.edge("breaker", firm, breaker.state, again=False)
        changes = exchange.funding.changes
        for change in changes[self._funding :]:
            state = FundingState(change.transaction.state).name
            kind = change.transaction.type.name
            yield f"edge:funding|{FundingState(change.previous).name}|{state}"
            yield f"edge:funding {kind}|{state}"
        self._funding = len(changes)

    def edge(self, kind: str, key: str, state: str, *, again: bool = True) -> Iterator[str]:
        """Note a state. Without `again`, one that it has already is no edge."""
        before = self._last.get((kind, key), "")
        if again or before != state:
            yield f"edge:{kind}|{before}|{state}"
        self._last[kind, key] = state
