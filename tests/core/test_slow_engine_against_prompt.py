"""A slow engine against a prompt one: commands that wait in the queue come to the same as if they
were given, in the order in which they leave it, at the instants at which they do.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from msgspec import msgpack

from sim.core.model.commands import CancelOrder, PlaceOrder, ReplaceOrder
from sim.core.model.enums import Channel, OrderState, Side, TimeInForce
from sim.core.model.events import CancelRejected, Executed
from sim.core.model.instrument import Instrument
from sim.core.model.orders import Order
from sim.core.model.refusals import Refusal
from sim.core.trading.trading import TradingState
from sim.kernel.instants import seconds
from tests.sessions import SESSIONS
from tests.trading_harness import FOK, GTC, IOC, Market

SECOND = seconds(1)
SYMBOLS = ("X", "Y")
CHANNELS = {"a": Channel.EXCHANGE, "b": Channel.EXCHANGE, "r": Channel.RETAIL, "s": Channel.SCRIPT}
STOPGAP = "Global Rate Limit Exceeded"


def market() -> Market:
    created = Market(*(Instrument(symbol=symbol) for symbol in SYMBOLS))
    for account in CHANNELS:
        created.fund(account, created.cash)
    return created


def notices(market: Market, numbers: dict[str, int]) -> list[tuple[Any, ...]]:
    """Reports and refused changes since the last call, with the numbers of their orders."""
    events = []
    for event in market.take():
        if isinstance(event, Executed):
            report = event.execution
            order = report.order
            displayed = (order.price, order.qty, order.cum_qty, order.leaves_qty, order.state.name)
            fill = report.last_qty, report.last_px, report.aggressor, report.text, report.at
            events.append((report.type.name, numbers.get(order.id, -1), *displayed, *fill))
        elif isinstance(event, CancelRejected):
            number = numbers.get(event.order_id, -1)
            events.append(("CANCEL_REJECTED", number, event.is_replace, event.text, event.at))
    return events


@dataclass
class Later:
    """A command that leaves the queue at an instant."""

    due: int
    number: int
    run: Callable[[], None]


@dataclass
class Pair:
    """The slow market, the prompt one, and what is still to be given to the latter."""

    rng: Random
    slow: Market = field(default_factory=market)
    prompt: Market = field(default_factory=market)
    later: list[Later] = field(default_factory=list)
    last: dict[tuple[str, str], int] = field(default_factory=dict)
    slow_orders: list[Order] = field(default_factory=list)
    prompt_ids: dict[int, str] = field(default_factory=dict)
    slow_told: list[tuple[Any, ...]] = field(default_factory=list)
    prompt_told: list[tuple[Any, ...]] = field(default_factory=list)
    supplied: int = 0
    latency: int = 0

    # ---- the queue

    def due(self, *parties: tuple[str, str]) -> int:
        """When a command leaves the queue: never before an earlier one of the same participant."""
        now = self.slow.ctx.now
        dues = [0 if CHANNELS[name] is Channel.SCRIPT else self.latency for name, _ in parties]
        waits = [self.last.get(at, 0) for at in parties if CHANNELS[at[0]] is not Channel.SCRIPT]
        due = max([now + max(dues), *waits])
        if due > now:
            self.last |= dict.fromkeys(parties, due)
        return due

    def give(self, due: int, run: Callable[[], None]) -> None:
        self.supplied += 1
        self.later.append(Later(due, self.supplied, run))
        self.catch_up()

    def catch_up(self) -> None:
        """What has left the queue by now is given to the prompt market."""
        now = self.slow.ctx.now
        for item in sorted(self.later, key=lambda entry: (entry.due, entry.number)):
            if item.due <= now:
                self.later.remove(item)
                self.prompt.until(item.due)
                item.run()
                self.note()
        self.prompt.until(now)
        self.note()

    def note(self) -> None:
        slow_numbers = {order.id: number for number, order in enumerate(self.slow_orders)}
        prompt_numbers = {name: number for number, name in self.prompt_ids.items()}
        self.slow_told += notices(self.slow, slow_numbers)
        self.prompt_told += notices(self.prompt, prompt_numbers)

    def late(self, account: str, due: int) -> bool:
        """Whether the stopgap rejects what was received now and leaves at an instant."""
        return CHANNELS[account] is Channel.RETAIL and due - self.slow.ctx.now > 5 * SECOND

    # ---- commands

    def order(self, account: str, side: Side, symbol: str, **terms: Any) -> PlaceOrder:
        rng = self.rng
        price, qty = rng.randint(46, 54), rng.randint(1, 6)
        tif = rng.choice((GTC, GTC, GTC, IOC, FOK, TimeInForce.DAY))
        terms = {"tif": tif, **terms}
        if "post_only" not in terms and rng.random() < 0.15:
            terms |= {"post_only": True, "tif": GTC}
        return PlaceOrder(
            symbol=symbol,
            account=account,
            participant=account,
            side=side,
            qty=terms.pop("qty", qty),
            price=terms.pop("price", price),
            channel=CHANNELS[account],
            deferred=True,
            **terms,
        )

    def place(self) -> None:
        account, symbol = self.rng.choice(tuple(CHANNELS)), self.rng.choice(SYMBOLS)
        command = self.order(account, self.rng.choice((Side.BUY, Side.SELL)), symbol)
        due, number = self.due((account, symbol)), len(self.slow_orders)
        order = self.slow.trading.order_service.enter(command)
        self.slow_orders.append(order)
        assert (order.state is OrderState.PENDING_NEW) == (due > self.slow.ctx.now)
        late = self.late(account, due)

        def run() -> None:
            if late:
                displayed = (command.price, command.qty, 0, 0, "REJECTED")
                self.prompt_told.append(
                    ("REJECTED", number, *displayed, 0, 0, False, STOPGAP, self.prompt.ctx.now)
                )
            else:
                self.prompt_ids[number] = self.prompt.trading.order_service.enter(command).id

        self.give(due, run)

    def live(self) -> tuple[int, Order] | None:
        orders = self.slow.trading.orders
        numbers = [n for n, item in enumerate(self.slow_orders) if orders.require(item.id).live]
        if not numbers:
            return None
        number = self.rng.choice(numbers[-6:])
        return number, orders.require(self.slow_orders[number].id)

    def change(self, cancels: bool) -> None:
        if (chosen := self.live()) is None:
            return
        number, order = chosen
        account = order.account
        price, qty = self.rng.choice((0, 47, 50, 53)), self.rng.choice((0, 1, 2, 5, 9))
        due, service = self.due((account, order.symbol)), self.slow.trading.order_service
        names: dict[str, Any] = {"accounts": (account,)}
        changes = {"price": price, "qty": qty}
        waits = due > self.slow.ctx.now
        was = order.state
        try:
            if cancels:
                service.cancel(CancelOrder(order_id=order.id, **names))
            else:
                service.replace(ReplaceOrder(order_id=order.id, **names, **changes))
        except Refusal:
            assert not waits
        if waits and was is not OrderState.PENDING_NEW:
            expected = OrderState.PENDING_CANCEL if cancels else OrderState.PENDING_REPLACE
            assert self.slow.now(order).state is expected
        late = not cancels and self.late(account, due)

        def run() -> None:
            if late:
                reported = ("CANCEL_REJECTED", number, True, STOPGAP, self.prompt.ctx.now)
                self.prompt_told.append(reported)
                return
            order_id = self.prompt_ids.get(number, "")
            orders = self.prompt.trading.order_service
            if not order_id:  # its order was rejected by the stopgap
                reported = ("CANCEL_REJECTED", number, not cancels, "Unknown order", due)
                self.prompt_told.append(reported)
                return
            try:
                if cancels:
                    orders.cancel(CancelOrder(order_id=order_id, **names))
                else:
                    orders.replace(ReplaceOrder(order_id=order_id, **names, **changes))
            except Refusal:
                pass  # reported as a refused change

        self.give(due, run)

    def cross(self) -> None:
        symbol, price, qty = self.rng.choice(SYMBOLS), self.rng.randint(47, 53), 3
        buy = self.order("a", Side.BUY, symbol, price=price, qty=qty, tif=GTC, post_only=False)
        sell = self.order("b", Side.SELL, symbol, price=price, qty=qty, tif=GTC, post_only=False)
        due, number = self.due(("a", symbol), ("b", symbol)), len(self.slow_orders)
        priority = self.rng.choice((Side.UNDEFINED, Side.BUY, Side.SELL))
        crossed = self.slow.trading.order_service.cross
        self.slow_orders += crossed((buy, sell), cross_id="c", priority=priority)

        def run() -> None:
            created = self.prompt.trading.order_service.cross(
                (buy, sell), cross_id="c", priority=priority
            )
            self.prompt_ids |= {number: created[0].id, number + 1: created[1].id}

        self.give(due, run)

    def wait(self) -> None:
        span = self.rng.choice((1, SECOND, 2 * SECOND, 7 * SECOND))
        for _ in range(4):  # in parts, so that each report is noted at its instant
            self.slow.advance(span // 4)
            self.catch_up()

    def restore(self) -> None:
        state = msgpack.encode(self.slow.trading.save())
        self.slow.trading.load(msgpack.decode(state, type=TradingState))

    def step(self) -> None:
        kind = self.rng.choices(
            ("place", "change", "cancel", "cross", "wait", "latency", "restore"),
            (8, 3, 2, 1, 3, 2, 1),
        )[0]
        if kind == "latency":
            self.latency = self.rng.choice((0, 1, 2, 6)) * SECOND
            text = f"{self.latency // SECOND}s"
            self.slow.ctx.assumptions.change("engine.latency", text)
        elif kind in ("change", "cancel"):
            self.change(kind == "cancel")
        else:
            getattr(self, kind)()


@SESSIONS
@given(seed=st.integers(0, 2**32))
def test_what_waits_comes_to_the_same_as_what_is_given_when_it_leaves(seed: int) -> None:
    pair = Pair(Random(seed))
    for _ in range(40):
        pair.step()
        assert pair.slow_told == pair.prompt_told
    pair.slow.advance(30 * SECOND)
    pair.catch_up()
    assert pair.slow_told == pair.prompt_told
    for symbol in SYMBOLS:
        assert pair.slow.depth(symbol) == pair.prompt.depth(symbol)
    for account in CHANNELS:
        for of in ("buying_power", "open_orders_reserve"):
            slow, prompt = (getattr(item.trading, of)(account) for item in (pair.slow, pair.prompt))
            assert slow == prompt
    pair.slow.check()
