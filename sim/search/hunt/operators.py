"""Draws the actions of operators and testers in an episode, with subject and body."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from sim.core.catalogue import assumptions, quirks
from sim.core.lifecycle.states import EDGES, ENTRY_STATES
from sim.core.service.presets import PRESETS
from sim.kernel.entropy import RandomStream
from sim.kernel.instants import EASTERN, NS_PER_S, days, format_instant, hours, minutes, to_datetime
from sim.run.simulation import Simulation
from sim.search.generator import STATES, Terms, fault, scripted_order
from sim.search.hunt.vocabulary import Vocabulary

Body = dict[str, Any]
_LIFETIMES = (30 * NS_PER_S, minutes(5), hours(2), days(1), days(30))
_DECISIONS = ("approve", "reject", "review", "resubmit", "nope")
_FUNDING = ("completed", "cancelled", "refunded", "processing", "acknowledged")
_ODDS = ("always", "never", "1/2")
# Assumptions that lead to other sequences of states; the others change single answers.
_STRUCTURAL = ("lifecycle.", "settlement.", "engine.", "auction.", "collateral", "kyc.", "clearing")
_ASSETS = ("crypto:btc", "crypto:eth", "crypto:sol")


class Operators:
    """Draws the actions of one episode."""

    def __init__(self, simulation: Simulation, vocabulary: Vocabulary) -> None:
        self._simulation = simulation
        self._vocabulary = vocabulary
        self._terms: dict[str, Terms] = {}

    def markets(self) -> list[Terms]:
        """Return instruments that were recently read or traded, and a few others."""
        symbols = self._vocabulary.known("symbol")
        listed = (self._terms_of(symbol) for symbol in symbols if isinstance(symbol, str))
        return [terms for terms in listed if terms is not None]

    def _terms_of(self, symbol: str) -> Terms | None:
        """Return cached terms: those of a recurring market take long to compute."""
        terms = self._terms.get(symbol)
        if terms is None:
            one = self._simulation.exchange.instruments.get(symbol)
            if one is None:
                return None
            terms = self._terms[symbol] = Terms(
                one.symbol,
                one.tick,
                one.price_scale,
                one.qty_scale,
                one.min_qty,
                one.price_low,
                one.price_high,
            )
        return terms

    def market(self, choices: RandomStream) -> Terms:
        """Return a market in which to place an order, usually one of few that accept orders."""
        known = self.markets()
        trading = self._simulation.exchange.trading
        taking = [one for one in known if trading.state(one.symbol) in ENTRY_STATES]
        if taking and choices.chance(7, 8):
            return choices.choice(taking[-4:])
        return choices.choice(known)

    def draw(self, choices: RandomStream, action: str) -> tuple[str, Body]:
        """Return subject and body of an action of this name."""
        return _ACTIONS[action](self, choices)

    # ---- markets

    def _create(self, choices: RandomStream) -> tuple[str, Body]:
        now = self._simulation.now
        tick, scale = choices.choice((("0.01", 1), ("0.01", 1), ("0.0025", 100), ("0.001", 1)))
        body: Body = {
            "symbol": f"hunt-{choices.below(24)}",
            "tick_size": tick,
            "fractional_qty_scale": scale,
        }
        if choices.chance(2, 3):
            states = ("OPEN", "OPEN", "OPEN", "PREOPEN", "MATCH_AND_CLOSE_AUCTION", "SUSPENDED")
            body["state"] = choices.choice(states)
        if choices.chance(1, 3):
            ends = now + choices.choice(_LIFETIMES)
            body["expiration"] = format_instant(ends)
            body["termination"] = format_instant(ends + choices.choice(_LIFETIMES))
        if choices.chance(1, 4):
            body["start"] = format_instant(now + choices.choice(_LIFETIMES[:3]))
            body.pop("state", None)
        if choices.chance(1, 4):
            body["schedule"] = self._schedule(choices)
        self._vocabulary.add("symbol", body["symbol"])
        return "", body

    def _schedule(self, choices: RandomStream) -> list[Body]:
        """Return a day in two parts, each with a state, the second of which begins soon."""
        clock = to_datetime(self._simulation.now, EASTERN)
        first = clock.hour * 60 + clock.minute + choices.choice((1, 1, 10))
        cut = min(first, 24 * 60 - 1)
        states = [choices.choice((*STATES[11:17], "OPEN")) for _ in range(2)]
        return [
            {"start": "00:00", "length": f"{cut}m", "state": states[0]},
            {
                "start": f"{cut // 60:02}:{cut % 60:02}",
                "length": f"{24 * 60 - cut}m",
                "state": states[1],
            },
        ]

    def _state(self, choices: RandomStream) -> tuple[str, Body]:
        """Return a change of state, usually a possible one, of an instrument made by hand."""
        symbol = self._symbol(choices)
        own = [one for one in self._vocabulary.known("symbol") if str(one).startswith("hunt-")]
        if own and choices.chance(4, 5):
            symbol = str(choices.choice(own))
        if symbol not in self._simulation.exchange.instruments or choices.chance(1, 6):
            return symbol, {"state": choices.choice((*STATES[::4], *STATES[12:]))}
        was = self._simulation.exchange.trading.state(symbol)
        ahead = [to.name for start, to in EDGES if start is was]
        return symbol, {"state": choices.choice([*ahead, "SCHEDULE"])}

    def _settle(self, choices: RandomStream) -> tuple[str, Body]:
        return self._symbol(choices), {"price": choices.choice(("0", "0.5", "1", "1", "2"))}

    def _order(self, choices: RandomStream) -> tuple[str, Body]:
        terms = self.market(choices)
        order = scripted_order(choices, terms, ("maker", "taker"), 60)
        if choices.chance(1, 6):
            order |= {"type": "stop", "stop_price": order["price"]}
        return "", order

    def _cancel(self, choices: RandomStream) -> tuple[str, Body]:
        return "", {"as": choices.choice(("maker", "taker")), "all": True}

    def _bust(self, choices: RandomStream) -> tuple[str, Body]:
        trades = self._simulation.exchange.trading.trades
        recent = [trade.id for trade, _ in zip(reversed(trades), range(4), strict=False)]
        return (choices.choice(recent) if recent else "nope"), {}

    def _symbol(self, choices: RandomStream) -> str:
        return str(self._vocabulary.draw(choices, "symbol", ""))

    # ---- actions about prices, participants and games

    def _tick(self, choices: RandomStream) -> tuple[str, Body]:
        return choices.choice(_ASSETS), {"price": f"{choices.between(1, 90_000)}.5"}

    def _fair_price(self, choices: RandomStream) -> tuple[str, Body]:
        return self._symbol(choices), {"price": f"0.{choices.between(1, 99):02}"}

    def _participant(self, choices: RandomStream) -> tuple[str, Body]:
        section = self._simulation.scenario.participants
        names = [one.name for one in section.traders] or ["nobody"]
        return str(choices.choice(names)), {"active": choices.chance(1, 2)}

    def _event(self, choices: RandomStream) -> tuple[str, Body]:
        body: Body = {"live": True, "period": choices.choice(("Q1", "Q4", "HT", "FT"))}
        body["home_score"], body["away_score"] = choices.below(4), choices.below(4)
        if choices.chance(1, 3):
            body = {**body, "ended": True, "live": False}
        return str(self._vocabulary.draw(choices, "event_slug", "")), body

    # ---- accounts

    def _fund(self, choices: RandomStream) -> tuple[str, Body]:
        body: Body = {"amount": f"{choices.between(-30_000, 30_000)}.{choices.below(100):02}"}
        if choices.chance(1, 2):
            body["source"] = choices.choice(self._sources())
            body["script"] = choices.choice(("complete", "cancel", "hold", "hold"))
        return str(self._vocabulary.draw(choices, "account", "")), body

    def _sources(self) -> list[str]:
        firms = self._simulation.exchange.firms.all()
        return [source.id for firm in firms for source in firm.funding_sources] or ["bank-1"]

    def _decide(self, choices: RandomStream) -> tuple[str, Body]:
        body: Body = {"state": choices.choice(_FUNDING)}
        if body["state"] == "refunded" and choices.chance(1, 2):
            body["amount"] = choices.choice(("0.50", "2.50", "100000"))
        changes = self._simulation.exchange.funding.changes
        recent = [change.transaction.id for change in changes[-6:]]
        return (choices.choice(recent) if recent else "nope"), body

    def _verify(self, choices: RandomStream) -> tuple[str, Body]:
        return self._person(choices), {"decision": choices.choice(_DECISIONS)}

    def _document(self, choices: RandomStream) -> tuple[str, Body]:
        result = choices.choice(("uploaded", "uploaded", "failed"))
        return self._person(choices), {"result": result}

    def _person(self, choices: RandomStream) -> str:
        cases = self._simulation.exchange.kyc.cases()
        return choices.choice([case.external_id for case in cases] or ["person-0"])

    # ---- the service

    def _fault(self, choices: RandomStream) -> tuple[str, Body]:
        return "", fault(choices)

    def _fault_id(self, choices: RandomStream) -> tuple[str, Body]:
        armed = [one.id for one in self._simulation.exchange.faults.all()]
        return (choices.choice(armed) if armed else "f1"), {}

    def _maintenance(self, choices: RandomStream) -> tuple[str, Body]:
        begins = f"+{choices.choice((0, 1, 30, 90, 600))}s"
        return "", {"begins": begins, "length": choices.choice(("30s", "10m")), "lead": "20s"}

    def _window(self, choices: RandomStream) -> tuple[str, Body]:
        announced = self._simulation.exchange.maintenance_calendar.save()
        return choices.choice([one.name for one in announced] or ["nope"]), {}

    def _preset(self, choices: RandomStream) -> tuple[str, Body]:
        return "", {"name": choices.choice(list(PRESETS))}

    def _reading(self, choices: RandomStream) -> tuple[str, Body]:
        return "", {"name": choices.choice(("documented", "observed"))}

    def _quirk(self, choices: RandomStream) -> tuple[str, Body]:
        return choices.choice(list(quirks.catalogue())), {"value": choices.choice(_ODDS)}

    def _assumption(self, choices: RandomStream) -> tuple[str, Body]:
        rows = _switches()
        if choices.chance(1, 3):
            rows = tuple(row for row in rows if row[0].startswith(_STRUCTURAL))
        name, values = choices.choice(rows)
        return name, {"value": choices.choice(values)}

    def _receiver(self, choices: RandomStream) -> tuple[str, Body]:
        names = [one.name for one in self._simulation.scenario.world.receivers] or ["nobody"]
        return choices.choice(names), {"answers": [{"status": choices.choice((200, 500))}]}

    def _redeliver(self, choices: RandomStream) -> tuple[str, Body]:
        firms = [firm.name for firm in self._simulation.exchange.firms.all() if firm.client_id]
        return choices.choice(firms or ["nobody"]), {}

    def _close(self, choices: RandomStream) -> tuple[str, Body]:
        streams = list(self._simulation.engine.hub.operations())
        return str(choices.choice(streams) if streams else 1), {}


@cache
def _switches() -> tuple[tuple[str, tuple[Any, ...]], ...]:
    """Return the assumptions with the values that may be tried."""
    switches = []
    for one in assumptions.catalogue().values():
        default = one.show(one.default)
        written = str(default).lower() if isinstance(default, bool) else str(default)
        switches.append((one.name, tuple(dict.fromkeys((*one.alternatives(), written)))))
    return tuple(switches)


_ACTIONS: dict[str, Callable[[Operators, RandomStream], tuple[str, Body]]] = {
    "instrument.create": Operators._create,
    "instrument.state": Operators._state,
    "instrument.settle": Operators._settle,
    "trade.bust": Operators._bust,
    "order.place": Operators._order,
    "order.cancel": Operators._cancel,
    "price.tick": Operators._tick,
    "fair_price.set": Operators._fair_price,
    "participant.switch": Operators._participant,
    "event.update": Operators._event,
    "account.fund": Operators._fund,
    "funding.decide": Operators._decide,
    "kyc.decide": Operators._verify,
    "kyc.document": Operators._document,
    "fault.add": Operators._fault,
    "fault.remove": Operators._fault_id,
    "maintenance.add": Operators._maintenance,
    "maintenance.cancel": Operators._window,
    "preset.set": Operators._preset,
    "reading.set": Operators._reading,
    "quirk.set": Operators._quirk,
    "assumption.set": Operators._assumption,
    "receiver.change": Operators._receiver,
    "webhook.redeliver": Operators._redeliver,
    "stream.close": Operators._close,
}
