"""The check of what streams had to report and did not.

Every kind of stream has rows: executions and the orders that they left, trades and their states,
positions, public trades. What anybody saw of an account or a market states rows. A stream must have
reported each row that belongs to it and lies between two points that it has passed. Arrival proves
nothing, because a frame may be late. One of these proves that a row lies after or before a point:

| Proof | After | Before |
|---|---|---|
| instant | later than the first row on the stream | earlier than the last row |
| progress | more is filled, or traded, than in a row about the same on the stream | |
| cause | its order was entered when the stream was known | a row's order was entered later |
| run | it came with a later input than the stream | the stream was open when it was seen |

A stream that resumes from a token was known when the token came.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable
from decimal import Decimal
from typing import Any, NamedTuple

from msgspec import Struct, field

from sim.evidence.witness.check import WitnessCheck
from sim.evidence.witness.checks.trades import TRADE_STATES
from sim.evidence.witness.facts import (
    HoldingChange,
    Number,
    ReportedExecution,
    ReportedOrder,
    ReportedPosition,
    ReportedTick,
    ReportedTrade,
    moment,
)
from sim.evidence.witness.observation import (
    ClientObservation,
    ObservedStream,
    ObservedSubscription,
    Seen,
)
from sim.kernel.instants import days, parse_instant

# The kind of row of a stream, or of a subscription of a socket.
_ROWS = {
    "CreateDropCopySubscription": "execution",
    "CreateOrderSubscription": "execution",
    "CreateTradeCaptureReportSubscription": "trade",
    "CreatePositionChangeSubscription": "position",
    "CreatePositionSubscription": "position",
    "SUBSCRIPTION_TYPE_ORDER": "execution",
    "SUBSCRIPTION_TYPE_POSITION": "position",
    "SUBSCRIPTION_TYPE_TRADE": "tick",
}
# Answers that show orders of others beside those of the caller.
_SHARED = "ListActivities"
_KEYED = re.compile("""'idempotencyKey': ['"][^'"]""")
_NEW = "TRADE_STATE_NEW"
# Streams that merge the changes of one input.
_MERGED = "CreatePositionSubscription"


class _Row(NamedTuple):
    """Something that a kind of stream reports.

    `owner` is an account, or the market of a public trade. `subject` is the order, the trade or the
    position that it is about, `progress` how far that had come, `order` the order that caused it.
    `at` and `progress` may be unknown. Rows of one key that a `source` shows by different names are
    several ones of a kind.
    """

    kind: str
    owner: str
    symbol: str
    at: str
    key: Hashable
    text: str
    subject: Hashable
    progress: Number | None = 0
    order: str = ""
    source: Hashable = ""
    name: Hashable = ""


class _KnownRow(Struct):
    """A row, with the line that showed it first, and when that was. `reported` is the stream of a
    run on which it came, with the input that caused it.
    """

    row: _Row
    line: int
    observed_at: Seen
    reported: _Reported | None = None


class _Reported(Struct, eq=False):
    """What a subscription reported, and the points that it has passed. `live` is since when it had
    to report, `first` and `last` are instants after and before which.
    """

    kind: str
    scope: Hashable
    stream: ObservedStream
    subscription: ObservedSubscription
    live: Seen
    first: str
    last: str = ""
    line: int = 0
    keys: Counter[Hashable] = field(default_factory=Counter)
    owners: set[str] = field(default_factory=set)
    orders: set[str] = field(default_factory=set)
    least: dict[Hashable, Number] = field(default_factory=dict)  # progress, by subject

    @property
    def request(self) -> dict[str, Any]:
        """What the client requested."""
        return self.subscription.request

    def add(self, row: _Row, n: int, *, is_point: bool) -> None:
        """Add a row. That of a snapshot is no point in time."""
        # a stream of positions may begin with a snapshot, of one row each
        is_replay = bool(self.request.get("resumeToken") or self.request.get("resumeTime"))
        is_point &= is_replay or row.subject in self.least or row.kind != "position"
        if row.progress is not None:
            self.least[row.subject] = min(self.least.get(row.subject, row.progress), row.progress)
        self.owners.add(row.owner)
        self.keys[row.key] += 1
        self.line = n
        if is_point:
            self.orders.add(row.order)
            if row.at:
                self.first = min(self.first or row.at, row.at)
                self.last = max(self.last, row.at)


class NothingMissed(WitnessCheck):
    """A stream misses nothing of an account or a market between two points that it has passed.

    Answers, reports and other streams show executions, orders as an execution left them, trades and
    their states, positions, and public trades. A stream that has to report them shows them too:
    drop copy, trade capture, streams of orders and of positions, both sockets. Which accounts are
    its own is taken from what it, or a stream of the same client with the same filters, has shown.
    Instants in messages, filled quantities, and what caused what decide whether it had to, not when
    something was received, so delays on the way do not matter. Streams with an injected fault and
    merged ones (`responsesDebounced`) are not judged.
    """

    name = "nothing missed"
    depends_on = "§6.2: streams deliver at least once, resumable ones without a gap"

    def __init__(self) -> None:
        super().__init__()
        self._known: dict[tuple[str, str], dict[Hashable, _KnownRow]] = defaultdict(dict)
        self._reported: dict[ObservedSubscription, _Reported] = {}
        self._owners: dict[str, str] = {}  # by order
        self._entered: dict[str, Seen] = {}  # by order: when the call that entered it began
        self._tokens: dict[str, tuple[Seen, str]] = {}  # when it came, and an instant before it
        self._clock = ""  # the latest instant of a row

    # ---- rows that are stated

    def order(self, fact: ReportedOrder, observed: ClientObservation) -> None:
        """An order is as one of its executions left it, if it does not wait for the engine."""
        owner = self._owner(fact, observed)
        if owner and "_PENDING_" not in fact.state:
            key = fact.id, fact.at, fact.state
            text = f"order {fact.id} as {fact.state.removeprefix('ORDER_STATE_')}"
            about = key, text, fact.id, fact.contracts(fact.cum_qty), fact.id
            row = _Row("execution", owner, fact.symbol, fact.at, *about)
            self._note(row, observed, is_point=False)

    def execution(self, fact: ReportedExecution, observed: ClientObservation) -> None:
        order, owner = fact.order, self._owner(fact.order, observed)
        if owner:
            text = f"execution {fact.id} of order {order.id}"
            about = fact.id, text, order.id, order.contracts(order.cum_qty), order.id
            self._note(_Row("execution", owner, order.symbol, fact.at, *about), observed)
            self.order(order, observed)
        if not fact.is_fill or not fact.trade_id or fact.leg_prices:
            return
        caused = []
        if owner:
            caused += [
                _trade_row(fact, _NEW, owner),
                _position_row(owner, order.symbol, fact.at)._replace(name=fact.id),
            ]
        price, qty = order.dollars(fact.last_px), order.contracts(fact.last_shares)
        if price is not None and qty is not None:
            caused.append(_tick_row(order.symbol, fact.at, price, qty)._replace(name=fact.trade_id))
        for row in caused:
            row = row._replace(order=order.id, source="fills")
            self._note(row, observed, is_shown=False)

    def trade(self, fact: ReportedTrade, observed: ClientObservation) -> None:
        for side in (fact.aggressor, fact.passive):
            owner = side and self._owner(side.order, observed)
            if side and owner and fact.state in TRADE_STATES and not side.leg_prices:
                row, is_own = _trade_row(side, fact.state, owner), bool(side.order.account)
                self._note(row, observed, is_shown=is_own)  # the other side has no name

    def position(self, fact: ReportedPosition, observed: ClientObservation) -> None:
        if fact.at and fact.account:
            row = _position_row(fact.account, fact.symbol, fact.at)
            self._note(row, observed)
            # A stream may merge the steps of one input, which another one shows.
            is_known = observed.stream is None
            figures = fact.net_position, fact.qty_bought, fact.qty_sold
            text = f"{row.text}, {fact.net_position},"
            row = row._replace(key=(row.key, figures), text=text)
            self._note(row, observed, is_known=is_known)

    def holding(self, fact: HoldingChange, observed: ClientObservation) -> None:
        row = _position_row(fact.account, fact.symbol, fact.at)
        self._note(row._replace(source="ledger", name=fact.id), observed)

    def tick(self, fact: ReportedTick, observed: ClientObservation) -> None:
        row = _tick_row(fact.symbol, fact.at, Decimal(fact.price), Decimal(fact.qty))
        reported = self._subscribed(observed)
        count = reported.keys[row.key] if reported is not None else 0
        self._note(row._replace(source=observed.subscription, name=count), observed)

    def _owner(self, order: ReportedOrder, observed: ClientObservation) -> str:
        """The account of an order, or else the retail client to whom it was shown as theirs."""
        owner = order.account
        if not owner and order.dialect == "retail" and observed.operation.rpc != _SHARED:
            owner = observed.client
        return self._owners.setdefault(order.id, owner) if owner else self._owners.get(order.id, "")

    # ---- what streams report

    def _note(
        self,
        row: _Row,
        observed: ClientObservation,
        *,
        is_known: bool = True,
        is_shown: bool = True,
        is_point: bool = True,
    ) -> None:
        """Note a row that was stated, and the stream that reported it, if it `is_shown` itself."""
        self._clock = max(self._clock, row.at)
        reported = self._subscribed(observed) if is_shown else None
        if reported is not None and reported.kind != row.kind:
            reported = None
        is_point &= reported is not None and "snapshot" not in observed.body
        rows, name = self._known[row.kind, row.owner], (row.key, row.source, row.name)
        if is_known and name not in rows:
            entry = rows[name] = _KnownRow(row, observed.n, observed.ended)
            is_live = reported is not None and observed.ended > reported.subscription.live
            if reported and is_point and reported.stream.prompt and is_live:
                entry.reported = reported
        if reported is not None:
            reported.add(row, observed.n, is_point=is_point)

    def _subscribed(self, observed: ClientObservation) -> _Reported | None:
        """What the subscription of a frame has reported; None if it need not be complete."""
        subscription, stream = observed.subscription, observed.stream
        if subscription is None or stream is None or subscription.live is None:
            return None
        if subscription not in self._reported:
            request = subscription.request
            name = request.get("subscriptionType", stream.operation.rpc)
            if name not in _ROWS or request.get("responsesDebounced"):
                return None
            filters = [str(request.get(name) or "") for name in ("accounts", "firms")]
            scope, token = (stream.client, name, *filters), request.get("resumeToken", "")
            live, first = subscription.live, subscription.now
            now = first or self._clock
            if token in self._tokens and _is_kept(self._tokens[token][1], now):
                live, first = self._tokens[token]
            self._reported[subscription] = _Reported(
                _ROWS[name], scope, stream, subscription, live, first
            )
        return self._reported[subscription]

    def observation(self, observed: ClientObservation) -> None:
        """Note the call that entered an order, and the points that a stream has passed."""
        body = observed.body if isinstance(observed.body, dict) else {}
        if observed.stream is None:
            enters = observed.operation.rpc.startswith(("InsertOrder", "CreateOrder"))
            # With a key, an earlier call may have entered the order.
            if enters and observed.ok and not _KEYED.search(str(observed.request)):
                for order in _entered(body):
                    self._entered.setdefault(order, observed.began)
            return
        reported = self._subscribed(observed)
        if reported is not None and observed.kind == "frame":
            sent = moment(body.get("processedSentTime"))
            now = observed.now if observed.stream.prompt else ""
            if body.get("resumeToken"):
                point = observed.ended, max(reported.last, now)
                self._tokens.setdefault(body["resumeToken"], point)
            reported.last = max(reported.last, sent, now)

    # ---- the verdict

    def finish(self) -> None:
        owners: dict[Hashable, set[str]] = defaultdict(set)
        for reported in self._reported.values():
            owners[reported.scope] |= reported.owners
        for reported in self._reported.values():
            symbols = reported.request.get("symbols") or reported.request.get("marketSlugs") or ()
            own = owners[reported.scope]
            if reported.kind == "tick":
                own = set(symbols) or {owner for kind, owner in self._known if kind == "tick"}
            if reported.stream.disturbed:
                self.cannot_tell += len(reported.keys)
            else:
                for owner in sorted(own):
                    self._judge(reported, self._known[reported.kind, owner].values(), symbols)

    def _judge(
        self, reported: _Reported, rows: Iterable[_KnownRow], symbols: Iterable[str]
    ) -> None:
        causes = [self._entered[order] for order in reported.orders & self._entered.keys()]
        latest = max(causes, default=None)
        needed, missed = Counter[Hashable](), set[Hashable]()
        merges = reported.stream.operation.rpc == _MERGED
        for entry in rows:
            row = entry.row
            if symbols and row.symbol not in symbols:
                continue
            if not self._is_after(entry, reported) or not _is_before(entry, reported, latest):
                continue
            self.applied += 1
            needed[row.key, row.source] += 1
            count = 1 if merges else needed[row.key, row.source]
            if reported.keys[row.key] < count and (row.subject, row.at) not in missed:
                missed.add((row.subject, row.at))
                at = f" at {row.at}Z" if row.at else ""
                text = f"stream {reported.stream.operation.rpc} did not report {row.text}{at}"
                self.contradict(text, [entry.line, *([reported.line] if reported.line else [])])

    def _is_after(self, entry: _KnownRow, reported: _Reported) -> bool:
        row, came_on = entry.row, entry.reported
        entered = self._entered.get(row.order)
        return (
            (bool(row.at and reported.first) and row.at > reported.first)
            or (
                came_on is not None
                and not came_on.stream.disturbed
                and entry.observed_at > reported.live
            )
            or (entered is not None and entered > reported.live)
            or (row.progress or 0) > reported.least.get(row.subject, row.progress or 0)
        )


def _is_before(entry: _KnownRow, reported: _Reported, latest: Seen) -> bool:
    row, ended = entry.row, reported.subscription.ended
    return (
        (bool(row.at) and row.at < reported.last)
        or (reported.stream.prompt and (ended is None or entry.observed_at < ended))
        or (latest is not None and entry.observed_at < latest)
    )


def _is_kept(at: str, now: str) -> bool:
    """Whether executions since an instant can still be had (§8: retention)."""
    return not at or parse_instant(f"{now}Z") - parse_instant(f"{at}Z") < days(7)


def _trade_row(fill: ReportedExecution, state: str, owner: str) -> _Row:
    at = fill.at if state == _NEW else ""  # that of a later state is not stated
    text = f"trade {fill.trade_id} as {state.removeprefix('TRADE_STATE_')}"
    about = (fill.trade_id, state), text, fill.trade_id, TRADE_STATES[state], fill.order.id
    return _Row("trade", owner, fill.order.symbol, at, *about)


def _position_row(owner: str, symbol: str, at: str) -> _Row:
    text = f"the position of {owner} in {symbol}"
    return _Row("position", owner, symbol, at, (owner, symbol, at), text, (owner, symbol))


def _tick_row(symbol: str, at: str, price: Decimal, qty: Decimal) -> _Row:
    text = f"a trade of {qty} {symbol} for {price}"
    return _Row("tick", symbol, symbol, at, (symbol, at, price, qty), text, symbol)


def _entered(body: dict[str, Any]) -> Iterable[str]:
    """The ids of the orders that a call entered."""
    answers = body.get("responses") or [body]
    for answer in answers if isinstance(answers, list) else ():
        if isinstance(answer, dict):
            yield from (answer[name] for name in ("orderId", "id") if answer.get(name))
    yield from body.get("createdOrderIds") or ()
