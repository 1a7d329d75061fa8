"""Checks of trades: their terms, their two sides, and their states."""

from __future__ import annotations

from sim.evidence.witness.check import WitnessCheck
from sim.evidence.witness.facts import Number, ReportedExecution, ReportedTrade
from sim.evidence.witness.observation import ClientObservation


class OneTrade(WitnessCheck):
    """A trade has one price, one quantity, one aggressor, and an opposite side.

    The price and quantity of combo trades are not compared, because each leg has its own price.
    """

    name = "one trade"
    depends_on = "§2.7: trade_id is shared by both sides"

    def __init__(self) -> None:
        super().__init__()
        self._terms: dict[tuple[str, str], tuple[tuple[Number, Number, str], int]] = {}
        self._sides: dict[tuple[str, str, bool], tuple[str, str, int]] = {}

    def execution(self, fact: ReportedExecution, observed: ClientObservation) -> None:
        if not fact.is_fill or not fact.trade_id:
            return
        key = fact.order.dialect, fact.trade_id
        terms = fact.last_px, fact.last_shares, fact.order.symbol
        first, line = self._terms.setdefault(key, (terms, observed.n))
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

    _LATER = {"TRADE_STATE_NEW": 0, "TRADE_STATE_CLEARED": 1, "TRADE_STATE_BUSTED": 2}

    def trade(self, fact: ReportedTrade, observed: ClientObservation) -> None:
        rank = self._LATER.get(fact.state)
        if rank is None or not fact.id:
            self.cannot_tell += 1
            return
        if observed.stream is not None and (observed.stream.disturbed or _replays(observed)):
            self.cannot_tell += 1
            return
        number = observed.stream.number if observed.stream is not None else 0
        before = self.state_before((fact.dialect, number, fact.id), fact.state, observed)
        if before is not None and self._LATER[before[0]] > rank:
            text = f"trade {fact.id} was {before[0]} and later {fact.state}"
            self.contradict(text, [before[1], observed.n])


def _replays(observed: ClientObservation) -> bool:
    return bool(observed.request.get("resumeToken") or observed.request.get("resumeTime"))


def _terms(terms: tuple[Number, Number, str]) -> str:
    return f"{terms[1]} of {terms[2]} at {terms[0]}"
