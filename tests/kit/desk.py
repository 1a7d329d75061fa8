"""The desk: a run with clients of every plane, and in one line each what tests do most.

```python
desk = begin()                                  # the bundled quickstart, in process
instrument = desk.quiet()                       # open, and nobody else trades it
desk.trade(instrument, cents=40, contracts=2)   # two participants trade
desk.settle(instrument, "1")
assert desk.net(instrument) == 0
```

A person is a number: participants are the users of the first partner, retail customers those of the
retail keys, one for each account. Who needs another identity uses the clients of `Connection`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any, BinaryIO

import pytest

from sim import Simulation, load_scenario
from sim.api.pipeline.inputs import Outcome
from sim.api.pipeline.settings import Settings
from sim.contract.contract import Plane
from sim.contract.messages.exchange_cashmovement_v1 import CashMovement
from sim.core.exchange import Exchange
from sim.core.identity.firms import ApiKey, Firm, User
from sim.core.model.enums import InstrumentState, Side
from sim.core.model.instrument import Instrument
from sim.core.model.quantities import CASH_SCALE
from sim.core.service.rate_limits import LIMITS
from sim.core.trading.trading import Trading
from sim.kernel.instants import Instant, parse_instant
from sim.run.client.client import Connection, Http, Response, Rpc, RpcError
from tests.kit.bodies import PERSON, order, retail_order, transfer
from tests.kit.journals import JournalReader

# The quickstart with few of its generated games: a clock that goes over weeks takes the edges of
# hundreds of them otherwise, and a view of every instrument shows thousands.
FEW_GAMES = "name: few-games\nextends: quickstart\nworld: {games: 4}\n"

# In which field of the answer to a search of reports its rows are.
_ROWS = {"orders": "order", "executions": "executions", "trades": "trade"}


def begin(
    scenario: str = "quickstart",
    more: str = "",
    *,
    start: str = "",
    seed: int | None = None,
    limits: bool = True,
    journal: BinaryIO | None = None,
    settings: Settings | None = None,
) -> Desk:
    """Begin a run of a scenario, named or as text, with `more` lines of it, at an instant.

    Without `limits` no rate limit holds. The journal is kept in memory unless a file is given.
    """
    if more and "\n" not in scenario:
        scenario = f"name: more\nextends: {scenario}\n"
    simulation = Simulation(
        load_scenario(scenario + more),
        seed=seed,
        start=parse_instant(start) if start else None,
        journal=journal,
        settings=settings,
    )
    desk = Desk(simulation)
    if not limits:
        unlimited(simulation)
    return desk


def unlimited(simulation: Simulation) -> None:
    """Let no rate limit hold from now on; whoever follows the run begins again with that."""
    for name in LIMITS:
        simulation.exchange.rate_limits.replace(name, "off")
    for observer in simulation.engine.observers:
        observer.after_jump()


@contextmanager
def refused(code: int) -> Iterator[None]:
    """Expect that a gRPC call is refused with a status."""
    with pytest.raises(RpcError) as error:
        yield
    assert error.value.code == code


class Client(Http):
    """An HTTP client of one plane with one identity, whose reads and sends must succeed."""

    def read(self, path: str, *keys: str | int, **params: Any) -> Any:
        """The JSON of a GET, or what stands in it under keys, one after the other."""
        return _within(self.get(path, params=params), keys)

    def rows(self, path: str, name: str, **query: Any) -> list[Any]:
        """The rows of a list of the gateway, page by page."""
        rows: list[Any] = []
        searched = path == "/v1/search"
        while page := self.read(
            path,
            name,
            limit=100,
            **({"page": len(rows) // 100 + 1} if searched else {"offset": len(rows)}),
            **query,
        ):
            rows += page
            if searched and len(page) < 100:
                break
        return rows

    def send(self, path: str, body: object, *keys: str | int) -> Any:
        """The JSON that answers a POST, or what stands in it under keys."""
        return _within(self.post(path, json=body), keys)


def _within(answer: Response, keys: tuple[str | int, ...]) -> Any:
    assert answer.status == 200, answer
    value = answer.json()
    for key in keys:
        value = value[key]
    return value


class Desk(Connection):
    """Clients of every plane of a run, and short ways to what tests do most."""

    @property
    def gateway(self) -> Client:
        """The public gateway."""
        return Client(self, "gateway", lambda verb, path: {})

    def retail(self, key: ApiKey) -> Client:
        """The retail API with an API key."""
        return Client(self, "retail", lambda verb, path: self.retail_headers(key, verb, path))

    def exchange(self, firm: Firm, participant: str | None = None) -> Client:
        """Exchange REST with a token of a firm, optionally for a participant."""
        return Client(self, "exchange", lambda verb, path: self.bearer(firm, participant))

    @property
    def core(self) -> Exchange:
        """The exchange itself, for what no surface tells."""
        return self.simulation.exchange

    @property
    def trading(self) -> Trading:
        """The trading part of the exchange."""
        return self.simulation.exchange.trading

    @property
    def now(self) -> Instant:
        """The instant at which the clock of the run stands."""
        return self.simulation.now

    @cached_property
    def journal(self) -> JournalReader:
        """The journal of the run."""
        return JournalReader(self.simulation)

    def read(self, path: str, *keys: str | int, **params: Any) -> Any:
        """What the public gateway answers; see `Client.read`."""
        return self.gateway.read(path, *keys, **params)

    def rows(self, path: str, name: str, **query: Any) -> list[Any]:
        """All rows of a list of the public gateway."""
        return self.gateway.rows(path, name, **query)

    # ---- people and their clients

    @cached_property
    def firm(self) -> Firm:
        """The first partner: it has a client id and nearly every scope."""
        return next(row for row in self.firms if len(row.scopes) >= 14)

    @property
    def firms(self) -> Iterator[Firm]:
        """The firms that have a client id, in order."""
        return (row for row in self.core.firms.all() if row.client_id)

    @cached_property
    def other_firm(self) -> Firm:
        """Another partner with its own users and every scope that streams need."""
        return next(row for row in self.firms if row is not self.firm and len(row.scopes) > 4)

    @cached_property
    def poor_firm(self) -> Firm:
        """A firm that lacks scopes."""
        return next(row for row in self.firms if len(row.scopes) < 5)

    @cached_property
    def keys(self) -> list[ApiKey]:
        """A retail key of each account, in order."""
        keys = self.core.firms.api_keys()
        return list({key.account: key for key in keys}.values())

    def user(self, user: int = 0) -> User:
        """A participant of the first partner."""
        return self.firm.users[user]

    def account(self, user: int = 0) -> str:
        """The account of a participant."""
        return self.user(user).account

    @property
    def partner(self) -> Client:
        """Exchange REST as the first partner itself."""
        return self.exchange(self.firm)

    @property
    def rpc_partner(self) -> Rpc:
        """Exchange gRPC as the first partner itself."""
        return self.rpc(self.firm)

    def trader(self, user: int = 0) -> Client:
        """Exchange REST as a participant."""
        return self.exchange(self.firm, self.user(user).name)

    def rpc_trader(self, user: int = 0) -> Rpc:
        """Exchange gRPC as a participant."""
        return self.rpc(self.firm, self.user(user).name)

    def customer(self, index: int = 0) -> Client:
        """The retail API as a customer."""
        return self.retail(self.keys[index])

    def raw(
        self,
        plane: Plane,
        verb: str,
        path: str,
        headers: dict[str, str] | None = None,
        *,
        query: str = "",
        body: bytes = b"",
        peer: str = "",
    ) -> Response:
        """The answer to a request with these headers and no others."""
        far = {"peer": peer} if peer else {}
        outcome = self.simulation.rest(plane, verb, path, query, headers or {}, body, **far)
        assert outcome.reply is not None
        return Response(outcome.reply)

    # ---- instruments

    def instrument(self, symbol: str) -> Instrument:
        """An instrument by its symbol."""
        return self.core.instruments.require(symbol)

    def in_state(self, state: InstrumentState = InstrumentState.OPEN) -> Iterator[Instrument]:
        """Yield the instruments in a state, in order of listing. Take the first few: iterating
        all is slow.
        """
        instruments = self.core.instruments
        return (row for row in instruments if self.trading.state(row.symbol) is state)

    def quiet(self, tick: int | None = None) -> Instrument:
        """An open instrument whose book is empty."""
        for row in self.in_state():
            book = self.trading.book(row.symbol)
            if not book.levels(Side.BUY, 1) and not book.levels(Side.SELL, 1):
                if tick in (None, row.tick):
                    return row
        raise LookupError("no open instrument has an empty book")

    def listed(self, symbol: str = "market", **terms: Any) -> Instrument:
        """A new instrument with an empty book, open unless its terms say otherwise."""
        value = {"symbol": symbol, "tick_size": "0.01"}
        if not terms.keys() & {"schedule", "start"}:
            value["state"] = "OPEN"
        self.operate("instrument.create", **value | terms)
        return self.instrument(symbol)

    # ---- orders

    def enter(
        self,
        instrument: Instrument,
        side: str,
        cents: int,
        contracts: int = 1,
        *,
        user: int = 0,
        **fields: object,
    ) -> Response:
        """The answer to a limit order of a participant; a field that is None is left out."""
        body = order(instrument, side, cents, contracts, **fields)
        body = {name: value for name, value in body.items() if value is not None}
        return self.trader(user).post("/v1/trading/orders", json=body)

    def place(
        self,
        instrument: Instrument,
        side: str,
        cents: int,
        contracts: int = 1,
        *,
        user: int = 0,
        **fields: object,
    ) -> str:
        """The id of an order that was accepted."""
        answer = self.enter(instrument, side, cents, contracts, user=user, **fields)
        assert answer.status == 200, answer
        return str(answer.json()["orderId"])

    def trade(
        self,
        instrument: Instrument,
        cents: int = 40,
        contracts: int = 1,
        *,
        buyer: int = 0,
        seller: int = 1,
    ) -> None:
        """Two participants trade; the seller rests."""
        self.place(instrument, "sell", cents, contracts, user=seller)
        self.place(instrument, "buy", cents, contracts, user=buyer)

    def cancel(self, order_id: str, user: int = 0) -> Response:
        """The answer to the cancellation of an order of a participant."""
        return self.trader(user).post("/v1/trading/orders/cancel", json={"orderId": order_id})

    def open_orders(self, user: int = 0) -> list[dict[str, Any]]:
        """The open orders of a participant, as the exchange answers them."""
        return self.trader(user).get("/v1/trading/orders/open").json()["orders"]

    def retail_enter(
        self,
        instrument: Instrument,
        intent: str,
        cents: int,
        contracts: float = 1,
        *,
        index: int = 0,
        **fields: object,
    ) -> Response:
        """The answer to a limit order of a retail customer."""
        body = retail_order(instrument, intent, cents, contracts, **fields)
        return self.customer(index).post("/v1/orders", json=body)

    def retail_place(
        self,
        instrument: Instrument,
        intent: str,
        cents: int,
        contracts: float = 1,
        *,
        index: int = 0,
        **fields: object,
    ) -> str:
        """The id of an order of a retail customer that was answered with 200."""
        answer = self.retail_enter(instrument, intent, cents, contracts, index=index, **fields)
        assert answer.status == 200, answer
        return str(answer.json()["id"])

    def retail_read(self, order_id: str, index: int = 0) -> dict[str, Any]:
        """An order of a retail customer, as the retail API reads it."""
        return dict(self.customer(index).get(f"/v1/order/{order_id}").json()["order"])

    # ---- reads

    def book(self, instrument: Instrument | str, **params: object) -> dict[str, Any]:
        """The order book of an instrument, as the exchange answers it."""
        answer = self.partner.get(f"/v1/orderbook/{_symbol(instrument)}", params=params)
        assert answer.status == 200, answer
        return dict(answer.json())

    def reference(self, instrument: Instrument | str) -> dict[str, Any]:
        """An instrument, as reference data have it."""
        answer = self.partner.get(f"/v1/refdata/instruments/{_symbol(instrument)}")
        return dict(answer.json()["instrument"])

    def search(self, records: str, user: int = 0, **filters: object) -> list[dict[str, Any]]:
        """The first page of a participant's orders, executions or trades in the reports."""
        answer = self.trader(user).post(f"/v1/report/{records}/search", json=filters)
        assert answer.status == 200, answer
        return list(answer.json().get(_ROWS[records], ()))

    def reported(self, order_id: str, user: int = 0) -> dict[str, Any]:
        """An order of a participant, as the reports have it."""
        return dict(self.trader(user).get(f"/v1/report/orders/{order_id}").json()["order"])

    # ---- money

    def cash(self, user: int = 0) -> float:
        """Dollars of a participant, from the ledger itself."""
        return self.trading.ledger.balance(self.account(user)) / CASH_SCALE

    def net(self, instrument: Instrument, user: int = 0) -> int:
        """The net position of a participant, in units of quantity."""
        return self.trading.positions.net(self.account(user), instrument.symbol)

    def fund(self, user: int, amount: str, **how: Any) -> dict[str, Any]:
        """Move dollars in or out of a participant's account; the transaction."""
        value = self.operate("account.fund", self.account(user), amount=amount, **how).value
        assert isinstance(value, dict)
        return value

    def balance(self, user: int = 0) -> dict[str, Any]:
        """The balance of a participant, as the exchange answers it."""
        asked = {"name": self.account(user), "currency": "USD"}
        return dict(self.trader(user).post("/v1/positions/balance", json=asked).json())

    def positions(self, user: int = 0, **filters: object) -> list[dict[str, Any]]:
        """The positions of a participant, as the exchange answers them."""
        asked = {"name": self.account(user), **filters}
        return list(self.trader(user).get("/v1/positions", params=asked).json()["positions"])

    def ledger(self, of: str, user: int = 0, **filters: object) -> list[dict[str, Any]]:
        """The first page of a participant's ledger of "cash" or "positions"."""
        path = {"cash": "/v1/funding/balance-ledger", "positions": "/v1/positions/ledger"}[of]
        answer = self.trader(user).get(path, params={"account": self.account(user), **filters})
        assert answer.status == 200, answer
        return list(answer.json()["entries"])

    def transfer(self, amount: str, key: str = "k", to: str = "") -> CashMovement:
        """A transfer of the partner to a participant's account, or to another one (gRPC)."""
        request = transfer(to or self.account(), amount, key)
        moved = self.rpc_partner.call("CashMovementService.CreateCashMovement", request)
        assert isinstance(moved.cash_movement, CashMovement)
        return moved.cash_movement

    def retail_balance(self, index: int = 0) -> dict[str, Any]:
        """The balance of a retail customer."""
        (row,) = self.customer(index).get("/v1/account/balances").json()["balances"]
        return dict(row)

    def activities(self, kind: str, index: int = 0) -> list[dict[str, Any]]:
        """A retail customer's activities of a kind."""
        params = {"types": f"ACTIVITY_TYPE_{kind}"}
        answer = self.customer(index).get("/v1/portfolio/activities", params=params)
        return list(answer.json()["activities"])

    # ---- verification

    def start_kyc(self, **fields: Any) -> Response:
        """The answer to the partner's start of the verification of a person."""
        return self.partner.post("/v1/kyc/start", json=PERSON | fields)

    def kyc_status(self, external_id: str = str(PERSON["external_id"])) -> dict[str, Any]:
        """The verification of a person, as the partner reads it."""
        asked = {"external_id": external_id}
        return dict(self.partner.get("/v1/kyc/status", params=asked).json())

    def register_webhook(self, url: str = "https://127.0.0.1:9/hook", **fields: str) -> Response:
        """The answer to the registration of the partner's webhook."""
        return self.partner.post("/v1/kyc/webhook", json={"webhook_url": url, **fields})

    # ---- the operator

    def operate(self, action: str, subject: str = "", /, **body: Any) -> Outcome:
        """The outcome of an operator's action; its effects are delivered."""
        return self.absorb(self.simulation.control(action, subject, body))

    def place_as(
        self, actor: str, instrument: Instrument | str, side: str, price: str, qty: object = 1
    ) -> Outcome:
        """An order that the operator places as an actor of the run, in dollars and contracts."""
        terms = {"as": actor, "symbol": _symbol(instrument), "side": side}
        return self.operate("order.place", **terms, price=price, qty=str(qty))

    def assume(self, name: str, value: object) -> None:
        """Set an assumption."""
        self.operate("assumption.set", name, value=value)

    def quirk(self, name: str, value: object) -> None:
        """Set how often a quirk shows."""
        self.operate("quirk.set", name, value=value)

    def preset(self, name: str) -> None:
        """Set every quirk and assumption of a preset."""
        self.operate("preset.set", name=name)

    def move(self, instrument: Instrument | str, *states: str) -> None:
        """Move an instrument through states."""
        for state in states:
            self.operate("instrument.state", _symbol(instrument), state=state)

    def settle(self, instrument: Instrument | str, price: str = "1") -> Outcome:
        """Settle an instrument at a price in dollars."""
        return self.operate("instrument.settle", _symbol(instrument), price=price)


def _symbol(instrument: Instrument | str) -> str:
    return instrument if isinstance(instrument, str) else instrument.symbol
