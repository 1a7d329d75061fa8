"""The quickstart with two markets nobody else trades, and clients for two of its retail keys."""

from __future__ import annotations

from typing import Any

from sim import Simulation, load_scenario
from sim.core.model.quantities import CASH_SCALE
from sim.run.client.client import Connection, Http, Response, connect

WHOLE, FINE = "aec-test-whole", "aec-test-fine"
BUY_YES, SELL_YES, BUY_NO, SELL_NO = (
    f"ORDER_INTENT_{name}" for name in ("BUY_LONG", "SELL_LONG", "BUY_SHORT", "SELL_SHORT")
)
GTC, IOC, FOK = (
    f"TIME_IN_FORCE_{name}" for name in ("GOOD_TILL_CANCEL", "IMMEDIATE_OR_CANCEL", "FILL_OR_KILL")
)


def usd(value: str) -> dict[str, str]:
    """An amount."""
    return {"value": value, "currency": "USD"}


class RetailWorld:
    """`ann` and `bob` are two retail accounts."""

    def __init__(self, scenario: str = "quickstart") -> None:
        self.sim = Simulation(load_scenario(scenario))
        self.world: Connection = connect(self.sim)
        self.keys = list({key.account: key for key in self.sim.exchange.firms.api_keys()}.values())[
            :2
        ]
        self.ann, self.bob = (self.world.retail(key) for key in self.keys)
        for symbol, terms in (
            (WHOLE, {"tick_size": "0.01"}),
            (FINE, {"tick_size": "0.005", "fractional_qty_scale": 100}),
        ):
            self.control(
                "instrument.create",
                "",
                symbol=symbol,
                state="OPEN",
                start="2026-09-01",
                expiration="2026-10-01",
                **terms,
            )

    @property
    def gateway(self) -> Http:
        return self.world.gateway

    def control(self, action: str, subject: str, **body: object) -> None:
        """An operator's action."""
        self.world.absorb(self.sim.control(action, subject, dict(body)))

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
        (found,) = client.get("/v1/account/balances").json()["balances"]
        return dict(found)

    def cash(self, index: int) -> float:
        """Dollars of an account, from the ledger itself."""
        return self.sim.exchange.trading.ledger.balance(self.keys[index].account) / CASH_SCALE


def types(answer: Response) -> list[str]:
    """Execution types of a synchronous answer, without their prefix."""
    return [
        execution["type"].removeprefix("EXECUTION_TYPE_")
        for execution in answer.json()["executions"]
    ]
