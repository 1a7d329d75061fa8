"""Settlement prices, what they pay, and what corrections move (rules L25-L29, P22)."""

from __future__ import annotations

from fractions import Fraction
from heapq import heappop, heappush

from msgspec import json

from sim.kernel.instants import Instant
from sim.oracle.clearing import ClearingRules
from sim.oracle.fills import begin_day, expect_position, move_cash
from sim.oracle.hearing import Hearing
from sim.oracle.lifecycle import is_final
from sim.oracle.maintenance import MaintenanceRules
from sim.oracle.money import unit
from sim.oracle.state import CLOSED, EXPIRED, TERMINATED, Document, Market
from sim.oracle.transfers import TransferRules
from sim.read.observed import ObservedInput

CORRECTION, RESOLUTION = 4, 6
SETTLING = (CLOSED, EXPIRED, TERMINATED)  # states in which a price is published (rule L25)


class SettlementRules:
    """The part of the law about it."""

    def __init__(self, hearing: Hearing, maintenance: MaintenanceRules) -> None:
        self._hearing = hearing
        self._maintenance = maintenance
        self.clearing = ClearingRules(hearing, maintenance)
        self.transfers = TransferRules(hearing)
        self._due: list[tuple[Instant, str]] = []  # when outcomes become prices, and prices final
        self._settled: set[str] = set()  # in this input

    # ---- prices

    def settled(self, event: Document) -> None:
        """Judge a settlement price, and expect what it pays (rules L25-L27)."""
        market = self._hearing.exchange.market(event["symbol"])
        price, preliminary = event["price"], event["preliminary"]
        self._settled.add(market.symbol)
        record = market.settlement
        fresh = market.symbol in self._hearing.exchange.fresh
        if fresh and record and record["set_at"] == event["at"]:
            market.settlement = None
        if not 0 <= price <= market.price_scale:
            self._disagree("L26", market, "a price from 0 to 1", str(price))
        if market.state not in SETTLING and not self._terminates(market.symbol):
            self._disagree("L25", market, "closed", "still trading")
        if is_final(market) and preliminary:
            self._disagree("L27", market, "a final price", "a preliminary one")
        if not (self._asked(market, price) or self._combo(market, price)):
            self._by_itself(market, price, preliminary=preliminary)
        if is_final(market):
            self._correct(market, price)
        elif not preliminary:
            self._pay(market, price)
        resolved = market.settlement["resolved"] if market.settlement else {}
        market.settlement = event | {"set_at": event["at"], "resolved": resolved}
        if preliminary:
            stays = self._hearing.exchange.assumed("settlement.preliminary_for")
            heappush(self._due, (event["at"] + stays, market.symbol))

    def _combo(self, market: Market, price: int) -> bool:
        """Judge the price of a combo, which is that of its legs and at once final (rule L13)."""
        if market.terms["market_type"] != "combo":
            return False
        right = self._product(market)
        if right is None and self._terminates(market.symbol):
            return False
        if right is None:
            self._disagree("L13", market, "no price before its legs have theirs", str(price))
        elif price != right:
            self._disagree("L13", market, str(right), str(price))
        return True

    def _product(self, market: Market) -> int | None:
        """Return what a combo pays: the product of its legs; None while they are undecided."""
        exchange = self._hearing.exchange
        nothing_less = exchange.assumed("combos.payout") == "all_or_nothing"
        paid, decided = Fraction(1), True
        for leg in market.terms["description"].split(" and "):
            symbol, side = leg.split(" ")
            other = exchange.market(symbol)
            if not is_final(other):
                decided = False
                continue
            settled = other.settlement or {}
            value = Fraction(settled["price"], other.price_scale)
            value = value if side == "yes" else 1 - value
            paid *= int(value == 1) if nothing_less else value
        return round(paid * market.price_scale) if decided or not paid else None

    def _asked(self, market: Market, price: int) -> bool:
        """Return whether an operator settles an instrument, at this price (rule T1)."""
        wish = self._wish(market.symbol)
        if wish is None:
            return False
        right = round(Fraction(str(wish["price"])) * market.price_scale)
        if price != right:
            self._disagree("T1", market, str(right), str(price))
        return True

    def _wish(self, symbol: str) -> Document | None:
        """Return the arguments with which an operator settles an instrument, or None."""
        input_ = self._hearing.observed.input
        if input_.get("action") != "instrument.settle" or input_.get("subject") != symbol:
            return None
        arguments: Document = json.decode(input_.get("arguments", "{}"))
        return arguments

    def _by_itself(self, market: Market, price: int, *, preliminary: bool) -> None:
        """Judge a price that nobody asked for, and when it comes (rules L25, L29, §3.1)."""
        exchange, record = self._hearing.exchange, market.settlement
        if record is not None and record["preliminary"]:
            due = record["set_at"] + exchange.assumed("settlement.preliminary_for")
            if price != record["price"]:
                self._disagree("L25", market, str(record["price"]), str(price))
        elif is_final(market):
            self._disagree("L27", market, "no correction", str(price))
            return
        elif self._terminates(market.symbol):
            self._unresolved(market, price)
            return
        else:
            due = (market.closed or 0) + exchange.assumed("settlement.delay_after_close")
            self._outcome(market, price)
        waits = exchange.assumed("settlement.preliminary_for") and record is None
        if bool(waits) != preliminary:
            self._disagree("L25", market, "preliminary" if waits else "final", "the other")
        if exchange.now < due:
            self._disagree("L25", market, f"at {due}", f"at {exchange.now}")

    def _outcome(self, market: Market, price: int) -> None:
        """Judge the outcome that became a price (rules L7, L29).

        What an index was is published with the instrument, rounded.
        """
        condition = market.terms["index_condition"]
        if condition is None:
            if market.terms["event"]:
                self._hearing.undecided("facts of a game")
            else:
                self._disagree("L25", market, "no price", "an outcome that nothing decides")
            return
        metadata = self._hearing.exchange.beginning.instruments[market.symbol]["metadata"]
        began, ended = metadata.get("price_to_beat"), metadata.get("crypto_settlement_price")
        if condition["family"] != "updown" or not (began and ended) or began == ended:
            self._hearing.undecided("prices of an index")
        elif price != (right := market.price_scale * (Fraction(ended) > Fraction(began))):
            self._disagree("L7", market, str(right), str(price))

    def _unresolved(self, market: Market, price: int) -> None:
        """Judge the price at which termination closes positions (§3.1, rule L26)."""
        terms = market.terms
        if terms["index_condition"] is not None or terms["game_condition"] is not None:
            self._outcome(market, price)
            return
        mode = self._hearing.exchange.assumed("settlement.unresolved_at_termination")
        right = 0 if mode == "zero" else market.reference
        if price != right and terms["event"] and price in (0, market.price_scale):
            self._hearing.undecided("facts of a game")
        elif price != right:
            self._disagree("L26", market, str(right), str(price))

    def _terminates(self, symbol: str) -> bool:
        return any(
            event["event"] == "StateChanged"
            and (event["symbol"], event["state"]) == (symbol, TERMINATED)
            for event in self._hearing.later
        )

    # ---- payments

    def _pay(self, market: Market, price: int) -> None:
        """Expect that longs are paid and shorts charged, every holder once (rule P22)."""
        exchange, resolved = self._hearing.exchange, {}
        for account in list(exchange.accounts.values()):
            held = account.positions.get(market.symbol)
            if held is None or not held.net:
                continue
            resolved[account.name] = net = held.net
            before = held.net, held.cost, held.realized
            begin_day(exchange, held)
            held.realized += net * price - held.cost
            held.net = held.cost = 0
            expect_position(exchange, account.name, market.symbol, held, before, "P22")
            owner = account.name, market.symbol
            move_cash(exchange, owner, RESOLUTION, net * price * unit(market), "P22")
        market.settlement = {"resolved": resolved}

    def _correct(self, market: Market, price: int) -> None:
        """Expect that a correction moves the difference to whoever was resolved (rule L27)."""
        exchange, record = self._hearing.exchange, market.settlement or {}
        difference = price - record["price"]
        for name, net in record["resolved"].items() if difference else ():
            held = exchange.position(name, market.symbol)
            before = held.net, held.cost, held.realized
            begin_day(exchange, held)
            held.realized += net * difference
            expect_position(exchange, name, market.symbol, held, before, "L27")
            owner = name, market.symbol
            move_cash(exchange, owner, CORRECTION, net * difference * unit(market), "L27")

    # ---- other events

    def trade_changed(self, event: Document) -> None:
        """Judge a trade that no match made necessary: it cleared, or was busted."""
        self.clearing.changed(event)

    def position_changed(self, event: Document) -> None:
        """Judge a row of the position ledger that nothing made necessary (rule P23)."""
        if not self._hearing.doubt:
            sentence = f"the position of {event['account']} in {event['symbol']} has no cause"
            self._hearing.disagree("P23", "nothing", event["description"], sentence)

    def cash_moved(self, event: Document) -> None:
        """Judge an entry of the cash ledger that no fill made necessary."""
        self.transfers.moved(event)

    # ---- what is owed

    def after_input(self, observed: ObservedInput) -> None:
        """Judge an input once all of its events are."""
        self.clearing.after_input(observed)
        self.transfers.after_input(observed)
        self._collect(observed)
        self._answered(observed)
        self._overdue(observed.now)
        self._overdue_combos()
        self._settled.clear()

    def _collect(self, observed: ObservedInput) -> None:
        """Take over when outcomes become prices, and judge that termination left no positions."""
        exchange = self._hearing.exchange
        for event in observed.events:
            if event["event"] != "StateChanged":
                continue
            market = exchange.market(event["symbol"])
            if event["state"] == TERMINATED:
                for account in exchange.accounts.values():
                    held = account.positions.get(market.symbol)
                    if held is not None and held.net:
                        self._disagree("L25", market, "no positions", account.name)
            condition = market.terms["index_condition"]
            if event["state"] == CLOSED and condition and condition["ends"] <= event["at"]:
                delay = exchange.assumed("settlement.delay_after_close")
                heappush(self._due, (event["at"] + delay, market.symbol))

    def _answered(self, observed: ObservedInput) -> None:
        """Judge what became of a settlement that an operator asked for (rules L26, L27, T1)."""
        symbol = observed.input.get("subject", "")
        wish, exchange = self._wish(symbol), self._hearing.exchange
        if wish is None or symbol not in exchange.markets or symbol in self._settled:
            return
        market, price = exchange.market(symbol), wish.get("price")
        exact = _is_price(price) and (Fraction(str(price)) * market.price_scale).denominator == 1
        possible = exact and not (wish.get("preliminary") and is_final(market))
        if observed.rule == "T3":
            self._hearing.undecided("a bound of totals")
        elif "message" not in observed.out or possible:
            self._disagree("T1", market, f"settled at {price}", "nothing")

    def _overdue(self, now: Instant) -> None:
        """Judge that prices were set and became final when they were due (rule L25)."""
        while self._due and self._due[0][0] < now:
            due, symbol = heappop(self._due)
            market = self._hearing.exchange.market(symbol)
            if is_final(market) or (market.closed or 0) > due or market.state not in SETTLING:
                continue
            if market.settlement and market.settlement["set_at"] >= due:
                continue
            if self._maintenance.covers(now):
                heappush(self._due, (now, symbol))
                return
            self._disagree("L25", market, f"settled at {due}", "nothing")

    def _overdue_combos(self) -> None:
        """Judge that the price of a leg decided its combos at once (rule L13)."""
        markets = self._hearing.exchange.markets.values() if self._settled else ()
        for market in list(markets):
            if market.terms["market_type"] == "combo" and not is_final(market):
                right = self._product(market)
                if right is not None:
                    self._disagree("L13", market, f"settled at {right}", "nothing")

    def _disagree(self, rule: str, market: Market, expected: str, observed: str) -> None:
        sentence = f"settlement of {market.symbol}: {observed}, not {expected}"
        self._hearing.disagree(rule, expected, observed, sentence)


def _is_price(price: object) -> bool:
    """Return whether a text is a price from 0 to 1 (rule L26)."""
    try:
        return 0 <= Fraction(str(price)) <= 1
    except ValueError:
        return False
