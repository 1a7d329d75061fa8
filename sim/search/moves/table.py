"""The table of moves."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from sim.kernel.entropy import Choices
from sim.search.moves import deals, orders, places, repeats, service, streams, trading
from sim.search.moves.view import Steps, View

Draw: TypeAlias = Callable[[Choices, View], Steps]


class Move(NamedTuple):
    """A row: how to draw a move, its weight in random steps of a scenario, and what it needs.

    A weight of 0 means that it needs the state of the exchange, which only the hunt knows. `needs`
    names the lists of a `View` that must not be empty.
    """

    draw: Draw
    weight: int = 0
    needs: tuple[str, ...] = ()

    def is_possible(self, view: View) -> bool:
        """Return whether a view has what the move needs."""
        return all(getattr(view, need) for need in self.needs)


_USERS, _KEYS, _BOTH = ("users",), ("keys",), ("users", "keys")

MOVES = {
    # ---- orders
    "order by script": Move(orders.by_script, 70),
    "order by partner": Move(orders.by_partner, 45, _USERS),
    "order by retail user": Move(orders.by_retail, 25, _KEYS),
    "change": Move(orders.change, 18, _USERS),
    "cancel": Move(orders.cancel, 8),
    "cancel of a retail user": Move(orders.cancel_retail, 4, _KEYS),
    "replace": Move(repeats.parts, 2, _USERS),
    "same name": Move(trading.same_name, 1, _USERS),
    "self-match": Move(repeats.own_orders, 1, _USERS),
    "stops": Move(repeats.chain, 1, _USERS),
    "out of bounds": Move(trading.out_of_bounds, 1, _USERS),
    "slow engine": Move(trading.slow_engine, 1, _USERS),
    "sweep": Move(trading.sweep, 1, _KEYS),
    "account": Move(trading.account, 1, _BOTH),
    "settle": Move(repeats.correction, 0, _BOTH),
    "related": Move(trading.related, 0, _USERS),
    "poor": Move(trading.poor, 0, _USERS),
    # ---- the second time
    "flip": Move(repeats.flip, 0, _USERS),
    "auction": Move(repeats.auction, 0, _USERS),
    "batch": Move(repeats.batch, 0, _USERS),
    "setting": Move(repeats.setting, 0, _USERS),
    # ---- what was there before
    "queue": Move(places.queue, 0, _USERS),
    "cash": Move(places.cash, 0, _USERS),
    "session": Move(places.session, 0, _USERS),
    "takeover": Move(places.takeover, 0, _USERS),
    "secret": Move(places.secret, 0, ("firms",)),
    "age": Move(places.age, 0, _USERS),
    # ---- deals
    "cross": Move(deals.cross, 6, ("pairs",)),
    "vendor": Move(deals.vendor, 6, ("pairs",)),
    "combo": Move(deals.combo, 2, _KEYS),
    "quotes": Move(deals.quotes, 10, _KEYS),
    # ---- streams
    "open": Move(streams.open_stream, 12),
    "send": Move(streams.send_frame, 5),
    "hang up": Move(streams.hang_up, 3),
    "crowd": Move(streams.crowd, 0, _USERS),
    "follow": Move(streams.follow, 1, _BOTH),
    "resume": Move(streams.resume, 0, _USERS),
    # ---- the service
    "verify": Move(service.verify, 4, ("firms",)),
    "deaf": Move(service.deaf, 0, ("firms",)),
    "flood": Move(repeats.flood, 0, _BOTH),
    "index": Move(service.index, 0),
    "wait": Move(trading.wait, 10),
    # ---- actions of an operator
    "instrument.state": Move(service.state, 6),
    "instrument.settle": Move(service.settlement, 1),
    "account.fund": Move(service.money, 2),
    "fault.add": Move(orders.add_fault, 2),
    "maintenance.add": Move(service.maintenance, 1),
    "assumption.set": Move(service.assumption, 2),
    "quirk.set": Move(service.quirk),
    "preset.set": Move(service.preset),
    "reading.set": Move(service.reading),
    "price.tick": Move(service.tick),
    "fair_price.set": Move(service.fair_price),
}
