"""A small exchange made by hand: two firms, three participants, two instruments, and callers for
them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from sim.api.exchange.orders import insert_order
from sim.api.pipeline.authentication import Caller
from sim.api.pipeline.handler import AnyHandler
from sim.contract.contract import load_contract
from sim.contract.messages import Message
from sim.contract.messages import exchange_v1 as wire
from sim.core.accounts.ledger import CLEARING
from sim.core.exchange import Exchange
from sim.core.identity.firms import Firm, User
from sim.core.model.enums import LedgerEntryType, OrderType, Side, TimeInForce
from sim.core.model.instrument import Instrument
from sim.core.model.quantities import DOLLAR
from sim.kernel.instants import days, parse_instant
from sim.world.reference.reference import Reference

NOW = parse_instant("2026-09-08T18:00:00Z")
WHOLE, FINE = "aec-nba-bos-nyk", "aec-crypto-btc-up"
ANN, BOB, EVE = (
    f"firms/{firm}/users/{user}"
    for firm, user in (("acme", "ann"), ("acme", "bob"), ("other", "eve"))
)
ANN_ACCOUNT, BOB_ACCOUNT = (f"firms/acme-clear/accounts/{user}" for user in ("ann", "bob"))
EVE_ACCOUNT = "firms/other-clear/accounts/eve"
POOL = "firms/acme-clear/accounts/pool"


class Party(NamedTuple):
    """A caller of the small exchange, which calls handlers without a surface between."""

    exchange: Exchange
    caller: Caller

    def ask(self, handler: AnyHandler, **fields: object) -> Any:
        """The answer of a handler to a request with these fields."""
        request = load_contract().by_name(handler.operations[0]).request(**fields)
        return self.send(handler, request)

    def send(self, handler: AnyHandler, request: Message) -> Any:
        """The answer of a handler to a request."""
        return handler(self.exchange, self.caller, request)

    def buy(self, price: int, qty: int, symbol: str = WHOLE, **more: object) -> str:
        """The id of a buy order that rests until canceled."""
        return self.send(insert_order, limit(Side.BUY, price, qty, symbol, **more)).order_id

    def sell(self, price: int, qty: int, symbol: str = WHOLE, **more: object) -> str:
        """The id of a sell order that rests until canceled."""
        return self.send(insert_order, limit(Side.SELL, price, qty, symbol, **more)).order_id


class SmallExchange(Exchange):
    """`acme` is the firm of `ann` and `bob`; `eve` is the participant of another one."""

    @property
    def acme(self) -> Party:
        return Party(self, caller(self, None))

    @property
    def ann(self) -> Party:
        return Party(self, caller(self))

    @property
    def bob(self) -> Party:
        return Party(self, caller(self, BOB))

    @property
    def eve(self) -> Party:
        return Party(self, eve(self))


def small_exchange(balance: int = 1000) -> SmallExchange:
    """Everybody has `balance` dollars, the pool of acme has 5000."""
    exchange = SmallExchange(seed=1, now=NOW)
    exchange.reference = Reference(empty=True)
    dates = {
        "created": NOW - days(30),
        "start": NOW - days(20),
        "expiration": NOW + days(20),
        "termination": NOW + days(27),
    }
    exchange.trading.listings.list_instrument(
        Instrument(
            symbol=WHOLE,
            product_id="aec",
            category="sports",
            series="nba",
            market_type="moneyline",
            **dates,
        )
    )
    exchange.trading.listings.list_instrument(
        Instrument(
            symbol=FINE,
            product_id="aec",
            category="crypto",
            price_scale=1000,
            qty_scale=100,
            tick=5,
            min_qty=10,
            price_low=10,
            price_high=990,
            **dates,
        )
    )
    exchange.firms.add_firm(
        Firm(
            name="firms/acme",
            display_name="Acme",
            client_id="acme-client",
            clearing_firm="firms/acme-clear",
            clearing_account=POOL,
            users=[
                User(name=ANN, account=ANN_ACCOUNT, display_name="Ann"),
                User(name=BOB, account=BOB_ACCOUNT, display_name="Bob"),
            ],
        )
    )
    exchange.firms.add_firm(
        Firm(
            name="firms/other",
            client_id="other-client",
            users=[User(name=EVE, account=EVE_ACCOUNT)],
        )
    )
    for account in (ANN_ACCOUNT, BOB_ACCOUNT, EVE_ACCOUNT):
        exchange.trading.open_account(account)
        exchange.trading.move_cash(
            account, balance * DOLLAR, LedgerEntryType.DEPOSIT, "Opening balance"
        )
    exchange.trading.open_account(POOL, kind=CLEARING)
    exchange.trading.move_cash(POOL, 5000 * DOLLAR, LedgerEntryType.DEPOSIT, "Opening balance")
    return exchange


def caller(exchange: Exchange, participant: str | None = ANN, firm: str = "firms/acme") -> Caller:
    """A caller of a firm, acting for a participant when one is named."""
    existing = exchange.firms.require(firm)
    user = exchange.firms.user(participant) if participant else None
    return Caller(
        plane="exchange",
        firm=firm,
        client_id=existing.client_id,
        participant=user.name if user else None,
        account=user.account if user else None,
        accounts=exchange.firms.accounts_of(existing),
    )


def eve(exchange: Exchange) -> Caller:
    """The participant of the other firm."""
    return caller(exchange, EVE, "firms/other")


def limit(
    side: Side, price: int, qty: int, symbol: str = WHOLE, **more: object
) -> wire.InsertOrderRequest:
    """A limit order that rests until canceled."""
    request = wire.InsertOrderRequest(
        type=OrderType.LIMIT,
        side=side,
        price=price,
        order_qty=qty,
        symbol=symbol,
        time_in_force=TimeInForce.GOOD_TILL_CANCEL,
    )
    for name, value in more.items():
        setattr(request, name, value)
    return request


def advance(exchange: Exchange, to: int) -> None:
    """Let time pass; everything due fires."""
    while (timer := exchange.ctx.timers.pop_due(to)) is not None:
        exchange.ctx.now = timer.due
        exchange.timers[timer.kind](timer)
    exchange.ctx.now = to
