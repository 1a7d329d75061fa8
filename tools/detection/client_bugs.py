"""The twenty bugs of reference clients.

Six of those listed here are overrides of methods of the reference client. Four are wrong beliefs of
a retail client, which `sim.testing.machines` compares with the exchange. The other ten are switches
that the reference client already had; their authors knew the conformance profile.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import invariant, rule, run_state_machine_as_test

from sim.run.client.client import Connection, Response
from sim.testing.machines import WHOLE, ExchangeMachine
from tests.testing.reference import SYMBOL, ReferenceClient

KNOWN = {
    "repeats_the_hopeless": "repeats what cannot succeed",
    "assertion_twice": "uses an assertion twice",
    "trades_a_halted_market": "goes on trading a halted market",
    "trades_after_expiry": "trades after expiry",
    "assumes_a_tick": "assumes a tick",
    "fights_for_its_session": "takes its session back at once",
    "forgets_keepalives": "forgets keepalives",
    "never_gives_up": "never gives up",
    "verifies_again": "starts a verification again",
    "refuses_a_duplicate": "does not acknowledge a duplicate",
}


# Bugs that only the client's own bookkeeping shows: none of its calls is wrong by itself.
BELIEFS = ("stale_book", "cursor_dropped", "partial_taken_for_full", "decimals_as_floats")


class RetryWithoutKey(ReferenceClient):
    """Sends no identifier at all with an order, and sends the order again after an error."""

    def insert(self, price: str = "44", symbol: str = SYMBOL) -> Response:
        body = {
            "type": "ORDER_TYPE_LIMIT",
            "side": "SIDE_BUY",
            "symbol": symbol,
            "orderQty": "100",
            "price": price,
            "timeInForce": "TIME_IN_FORCE_GOOD_TILL_CANCEL",
        }
        return self.send(
            lambda n: self.http(participant=self.user).post("/v1/trading/orders", json=body),
            order=True,
        )


class MissedGap(ReferenceClient):
    """Reopens its stream without resuming it, so it misses the messages between."""

    def open(self, **resume: Any) -> Any:
        return super().open()


class DoubleCancel(ReferenceClient):
    """Cancels an order once more after the exchange has confirmed its cancel."""

    def cancel(self, order: str) -> None:
        super().cancel(order)
        super().cancel(order)


class ClockTrusted(ReferenceClient):
    """Decides by its own clock, which is two minutes slow, how long a token is valid."""

    def headers(self, firm: Any, participant: str | None) -> dict[str, str]:
        token, ends = self._tokens.get(firm.client_id, ("", 0))
        if not token or self.world.simulation.now - 120_000_000_000 > ends:
            token = self.new_token(firm)
        headers = {"authorization": f"Bearer {token}"}
        return {**headers, "x-participant-id": participant} if participant else headers


class TokenAfterExpiry(ReferenceClient):
    """Ignores the expiry of its token until it gets a 401."""

    def headers(self, firm: Any, participant: str | None) -> dict[str, str]:
        token, _ = self._tokens.get(firm.client_id, ("", 0))
        token = token or self.new_token(firm)
        headers = {"authorization": f"Bearer {token}"}
        return {**headers, "x-participant-id": participant} if participant else headers


class BackoffIgnored(ReferenceClient):
    """Retries at once and ignores the delay that an answer asks for."""

    def send(self, call: Callable[[int], Response], *, order: bool = False) -> Response:
        for number in range(5):
            answer = call(number)
            if answer.status == 401:
                self.refused()
            elif answer.status != 429 and answer.status < 500:
                break
        return answer


CLIENTS: dict[str, type[ReferenceClient]] = {
    "retry_without_key": RetryWithoutKey,
    "missed_gap": MissedGap,
    "double_cancel": DoubleCancel,
    "clock_trusted": ClockTrusted,
    "token_after_expiry": TokenAfterExpiry,
    "backoff_ignored": BackoffIgnored,
}


def client(bug: str, world: Connection) -> ReferenceClient:
    """Return the reference client with a bug; "none" for none."""
    if bug in CLIENTS:
        return CLIENTS[bug](world)
    return ReferenceClient(world, KNOWN.get(bug, ""))


PRICES = st.sampled_from(("0.10", "0.20", "0.30", "0.70"))
QUANTITIES = st.integers(1, 5)


def limit_order(price: str, quantity: int, intent: str = "ORDER_INTENT_BUY_LONG") -> dict[str, Any]:
    """An order that rests until it is filled."""
    return {
        "marketSlug": WHOLE.symbol,
        "intent": intent,
        "type": "ORDER_TYPE_LIMIT",
        "price": {"value": price, "currency": "USD"},
        "quantity": quantity,
        "tif": "TIME_IN_FORCE_GOOD_TILL_CANCEL",
    }


class Keeper:
    """A retail client that tracks its position, its spending and the best offer."""

    def __init__(self, world: Connection, key: Any, bug: str) -> None:
        self.world, self.http, self.bug = world, world.retail(key), bug
        self.orders: list[str] = []
        self._first_book: Any = None

    def place(self, price: str, quantity: int) -> None:
        answer = self.http.post("/v1/orders", json=limit_order(price, quantity))
        if answer.status == 200:
            self.orders.append(answer.json()["id"])

    def position(self) -> Decimal:
        """Return the position in contracts, computed from its orders."""
        total = Decimal(0)
        for name in self.orders:
            order = self.http.get(f"/v1/order/{name}").json()["order"]
            part = order["state"] == "ORDER_STATE_PARTIALLY_FILLED"
            complete = part and self.bug == "partial_taken_for_full"
            total += Decimal(str(order["quantity" if complete else "cumQuantity"]))
        return total

    def trades(self) -> list[dict[str, Any]]:
        """Return its trades, from all pages of its activities."""
        trades, cursor = [], ""
        while True:
            query = {"limit": 2, "types": "ACTIVITY_TYPE_TRADE"}
            page = self.http.get("/v1/portfolio/activities", params={**query, "cursor": cursor})
            body = page.json()
            trades += [activity["trade"] for activity in body["activities"] if "trade" in activity]
            cursor = body["nextCursor"]
            if body["eof"] or self.bug == "cursor_dropped":
                return trades

    def spent(self) -> Decimal:
        """Return the cost of its trades in dollars, without fees."""
        amounts = [(trade["price"]["value"], trade["qty"]) for trade in self.trades()]
        if self.bug == "decimals_as_floats":
            return Decimal(str(sum(float(price) * float(qty) for price, qty in amounts)))
        return sum((Decimal(price) * Decimal(qty) for price, qty in amounts), Decimal(0))

    def best_offer(self) -> str | None:
        """Return the best offer, or None."""
        if self._first_book is None or self.bug != "stale_book":
            self._first_book = self.world.gateway.get("/v1/markets/machine-whole/book").json()
        offers = self._first_book["marketData"]["offers"]
        return str(offers[0]["px"]["value"]) if offers else None


class KeeperMachine(ExchangeMachine):
    """Compares what the client believes with the exchange."""

    bug = ""
    extends = str(
        Path(__file__).parents[2] / "tests" / "server" / "unlimited.yaml"
    )  # the clock stands

    def begin(self) -> None:
        self.client = Keeper(self.world, self.key, self.bug)

    @rule(price=PRICES, quantity=QUANTITIES)
    def buys(self, price: str, quantity: int) -> None:
        self.client.place(price, quantity)

    @rule(price=PRICES, quantity=QUANTITIES)
    def somebody_sells(self, price: str, quantity: int) -> None:
        keys = self.simulation.exchange.firms.api_keys()
        others = self.world.retail(next(item for item in keys if item.account != self.key.account))
        others.post("/v1/orders", json=limit_order(price, quantity, "ORDER_INTENT_BUY_SHORT"))

    @invariant()
    def knows_its_position(self) -> None:
        held = self.truth.position(self.key.account, "machine-whole")
        assert self.client.position() == held
        assert sum(Decimal(trade["qty"]) for trade in self.client.trades()) == held

    @invariant()
    def knows_what_it_spent(self) -> None:
        orders = self.simulation.exchange.trading.execution_log.trades
        account = self.key.account
        spent = sum(
            trade.price * trade.qty
            for trade in orders.rows
            if account in (trade.aggressor.order.account, trade.passive.order.account)
        )
        assert self.client.spent() == Decimal(spent) / 100

    @invariant()
    def knows_the_best_offer(self) -> None:
        book = self.simulation.exchange.trading.books.get("machine-whole")
        best = book.offers.best
        believed = self.client.best_offer()
        assert (Decimal(believed) if believed else 0) == Decimal(best) / 100


def run_machine(bug: str, *, examples: int = 40) -> str:
    """Return the sentence about the first belief that is wrong, or ""."""
    KeeperMachine.bug = bug
    quick = settings(
        max_examples=examples,
        stateful_step_count=12,
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    try:
        run_state_machine_as_test(KeeperMachine, settings=quick)
    except AssertionError as wrong:
        entry = wrong.__traceback__
        while entry is not None and entry.tb_next is not None:
            entry = entry.tb_next
        name = entry.tb_frame.f_code.co_name if entry is not None else ""
        return f"{name.replace('_', ' ')}: {str(wrong).splitlines()[0] if str(wrong) else 'no'}"
    return ""
