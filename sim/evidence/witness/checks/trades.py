"""Checks of trades: their terms, their two sides, and their states."""

from __future__ import annotations

from sim.evidence.witness.check import WitnessCheck
from sim.evidence.witness.facts import Number, ReportedExecution, ReportedTrade
from sim.evidence.witness.observation import ClientObservation

TRADE_STATES = {"TRADE_STATE_NEW": 0, "TRADE_STATE_CLEARED": 1, "TRADE_STATE_BUSTED": 2}


class OneTrade(WitnessCheck):
    """A trade has one price, one quantity, one aggressor, and an opposite side.

    The price and quantity of combo trades are not compared, because each leg has its own price.
    """

    name = "one trade"
    depends_on = "§2.7: trade_id is shared by both sides"

    def __init__(self) -> None:
        super().__init__()
        self._sides: dict[tuple[str, str, bool], tuple[str, str, int]] = {}

    def execution(self, fact: ReportedExecution, observed: ClientObservation) -> None:
        if not fact.is_fill or not fact.trade_id:
            return
        key = fact.order.dialect, fact.trade_id
        terms = fact.last_px, fact.last_shares, fact.order.symbol
        first, line = self.first(key, terms, observed.n)
        self.applied += (first, line) != (terms, observed.n)
        if first != terms and not fact.leg_prices:
            text = f"trade {fact.trade_id} is shown as {_terms(first)} and as {_terms(terms)}"
            self.contradict(text, [line, observed.n])
        self._side(fact, observed)

    def _side(self, fact: ReportedExecution, observed: ClientObservation) -> None:
        order = fact.order
        key, side = (order.dialect, fact.trade_id), (order.id, order.side, observed.n)
        first, _, line = self._sides.setdefault((*key, fact.aggressor), side)
        if first != order.id:
            role = "aggressor" if fact.aggressor else "passive side"
            text = f"orders {first} and {order.id} are both the {role} of trade {fact.trade_id}"
            self.contradict(text, [line, observed.n])
        facing = self._sides.get((*key, not fact.aggressor))
        if facing is not None and facing[1] == order.side:
            text = f"both sides of trade {fact.trade_id} are {order.side}"
            self.contradict(text, [facing[2], observed.n])


class TradeStates(WitnessCheck):
    """A busted trade stays busted, and a cleared trade never becomes new again.

    The check applies along each stream, which reports states in order, and to reads that were sent
    after the answer of the earlier one.
    """

    name = "trade state"
    depends_on = "§2.7: a trade is reported again when its state changes; BUSTED is final"

    def trade(self, fact: ReportedTrade, observed: ClientObservation) -> None:
        asked = observed.request if observed.stream is not None else {}
        replays = asked.get("resumeToken") or asked.get("resumeTime")
        if fact.state not in TRADE_STATES or not fact.id or observed.on_disturbed_stream or replays:
            self.cannot_tell += 1
            return
        key = fact.dialect, observed.stream_number, fact.id
        self.goes_on(f"trade {fact.id}", key, fact.state, TRADE_STATES, observed)


def _terms(terms: tuple[Number, Number, str]) -> str:
    return f"{terms[1]} of {terms[2]} at {terms[0]}"
