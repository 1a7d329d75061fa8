"""Checks of trades: their terms, their two sides, and their states."""

from __future__ import annotations

from sim.evidence.witness.check import Check
from sim.evidence.witness.facts import Execution, Number, Trade
from sim.evidence.witness.observation import Observation, Seen


class OneTrade(Check):
    """A trade has one price, one quantity, one aggressor, and an opposite side.

    The price and quantity of combo trades are not compared, because each leg has its own price.
    """

    name = "one trade"
    rests_on = "§2.7: trade_id is shared by both sides"

    def __init__(self) -> None:
        super().__init__()
        self._terms: dict[tuple[str, str], tuple[tuple[Number, Number, str], int]] = {}
        self._sides: dict[tuple[str, str, bool], tuple[str, str, int]] = {}

    def execution(self, fact: Execution, seen: Observation) -> None:
        if not fact.is_fill or not fact.trade:
            return
        key = fact.order.dialect, fact.trade
        terms = fact.price, fact.qty, fact.order.symbol
        known = self._terms.setdefault(key, (terms, seen.n))
        if known[1] == seen.n and known[0] == terms:
            pass
        else:
            self.applied += 1
            if known[0] != terms and not fact.legs:
                self.contradict(
                    f"trade {fact.trade} is shown as {_terms(known[0])} and as {_terms(terms)}",
                    [known[1], seen.n],
                )
        self._side(fact, seen)

    def _side(self, fact: Execution, seen: Observation) -> None:
        order = fact.order
        mine = order.id, order.side, seen.n
        known = self._sides.setdefault((order.dialect, fact.trade, fact.aggressor), mine)
        who = "aggressor" if fact.aggressor else "passive side"
        if known[0] != order.id:
            self.contradict(
                f"orders {known[0]} and {order.id} are both the {who} of trade {fact.trade}",
                [known[2], seen.n],
            )
        facing = self._sides.get((order.dialect, fact.trade, not fact.aggressor))
        if facing is not None and facing[1] == order.side:
            self.contradict(
                f"both sides of trade {fact.trade} are {order.side}", [facing[2], seen.n]
            )


class TradeState(Check):
    """A busted trade stays busted, and a cleared trade never becomes new again.

    The check applies along each stream, which reports states in order, and to reads that were sent
    after the answer of the earlier one.
    """

    name = "trade state"
    rests_on = "§2.7: a trade is reported again when its state changes; BUSTED is final"

    _LATER = {"TRADE_STATE_NEW": 0, "TRADE_STATE_CLEARED": 1, "TRADE_STATE_BUSTED": 2}

    def __init__(self) -> None:
        super().__init__()
        self._states: dict[tuple[str, int, str], tuple[str, Seen, int]] = {}

    def trade(self, fact: Trade, seen: Observation) -> None:
        rank = self._LATER.get(fact.state)
        if rank is None or not fact.id:
            self.cannot_tell += 1
            return
        if seen.stream is not None and (seen.stream.disturbed or _replays(seen)):
            self.cannot_tell += 1
            return
        number = seen.stream.number if seen.stream is not None else 0
        key = fact.dialect, number, fact.id
        known = self._states.get(key)
        if known is None or seen.began > known[1]:
            self._states[key] = fact.state, seen.ended, seen.n
        if known is None or seen.began <= known[1]:
            return
        self.applied += 1
        if self._LATER[known[0]] > rank:
            says = f"trade {fact.id} was {known[0]} and later {fact.state}"
            self.contradict(says, [known[2], seen.n])


def _replays(seen: Observation) -> bool:
    return bool(seen.request.get("resumeToken") or seen.request.get("resumeTime"))


def _terms(terms: tuple[Number, Number, str]) -> str:
    return f"{terms[1]} of {terms[2]} at {terms[0]}"
