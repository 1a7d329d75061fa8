"""States of instruments, and what ends orders by time (rules L1-L24, W2, W7).

Dates, the schedule, an operator and maintenance say in which state an instrument has to be; a
change of state is right if it leads there. What was due and did not happen is noticed as time
passes: each market has one instant before which nothing is due.
"""

from __future__ import annotations

from heapq import heappop, heappush

from msgspec import json

from sim.kernel.instants import Instant, next_trade_day_roll, parse_instant, trade_date
from sim.oracle.hearing import Hearing
from sim.oracle.maintenance import MaintenanceRules
from sim.oracle.matching import auction_price
from sim.oracle.schedules import beginning_at, in_force, next_edge
from sim.oracle.state import (
    AUCTION,
    CLOSED,
    DAY,
    EXPIRED,
    GTT,
    HALTED,
    NEW,
    OPEN,
    PENDING,
    PREOPEN,
    REPLACED,
    STATES,
    SUSPENDED,
    TERMINATED,
    Document,
    Market,
    NaiveOrder,
)
from sim.read.observed import ObservedInput

# What an operator may ask for (rule L10)
MOVES = {
    PENDING: (OPEN, PREOPEN, AUCTION),
    PREOPEN: (OPEN, SUSPENDED, HALTED, CLOSED, AUCTION),
    OPEN: (SUSPENDED, HALTED, CLOSED, AUCTION),
    SUSPENDED: (OPEN, PREOPEN, HALTED, CLOSED, AUCTION),
    HALTED: (OPEN, PREOPEN, SUSPENDED, CLOSED, AUCTION),
    AUCTION: (OPEN, PREOPEN, SUSPENDED, HALTED, CLOSED, EXPIRED, TERMINATED),
    CLOSED: (OPEN, PREOPEN, AUCTION, EXPIRED),
    EXPIRED: (TERMINATED,),
    TERMINATED: (),
}
OVER = (EXPIRED, TERMINATED)
ROLLS_UNTIL = parse_instant("2026-09-13T04:00:00Z")  # DAY orders end at the roll (rule L12)


def is_final(market: Market) -> bool:
    """Return whether an instrument has its final price, after which it stays closed (L25)."""
    return market.settlement is not None and not market.settlement["preliminary"]


def demanded(market: Market, at: Instant) -> tuple[int, str]:
    """Return the state that dates, operator and schedule demand, and the rule (L3-L8, L25)."""
    terms = market.terms
    if market.state == TERMINATED or 0 < terms["termination"] <= at:
        return TERMINATED, "L8"
    if market.state == EXPIRED or 0 < terms["expiration"] <= at:
        return EXPIRED, "L8"
    if is_final(market):
        return CLOSED, "L25"
    if market.pinned is not None:
        return market.pinned, "L5"
    if 0 < market.closes <= at:
        return CLOSED, "L7"
    segment = in_force(terms["schedule"], at) if terms["start"] <= at else None
    if segment is None or segment["state"] == CLOSED:
        return (PENDING, "L6") if market.state == PENDING else (CLOSED, "L4")
    return segment["state"], "L6" if market.state == PENDING else "L3"


def next_due(market: Market, after: Instant) -> Instant | None:
    """Return when dates or schedule may next demand another state."""
    terms = market.terms
    instants = [terms[name] for name in ("start", "expiration", "termination")]
    instants.append(market.closes)
    if market.state not in OVER and (edge := next_edge(terms["schedule"], after)):
        instants.append(edge)
    return min((each for each in instants if each > after), default=None)


class LifecycleRules:
    """The part of the law about it."""

    def __init__(self, hearing: Hearing) -> None:
        self._hearing = hearing
        self.maintenance = MaintenanceRules(hearing)
        exchange = hearing.exchange
        self._due: list[tuple[Instant, str]] = []
        self._good_till: list[tuple[Instant, str]] = []
        self._opened: dict[str, tuple[Instant, int]] = {}  # when, and by which input
        self._ordered = {order.symbol for order in exchange.open_orders()}
        self._operated = 0  # when an operator last acted
        self._changed: dict[str, int] = {}  # state before the input, of what changed in it
        self._roll = next_trade_day_roll(exchange.now)
        for symbol in exchange.beginning.instruments:
            market = exchange.market(symbol)
            self._opened[symbol] = market.listed, -1
            since = self.maintenance.held_since(exchange.now)
            latest = exchange.now if since is None else since - 1
            passed = 0 < market.terms["expiration"] <= latest
            if market.state not in OVER and passed:
                market.terms = market.terms | {"expiration": 0}  # its opening state outlives it
            self._wake(market, exchange.now - 1)
        for order in exchange.open_orders():
            self._watch(order)
        exchange.date_others_by(self._dated)

    def _wake(self, market: Market, after: Instant) -> None:
        """From now on the run tells whatever happens to an instrument."""
        self._hearing.exchange.awake.add(market.symbol)
        self._schedule(market, after)

    def _is_told(self, market: Market) -> bool:
        """Return whether the run tells from now on what happens to an instrument.

        Windows of an index that nobody touched it tells only while a stream follows everything.
        """
        subject = self._hearing.observed.input.get("subject")
        recurs = market.terms["series"] and market.terms["index_condition"] is not None
        return not recurs or market.symbol == subject or market.symbol in self._ordered

    def _schedule(self, market: Market, after: Instant) -> None:
        market.due = next_due(market, after)
        if market.due is not None:
            heappush(self._due, (market.due, market.symbol))

    def _watch(self, order: NaiveOrder) -> None:
        if order.good_till is not None and order.tif == GTT:
            heappush(self._good_till, (order.good_till, order.id))

    # ---- which state is right

    def owed(self, market: Market, at: Instant) -> tuple[int, str]:
        """Return the state in which a market has to be at an instant, and the rule.

        Inside a window, dates and schedule stand still (rule W7); from its lead on, what would be
        open is suspended (rule W2).
        """
        since = self.maintenance.held_since(at)
        moment = at if since is None else min(at, max(since - 1, market.listed))
        state, rule = demanded(market, moment)
        if state == OPEN and self.maintenance.suspends(at) and not self._is_spared(market, at):
            return SUSPENDED, "W2"
        return state, rule

    def _dated(self, market: Market) -> int:
        """Return the state of a market of which no event tells. Its game may be over (rule L7)."""
        exchange = self._hearing.exchange
        state = self.owed(market, exchange.now)[0]
        if (state, market.state) == (OPEN, CLOSED) and market.symbol in exchange.fresh:
            if market.terms["event"]:
                market.closes, state = exchange.now, CLOSED
                self._hearing.undecided("facts of a game")
        return state

    def _is_spared(self, market: Market, at: Instant) -> bool:
        """Return whether a market opened after maintenance suspended all, and still may be open."""
        first = market.listed, self._hearing.observed.seq
        return self._opened.setdefault(market.symbol, first) > self.maintenance.turned(at)

    # ---- changes of state

    def changed(self, event: Document) -> None:
        """Judge a change of state, before it happens."""
        self.maintenance.note()
        symbol, was, state = event["symbol"], event["was"], event["state"]
        exchange = self._hearing.exchange
        market = exchange.market(symbol)
        if symbol not in exchange.awake:
            market.state = was
            if self._is_told(market):
                self._wake(market, exchange.now)
        if market.state != was:
            self._disagree("L2", market, market.state, was)
            market.state = was
        settles = state == CLOSED and market.state not in OVER and self._settles(symbol)
        if not (settles or self._operator(market, state) or self._game_ended(market, state)):
            self._by_dates(market, state)
        self._changed.setdefault(symbol, was)
        if state == CLOSED:
            market.closed = exchange.now
        self._effects(market, state)

    def _settles(self, symbol: str) -> bool:
        """Return whether a price is set later in this input, which closes a market first (L25)."""
        later = ((each["event"], each.get("symbol")) for each in self._hearing.later)
        return ("Settled", symbol) in later

    def _operator(self, market: Market, state: int) -> bool:
        """Return whether an operator asked for a change (rules L5, L10)."""
        action, asked = self._request(market.symbol)
        if action != "instrument.state" or asked != STATES[state]:
            return False
        if state not in MOVES[market.state]:
            self._disagree("L10", market, market.state, state)
        market.pinned = state
        if state == OPEN:
            self._opened[market.symbol] = self._hearing.exchange.now, self._hearing.observed.seq
        return True

    def listed(self, event: Document) -> None:
        """Take over an instrument that was listed."""
        market = self._hearing.exchange.market(event["symbol"])
        market.state, market.listed = event["state"], event["at"]
        opened = event["at"], self._hearing.observed.seq
        self._opened[market.symbol] = opened if market.state == OPEN else (0, -1)
        if self._is_told(market):
            self._wake(market, event["at"] - 1)

    def _request(self, symbol: str) -> tuple[str, str]:
        """Return which action an operator asked for on an instrument, and the state."""
        input_ = self._hearing.observed.input
        if input_.get("action") is None or input_.get("subject") != symbol:
            return "", ""
        arguments = json.decode(input_.get("arguments", "{}"))
        return input_["action"], str(arguments.get("state", ""))

    def _game_ended(self, market: Market, state: int) -> bool:
        """Return whether trading ends with the game, which only the exchange knows (rule L7)."""
        if state != CLOSED or self._hearing.event.get("rule") != "L7" or market.closes:
            return False
        if not market.terms["event"]:
            return False
        market.closes = self._hearing.exchange.now
        self._hearing.undecided("facts of a game")
        return True

    def _by_dates(self, market: Market, state: int) -> None:
        """Judge a change that nobody asked for, and whether it comes in time (L3-L9, W2, W7)."""
        now = self._hearing.exchange.now
        again = self._request(market.symbol)[1] == "SCHEDULE"
        if again:
            self._follow_again(market)
        right, rule = self.owed(market, now)
        collapse = self._hearing.exchange.assumed("lifecycle.collapse_to_expired")
        if right in OVER and market.state not in (CLOSED, *OVER) and collapse:
            right, rule = CLOSED, "L9"
        elif right == TERMINATED and market.state != EXPIRED:
            right = EXPIRED
        final = is_final(market) and self._hearing.exchange.assumed("settlement.auto_expire")
        if state == EXPIRED and market.state == CLOSED and final:
            return
        opens = rule == "W2" and state == OPEN and self._is_suspended_next(market.symbol, now)
        if state != right and not opens:
            self._disagree(rule, market, right, state)
        elif not self._first_in_time(market):
            sentence = f"{market.symbol} becomes {STATES[state]} later than it had to"
            self._hearing.disagree(rule, "in time", "late", sentence)

    def _follow_again(self, market: Market) -> None:
        """Let dates and schedule decide, up to now also where they would wait (rules L5, T1)."""
        market.pinned, market.listed = None, self._hearing.exchange.now
        self._opened[market.symbol] = 0, -1

    def _is_suspended_next(self, symbol: str, now: Instant) -> bool:
        """Return whether a market is suspended at the instant at which it opens (rule W3)."""
        return any(
            each["event"] == "StateChanged"
            and (each["symbol"], each["state"], each["at"]) == (symbol, SUSPENDED, now)
            for each in self._hearing.later
        )

    def _first_in_time(self, market: Market) -> bool:
        """Return whether a market was right until now, or an operator has a hand in it."""
        if market.symbol in self._changed or self._hearing.observed.input["type"] == "control":
            return True
        if self._operated == self._hearing.exchange.now:
            return True
        before = self._hearing.exchange.now - 1
        return self.owed(market, before)[0] == market.state

    def _disagree(self, rule: str, market: Market, right: int, state: int) -> None:
        expected, observed = STATES[right], STATES[state]
        sentence = f"{market.symbol} is {observed}, not {expected}"
        self._hearing.disagree(rule, expected, observed, sentence)

    def _effects(self, market: Market, state: int) -> None:
        """Judge what had to happen before a change of state is told (§3.1, L12, L16, L22)."""
        left = market.state == AUCTION or (market.state == PREOPEN and state == OPEN)
        if left and auction_price(self._hearing.exchange, market) is not None:
            sentence = f"{market.symbol} left {STATES[market.state]} and its book still crosses"
            self._hearing.disagree("L16", "an auction", "none", sentence)
        for order in (*market.orders, *market.stops):
            if state in OVER or (state == CLOSED and order.tif == DAY):
                sentence = f"order {order.id} outlives {market.symbol} becoming {STATES[state]}"
                rule = "L12" if state == CLOSED else "L8"
                self._hearing.disagree(rule, "ended", "open", sentence)

    # ---- ends of orders

    def expired(self, order: NaiveOrder, event: Document) -> None:
        """Judge the expiry of an order that nothing else made necessary, before it happens."""
        self._judge_end(order, event, self._expiries(order))

    def canceled(self, order: NaiveOrder, event: Document) -> bool:
        """Judge a cancel by the exchange. Return whether it is the exchange's (rules W2, L8)."""
        rules = set()
        if self._hearing.observed.input["type"] in ("advance", "control") and (
            self.maintenance.acts() or self.maintenance.suspends(self._hearing.exchange.now)
        ):
            rules.add("W2")
        if TERMINATED in self._targets(order.symbol):
            rules.add("L8")
        if event.get("rule") not in ("W2", "L8"):
            return False
        self._judge_end(order, event, rules)
        return True

    def _judge_end(self, order: NaiveOrder, event: Document, rules: set[str]) -> None:
        rule = event.get("rule", "")
        if rule not in rules:
            sentence = f"order {order.id} ends by {rule} at {self._hearing.exchange.now}"
            self._hearing.disagree(rule, " or ".join(sorted(rules)) or "open", rule, sentence)

    def _targets(self, symbol: str) -> set[int]:
        """Return the states that an instrument reaches later in this input."""
        return {
            each["state"]
            for each in self._hearing.later
            if each["event"] == "StateChanged" and each["symbol"] == symbol
        }

    def _expiries(self, order: NaiveOrder) -> set[str]:
        """Return the rules by which an order may expire now (L3, L8, L12, L23)."""
        exchange, targets, rules = self._hearing.exchange, self._targets(order.symbol), set()
        market, now = exchange.market(order.symbol), exchange.now
        waited = self.maintenance.acts()
        if order.good_till is not None and (order.good_till == now or waited):
            rules.add("L23")
        if EXPIRED in targets:
            rules.add("L8")
        if order.tif == DAY and (CLOSED in targets or self._rolls(now, waited=waited)):
            rules.add("L12")
        starting = beginning_at(market.terms["schedule"], now)
        if waited or any(segment["expire_all_orders"] for segment in starting):
            rules.add("L3")
        if order.quote_id:
            rules.add("M16")  # trades outside the book are not decided
        return rules

    def _rolls(self, at: Instant, *, waited: bool = False) -> bool:
        """Return whether DAY orders end at an instant because the trade date does (rule L12)."""
        if trade_date(at) == trade_date(at - 1) and not waited:
            return False
        choice = self._hearing.exchange.assumed("day_roll.expire_day_orders")
        return choice == "always" or (choice == "auto" and at < ROLLS_UNTIL)

    # ---- what is owed

    def after_input(self, observed: ObservedInput) -> None:
        """Judge an input once all of its events are: what was due has happened."""
        turned = self.maintenance.after_input(observed)
        self._collect(observed)
        self._answered(observed)
        self._overdue_orders(observed.now)
        self._overdue_states(observed.now, turned=turned)
        self._changed.clear()
        if observed.input["type"] == "control":
            self._operated = observed.now

    def _collect(self, observed: ObservedInput) -> None:
        """Take over orders that end by a time, and instruments that somebody touched."""
        exchange = self._hearing.exchange
        for event in observed.events:
            if event["event"] == "Executed" and event["execution"]["type"] in (NEW, REPLACED):
                row = event["execution"]["order"]
                self._ordered.add(row["symbol"])
                if row["symbol"] not in exchange.awake:
                    self._wake(exchange.market(row["symbol"]), observed.now)
                order = exchange.orders.get(row["id"])
                if order is not None and order.leaves_qty:
                    self._watch(order)

    def _answered(self, observed: ObservedInput) -> None:
        """Judge what became of a state that an operator asked for (rules L5, L10, T1)."""
        symbol = observed.input.get("subject", "")
        action, asked = self._request(symbol)
        if action != "instrument.state" or symbol not in self._hearing.exchange.markets:
            return
        market = self._hearing.exchange.market(symbol)
        was = self._changed.get(symbol, market.state)
        refused = "message" in observed.out
        if asked == "SCHEDULE":
            if not refused:
                self._follow_again(market)
            return
        if asked not in STATES:
            return
        state = STATES.index(asked)
        moves = OVER if is_final(market) else MOVES[was]
        legal = state == was or (state in MOVES[was] and state in moves)
        if refused == legal:
            sentence = f"{symbol} is {STATES[was]} and {asked} is {'refused' if legal else 'taken'}"
            self._hearing.disagree("L10", asked, STATES[was], sentence)
        if not refused:
            market.pinned = state
            if market.state != state:
                self._disagree("T1", market, state, market.state)

    def _overdue_orders(self, now: Instant) -> None:
        """Judge that orders ended which had a time (rule L23), or whose day is over (L12)."""
        exchange = self._hearing.exchange
        while self._good_till and self._good_till[0][0] < now:
            at, order_id = heappop(self._good_till)
            order = exchange.orders[order_id]
            if order.leaves_qty and order.good_till == at and not self.maintenance.covers(at):
                sentence = f"order {order_id} is open after {at}, when it had to expire"
                self._hearing.disagree("L23", "expired", "open", sentence)
        while self._roll < now:
            roll, self._roll = self._roll, next_trade_day_roll(self._roll)
            if not self._rolls(roll) or self.maintenance.covers(roll):
                continue
            for order in exchange.open_orders():
                if order.tif == DAY and order.admitted < roll:
                    sentence = f"DAY order {order.id} is open after the end of its day"
                    self._hearing.disagree("L12", "expired", "open", sentence)

    def _overdue_states(self, now: Instant, *, turned: bool) -> None:
        """Judge that every market that was due is in the right state (rules L3-L9, W7).

        `turned` is whether maintenance suspended or released all of them.
        """
        exchange = self._hearing.exchange
        checked = set(exchange.awake if turned else self._changed)
        while self._due and self._due[0][0] < now:
            due, symbol = heappop(self._due)
            market = exchange.market(symbol)
            if market.due != due:
                continue
            checked.add(symbol)
            self._overdue_segment(market, due)
            self._schedule(market, now - 1)
        for symbol in sorted(checked):
            market = exchange.market(symbol)
            right, rule = self.owed(market, now)
            dates = (market.terms["expiration"], market.terms["termination"])
            if rule == "L8" and not any(exchange.beginning.now < date <= now for date in dates):
                continue  # the run began with its state
            if market.state != right and market.due != now:
                self._disagree(rule, market, right, market.state)
                market.state = right

    def _overdue_segment(self, market: Market, due: Instant) -> None:
        """Judge that a segment that expires all orders did so when it began (rule L3)."""
        segments = beginning_at(market.terms["schedule"], due)
        followed = demanded(market, due)[1] in ("L3", "L4", "L6")
        if not followed or not any(each["expire_all_orders"] for each in segments):
            return
        for order in (*market.orders, *market.stops):
            if order.admitted < due and not self.maintenance.covers(due):
                sentence = f"order {order.id} is open after a segment expired all"
                self._hearing.disagree("L3", "expired", "open", sentence)
