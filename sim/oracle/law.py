"""The law: takes a run one input after another, and says where it disagrees.

Each input is judged event by event. An event that a former one made necessary was expected, and
must be as expected. Any other is a cause of its own: an order enters, somebody cancels, a state
changes. The law asks whether the cause was allowed, and expects what follows from it. What is still
expected at the end of the input did not happen.

After a disagreement the law takes over what the run shows, so that one mistake is told once.
"""

from __future__ import annotations

from sim.kernel.instants import Instant
from sim.oracle import access, lifecycle, matching, orders, settlement, verification
from sim.oracle.answers import reads
from sim.oracle.answers.history import NaiveHistory
from sim.oracle.exchange import Expected, NaiveExchange
from sim.oracle.hearing import Hearing
from sim.oracle.state import (
    CANCELED,
    NEW,
    OPEN,
    ORDER_EXPIRED,
    PENDING_NEW,
    REJECTED,
    REPORTS,
    Document,
    order_from,
)
from sim.oracle.streams.rules import StreamRules
from sim.oracle.verdict import AuditVerdict, Disagreement
from sim.read.observed import Beginning, ObservedInput

REPLACE = 4
_LASTING = (  # terms of an order that nothing changes
    *("symbol", "account", "participant", "side", "clord_id", "created", "smp_id", "smp"),
    *("channel", "cross_id", "host_cross_id", "quote_id", "session_id", "submitter", "seq"),
)


class Law:
    """Judges one run. `verdict` grows."""

    def __init__(self, beginning: Beginning, verdict: AuditVerdict | None = None) -> None:
        self.exchange = NaiveExchange(beginning)
        self.verdict = verdict or AuditVerdict()
        hearing = self._hearing = Hearing(self.exchange, self.verdict)
        self._orders = orders.OrderRules(hearing)
        self._lifecycle = lifecycle.LifecycleRules(hearing)
        self._settlement = settlement.SettlementRules(hearing, self._lifecycle.maintenance)
        self._history = NaiveHistory(self.exchange)
        self._streams = StreamRules(hearing, self._history)
        self._parts = (
            access.AccessRules(hearing),
            self._orders,
            self._lifecycle,
            self._settlement,
            reads.ReadRules(hearing, self._history),
            self._streams,
            verification.VerificationRules(hearing),
        )

    def judge(self, observed: ObservedInput) -> list[Disagreement]:
        """Judge one input. Returns what is new among the disagreements."""
        before = len(self.verdict.disagreements)
        hearing, exchange = self._hearing, self.exchange
        hearing.begin(observed)
        self._streams.before_input(observed)
        events = observed.events
        instants = {
            observed.at,
            observed.now,
            *(row["at"] for row in observed.out.get("fired", ())),
        }
        for index, event in enumerate(events):
            hearing.event, hearing.later = event, events[index + 1 :]
            self._pass(_instant(event) or exchange.now, instants)
            self._event(event)
            self._history.take(event)
            self._streams.happened(event)
        exchange.now = observed.now
        self._missing()
        for part in self._parts:
            part.after_input(observed)
        self.exchange.fresh.clear()
        hearing.close()
        return self.verdict.disagreements[before:]

    def _pass(self, at: Instant, instants: set[Instant]) -> None:
        """Let time pass to an event. Things happen when an input enters or something is due."""
        if at not in instants or at < self.exchange.now:
            sentence = f"{self._hearing.event['event']} happens at {at}, when nothing is due"
            rule = self._hearing.event.get("rule") or "T1"
            self._hearing.disagree(rule, f"{sorted(instants)}", f"{at}", sentence)
        self.exchange.now = at

    # ---- events

    def _event(self, event: Document) -> None:
        kind = event["event"]
        subject = _subject(event)
        for expected in self.exchange.expected:
            if (expected.kind, expected.subject) == (kind, subject):
                self.exchange.expected.remove(expected)
                self._compare(expected, event)
                self._adopt(event)
                return
        if kind == "Executed":
            self._executed(event)
        else:
            self._caused(event)
        self._adopt(event)

    def _compare(self, expected: Expected, event: Document) -> None:
        reported = _fields(event)
        for name, value in expected.fields.items():
            observed = reported.get(name, _absent(value))
            if observed != value:
                sentence = f"{expected.kind} {expected.subject}: {name} is {observed}, not {value}"
                pair = f"{name} {value}", f"{name} {observed}"
                self._hearing.disagree(expected.rule, *pair, sentence)
                return

    def _missing(self) -> None:
        for expected in self.exchange.expected:
            fields = ", ".join(f"{name} {value}" for name, value in expected.fields.items())
            sentence = f"{expected.kind} of {expected.subject} is missing: {fields}"
            self._hearing.disagree(expected.rule, fields, "nothing", sentence)
        self.exchange.expected.clear()

    def _adopt(self, event: Document) -> None:
        """Take over what an event shows."""
        if event["event"] == "Executed":
            self._adopt_order(event["execution"]["order"])
        elif event["event"] == "PositionChanged":
            held = self.exchange.position(event["account"], event["symbol"])
            for name in ("net", "cost", "realized", "bought", "sold", "bod", "fees"):
                setattr(held, name, event[name])
            held.changed = event["at"]
        elif event["event"] == "CashMoved":
            self.exchange.account(event["account"]).cash = event["after"]
        elif event["event"] == "Traded" and event["state"] == 1:
            self.exchange.market(event["symbol"]).reference = event["price"]
        elif event["event"] == "StateChanged":
            self.exchange.market(event["symbol"]).state = event["state"]
        elif event["event"] == "MaintenanceChanged":
            self.exchange.maintenance = event["active"]

    def _adopt_order(self, row: Document) -> None:
        order, reported = self.exchange.orders.get(row["id"]), order_from(row)
        if order is None:
            return
        for name in _LASTING:
            if getattr(order, name) != getattr(reported, name):
                pair = f"{name} {getattr(order, name)}", f"{name} {getattr(reported, name)}"
                sentence = f"order {order.id} has {pair[1]}, and had {pair[0]}"
                self._hearing.disagree("M41", *pair, sentence)
        if not reported.leaves_qty and reported.state != PENDING_NEW:
            self.exchange.remove(order)
        for name in ("leaves_qty", "cum_qty", "price", "qty", "state", "avg_px", "commission"):
            setattr(order, name, getattr(reported, name))
        order.filled_at = reported.filled_at

    # ---- causes

    def _executed(self, event: Document) -> None:
        execution = event["execution"]
        row, report = execution["order"], execution["type"]
        order = self.exchange.orders.get(row["id"])
        if report == NEW and (order is None or order.state == PENDING_NEW):
            self._entered(row)
        elif report == REJECTED:
            self._orders.rejected(order_from(row), event)
            self.exchange.orders[row["id"]] = order_from(row)
        elif order is None:
            self._unexpected(event)
        elif report == CANCELED:
            if not self._lifecycle.canceled(order, event):
                self._orders.canceled(order, event)
            self.exchange.remove(order)
        elif report == ORDER_EXPIRED:
            self._lifecycle.expired(order, event)
            self.exchange.remove(order)
        elif report == REPLACE:
            self._orders.replaced(order, order_from(row))
            matching.replace(self.exchange, order, order_from(row))
        elif not self._auction(event):
            self._unexpected(event)

    def _entered(self, row: Document) -> None:
        if row.get("host_cross_id"):
            self._orders.crossed(order_from(row))
            return
        self._orders.entered(order_from(row))
        if row.get("quote_id"):
            self._hearing.undecided("trades outside the book")
            self.exchange.admit(order_from(row))
        else:
            matching.enter(self.exchange, order_from(row))

    def _auction(self, event: Document) -> bool:
        """Return whether a fill begins an auction, and expect the rest of that.

        Its price triggers stop orders where the state that follows lets them trade (L22, M12).
        """
        market = self.exchange.market(event["execution"]["order"]["symbol"])
        targets = [
            each["state"]
            for each in self._hearing.later
            if each["event"] == "StateChanged" and each["symbol"] == market.symbol
        ]
        if market.state == OPEN or not targets:
            return False
        prices = matching.uncross(self.exchange, market)
        matching.settle_down(self.exchange, market, prices if targets[:1] == [OPEN] else [])
        if not prices:
            return False
        self._event(event)
        return True

    def _unexpected(self, event: Document) -> None:
        if self._hearing.doubt:
            return
        execution = event["execution"]
        name = REPORTS[execution["type"]]
        sentence = f"{name} of {execution['order']['id']} has no cause"
        self._hearing.disagree(event.get("rule") or "M1", "nothing", name, sentence)

    def _caused(self, event: Document) -> None:
        match event["event"]:
            case "PositionChanged":
                self._settlement.position_changed(event)
            case "CashMoved":
                self._settlement.cash_moved(event)
            case "Traded":
                self._settlement.trade_changed(event)
            case "Settled":
                self._settlement.settled(event)
            case "StateChanged":
                self._lifecycle.changed(event)
            case "RuleApplied" if event["rule"] == "M36":
                self._orders.delayed(event)
            case "InstrumentListed":
                self._lifecycle.listed(event)
            case "MaintenanceChanged":
                self._lifecycle.maintenance.changed(event)
            case "CancelRejected":
                self._orders.change_refused(event)


def _instant(event: Document) -> int:
    """Return when an event happened; 0 of a trade, which has the instant of its reports."""
    execution = event.get("execution")
    at: int = event.get("at", 0) if execution is None else execution["at"]
    return at


def _subject(event: Document) -> str:
    match event["event"]:
        case "Executed":
            return str(event["execution"]["order"]["id"])
        case "PositionChanged":
            return f"{event['account']} {event['symbol']}"
        case "CashMoved":
            return str(event["account"])
    return str(event.get("symbol", ""))


def _fields(event: Document) -> Document:
    """Return the fields of an event, those of an execution together with its order's."""
    execution = event.get("execution")
    if execution is None:
        return event
    order = execution["order"]
    report = {"commission": execution.get("commission", 0), "order_type": order["type"]}
    return {**order, **execution, **report}


def _absent(value: object) -> object:
    """Return what a field is that the journal leaves out."""
    return {} if isinstance(value, dict) else False if isinstance(value, bool) else 0
