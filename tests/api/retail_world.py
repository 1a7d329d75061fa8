"""The quickstart with two markets nobody else trades, and clients for two of its retail keys."""

from __future__ import annotations

from typing import Any

from sim import Simulation, load_scenario
from sim.core.model.quantities import CASH_SCALE
from sim.run.client.client import Http, Response
from tests.kit import Desk, usd

WHOLE, FINE = "aec-test-whole", "aec-test-fine"
BUY_YES, SELL_YES, BUY_NO, SELL_NO = (
    f"ORDER_INTENT_{name}" for name in ("BUY_LONG", "SELL_LONG", "BUY_SHORT", "SELL_SHORT")
)
GTC, IOC, FOK = (
    f"TIME_IN_FORCE_{name}" for name in ("GOOD_TILL_CANCEL", "IMMEDIATE_OR_CANCEL", "FILL_OR_KILL")
)


class RetailWorld(Desk):
    """`ann` and `bob` are two retail accounts."""

    def __init__(self, scenario: str = "quickstart") -> None:
        super().__init__(Simulation(load_scenario(scenario)))
        self.ann, self.bob = self.customer(0), self.customer(1)
        dates = {"start": "2026-09-01", "expiration": "2026-10-01", "state": "OPEN"}
        self.listed(WHOLE, **dates)
        self.listed(FINE, tick_size="0.005", fractional_qty_scale=100, **dates)

    def order(
        self,
        client: Http,
        symbol: str = WHOLE,
        intent: str = BUY_YES,
        price: str | None = "0.50",
        quantity: float = 10,
        **more: Any,
    ) -> Response:
        """POST /v1/orders; a limit order unless the price is None; synchronous unless told
        otherwise.
        """
        body: dict[str, Any] = {
            "marketSlug": symbol,
            "intent": intent,
            "quantity": quantity,
            "tif": GTC,
            "synchronousExecution": True,
        }
        body |= (
            {"type": "ORDER_TYPE_LIMIT", "price": usd(price)}
            if price is not None
            else {"type": "ORDER_TYPE_MARKET", "tif": IOC}
        )
        body |= more
        return client.post(
            "/v1/orders", json={key: value for key, value in body.items() if value is not None}
        )

    def balance(self, client: Http) -> dict[str, Any]:
        """The caller's one balance."""
        (result,) = client.get("/v1/account/balances").json()["balances"]
        return dict(result)

    def cash(self, user: int = 0) -> float:
        """Dollars of an account, from the ledger itself."""
        return self.trading.ledger.balance(self.keys[user].account) / CASH_SCALE


def types(answer: Response) -> list[str]:
    """Execution types of a synchronous answer, without their prefix."""
    return [
        execution["type"].removeprefix("EXECUTION_TYPE_")
        for execution in answer.json()["executions"]
    ]
