"""Random sessions of retail orders: every field, every spelling, and the same beside the exchange."""

from __future__ import annotations

from typing import Any

import pytest

from sim.kernel.instants import format_instant
from tests.oracle.session import SYMBOLS, Session

PRICES = ("0.5", "0.50", "0.505", "0.499", "0.52", "0.48", "0.009", "0", "1", "00.52", "0.58000")
BAD_AMOUNTS = ("-0.5", "-0", ".56", "half", "", "10000000", "10000001", "1e3")
QUANTITIES = (1, 2.5, 3.14, 6, 6, 12.999, 15, -1, 0, 0.05, 0.004, 10**10, 10**12 + 1, 1e13)
INTENTS = tuple(
    f"ORDER_INTENT_{name}" for name in ("BUY_LONG", "SELL_LONG", "BUY_SHORT", "SELL_SHORT")
)
TIFS = tuple(
    f"TIME_IN_FORCE_{name}"
    for name in ("DAY", "GOOD_TILL_CANCEL", "IMMEDIATE_OR_CANCEL", "FILL_OR_KILL", "GOOD_TILL_DATE")
)
# Fields that a request has besides, or instead of, those of an ordinary one.
ODD: dict[str, tuple[Any, ...]] = {
    "marketSlug": ("", "aec-nobody"),
    "type": ("ORDER_TYPE_LIMIT", "ORDER_TYPE_MARKET", 0, 1, 7),
    "quantity": QUANTITIES,
    "tif": (*TIFS, 9, None),
    "intent": (9, None, None),
    "outcomeSide": ("OUTCOME_SIDE_YES", "OUTCOME_SIDE_NO"),
    "action": ("ORDER_ACTION_BUY", "ORDER_ACTION_SELL"),
    "manualOrderIndicator": (0, 1, 2),
    "participateDontInitiate": (True,),
    "maxBlockTime": (-1, 0, 5),
    "synchronousExecution": (True,),
    "price": (None,),
}


class RetailSession(Session):
    """A session of the owners of three API keys, whose accounts trade on the exchange too."""

    def amount(self, *values: str) -> dict[str, str]:
        """Return an amount, mostly a good one."""
        text = self.rng.choice(values if self.rng.random() < 0.9 else BAD_AMOUNTS)
        currency = self.choice("USD", "USD", "USD", "USD", "", "EUR")
        return {"value": text, "currency": currency} if currency else {"value": text}

    def random_body(self) -> dict[str, Any]:
        """Return a request of a retail user, ordinary but for up to three fields."""
        rng = self.rng
        body: dict[str, Any] = {
            "marketSlug": self.choice(*SYMBOLS),
            "type": "ORDER_TYPE_LIMIT",
            "intent": self.choice(*INTENTS),
            "price": self.amount(*PRICES),
            "quantity": self.choice(*QUANTITIES[:7]),
            "tif": self.choice(*TIFS),
        }
        if rng.random() < 0.3:
            body |= {"type": "ORDER_TYPE_MARKET", "price": None}
            if rng.random() < 0.8:
                body["slippageTolerance"] = self.tolerance()
            if rng.random() < 0.3:
                body |= {"quantity": None, "cashOrderQty": self.amount("1", "0.75", "20")}
        for name in rng.sample(sorted(ODD), rng.choice((0, 0, 0, 1, 2, 3))):
            body[name] = rng.choice(ODD[name])
        if body["tif"] == TIFS[-1] or rng.random() < 0.05:
            until = self.desk.now + rng.choice((-1, 0, 1, 10**9, 10**9))
            body["goodTillTime"] = format_instant(until)
        return {name: value for name, value in body.items() if value is not None}

    def tolerance(self) -> dict[str, Any]:
        """Return how much worse than a price a market order may trade."""
        tolerance: dict[str, Any] = {}
        if self.rng.random() < 0.95:
            tolerance["currentPrice"] = self.amount("0.5", "0.517", "0.02", "0.97", "0.333")
        for name, values in (("ticks", (0, 1, 3, 60, -1)), ("bips", (0, 1, 150, 1999, -1))):
            if self.rng.random() < 0.6:
                tolerance[name] = self.rng.choice(values)
        return tolerance

    def enter_retail(self) -> None:
        """Send, or preview, a request."""
        user, body = self.rng.randrange(3), self.random_body()
        client = self.customers[user]
        if self.rng.random() < 0.3:
            client.post("/v1/order/preview", json={"request": body})
            return
        answer = client.post("/v1/orders", json=body)
        if answer.status == 200 and answer.json().get("id"):
            self.placed.append((user, str(body["marketSlug"]), answer.json()["id"]))

    def change_retail(self) -> None:
        """Modify, cancel or read an order, or close a position."""
        symbol = self.choice(*SYMBOLS)
        user, _, order_id = self.rng.choice(self.placed or [(0, symbol, "NOSUCHORDER1")])
        client = self.customers[user]
        match self.choice("modify", "modify", "cancel", "read", "close", "all"):
            case "modify":
                body = self.random_body()
                names = self.rng.sample(sorted(body), self.rng.randint(1, len(body)))
                body = {name: body[name] for name in ("marketSlug", *names)}
                client.post(f"/v1/order/{order_id}/modify", json=body)
            case "cancel":
                client.post(f"/v1/order/{order_id}/cancel", json={"marketSlug": symbol})
            case "read":
                client.get(f"/v1/order/{order_id}")
            case "close":
                body = {"marketSlug": symbol, "slippageTolerance": self.tolerance()}
                client.post("/v1/order/close-position", json=body)
            case "all":
                client.post("/v1/orders/open/cancel", json={"slugs": [symbol]})


@pytest.mark.parametrize("seed", range(12))
def test_retail_orders_with_every_field_keep_the_law(seed: int) -> None:
    """M2-M7, M13, M18, M20, M24, M30-M34, P4, as retail users see them."""
    session = RetailSession(seed, cash="60" if seed % 2 else "100000")
    session.play(
        200,
        (session.enter_retail, 10),
        (session.enter, 4),
        (session.change_retail, 5),
        (session.wait, 1),
        (session.assume, 0.3),
        (session.change_state, 0.3),
        (session.reopen, 1),
    )
