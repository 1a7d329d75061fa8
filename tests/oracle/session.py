"""Random sessions: a small exchange, moves that reach its rare states, and the law after each."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from random import Random
from typing import Any

from sim.contract.messages import exchange_v1 as wire
from sim.core.invariants import violations
from sim.core.model.refusals import Refusal
from sim.evidence.audit import Audit
from sim.kernel.instants import format_instant
from sim.run.client.client import Http, Rpc
from tests.kit import begin

NAMES = ("ann", "bob", "cat")
SYMBOLS = ("plain", "rough", "fine", "thin", "eighths", "daily")
# Prices within a band of the middle trade; ticks, lots and bounds differ by instrument.
WORLD = """
name: session
limits: {exchange_rest: "off"}
maintenance: []
quirks: {stream_duplicates: never}
clock: {start: 2026-10-06T14:00:00Z}
world:
  base: empty
  instruments:
    - {symbol: plain, tick_size: "0.01", state: OPEN}
    - {symbol: eighths, tick_size: "0.125", price_scale: 8, state: OPEN}
    - symbol: daily
      expiration: 2026-10-08T06:00:00Z
      schedule:
        - {start: "08:00", length: 1h, state: PREOPEN}
        - {start: "09:00", length: 9h}
    - {symbol: rough, tick_size: "0.02", minimum_trade_qty: 3, state: OPEN,
       price_limit: {low: "0.1", high: "0.9"}, order_size_limit: {low: 6, high: 200}}
    - {symbol: fine, tick_size: "0.005", price_scale: 1000, fractional_qty_scale: 100,
       minimum_trade_qty: 10, state: OPEN, fee_class: combo, market_type: totals}
    - {symbol: thin, tick_size: "0.0025", price_scale: 10000, fractional_qty_scale: 10, state: OPEN}
  firms:
    - name: firms/atlas
      key: atlas
      client_id: atlas-9f2c7b1e
      users:
        - {name: ann, account: firms/atlas/accounts/ann, balance: "CASH"}
        - {name: bob, account: firms/atlas/accounts/bob, balance: "CASH"}
        - {name: cat, account: firms/atlas/accounts/cat, balance: "40"}
  api_keys:
    - {key_id: 7a1f0f5e-0000-4000-a000-000000000000, account: firms/atlas/accounts/ann}
    - {key_id: 7a1f0f5e-0000-4000-a000-000000000001, account: firms/atlas/accounts/bob}
    - {key_id: 7a1f0f5e-0000-4000-a000-000000000002, account: firms/atlas/accounts/cat}
"""


class Session:
    """A run that the law follows, and the draws of its moves."""

    def __init__(self, seed: int, more: str = "", cash: str = "100000") -> None:
        self.rng = Random(seed)
        self.desk = begin(WORLD.replace("CASH", cash) + more, seed=seed, limits=False)
        self.audit = Audit(self.desk.simulation)
        self.traders: list[Http] = [self.desk.trader(number) for number in range(3)]
        self.customers: list[Http] = [self.desk.customer(number) for number in range(3)]
        self.placed: list[tuple[int, str, str]] = []  # who, symbol, id

    def play(self, count: int, *moves: tuple[Callable[[], object], float]) -> None:
        """Make random moves, by weight; the law agrees with each."""
        for move in self.rng.choices(
            [move for move, _ in moves], [weight for _, weight in moves], k=count
        ):
            move()
            disagreements = [str(each) for each in self.audit.take()]
            assert disagreements == [], move
            assert violations(self.desk.trading) == [], move

    def choice(self, *values: Any) -> Any:
        """Return one of a few values."""
        return self.rng.choice(values)

    def scale(self, symbol: str) -> tuple[int, int]:
        """Return the scales of an instrument's prices and quantities."""
        terms = self.desk.instrument(symbol)
        return terms.price_scale, terms.qty_scale

    def wait(self) -> None:
        """Let time pass."""
        self.desk.advance(self.choice("1ns", "1s", "1s", "5s", "40s", "5m"))

    def next_day(self) -> None:
        """Let time pass to the edge of a trade date, or over it."""
        self.desk.advance(self.choice("1h", "9h", "10h", "24h"))

    # ---- orders of participants

    def enter(self) -> None:
        """Send, or preview, an order with the terms of a theme and others changed."""
        user, body = self.rng.randrange(3), self.random_order()
        if self.rng.random() < 0.2:
            self.traders[user].post("/v1/trading/orders/preview", json={"request": body})
            return
        answer = self.traders[user].post("/v1/trading/orders", json=body)
        if answer.status == 200:
            self.placed.append((user, body["symbol"], answer.json()["orderId"]))

    def random_order(self) -> dict[str, Any]:
        """Return an order, acceptable but for the terms of a theme and up to three others."""
        rng, symbol = self.rng, self.choice(*SYMBOLS)
        body = {
            "symbol": symbol,
            "side": self.choice("SIDE_BUY", "SIDE_SELL"),
            "type": "ORDER_TYPE_LIMIT",
            "timeInForce": f"TIME_IN_FORCE_{self.choice(*TIFS)}",
            "orderQty": self.choice(6, 15, 60, 90),
            "price": self.choice(44, 46, 48, 50, 50, 52, 54, 56),
        }
        if rng.random() < 0.5:
            body |= {name: rng.choice(values) for name, values in rng.choice(THEMES).items()}
        for name in rng.sample(sorted(TERMS), rng.choice((0, 0, 0, 1, 2))):
            body[name] = rng.choice(TERMS[name])
        return self.scaled(body, symbol)

    def scaled(self, body: dict[str, Any], symbol: str) -> dict[str, Any]:
        """Return a body whose prices are in cents, and quantities in contracts, as sent."""
        price, qty = self.scale(symbol)
        units = {"price": price, "stopPrice": price, "cashOrderQty": price}
        units |= {"orderQty": qty * 100, "minQty": qty * 100}
        sent = dict(body)
        for name, unit in units.items():
            if name in body:
                sent[name] = str(int(body[name] * unit / 100))
        if body.get("goodTillTime") is not None:
            sent["goodTillTime"] = format_instant(self.desk.now + body["goodTillTime"])
        return sent

    def trade(self) -> None:
        """Send a limit order that is likely to trade."""
        user, symbol = self.rng.randrange(3), self.choice(*SYMBOLS)
        body = {
            "symbol": symbol,
            "side": self.choice("SIDE_BUY", "SIDE_SELL"),
            "type": "ORDER_TYPE_LIMIT",
            "timeInForce": f"TIME_IN_FORCE_{self.choice(*TIFS)}",
            "orderQty": self.choice(6, 8, 6.7, 20),
            "price": self.choice(48, 50, 50, 52, 1, 98),
        }
        answer = self.traders[user].post("/v1/trading/orders", json=self.scaled(body, symbol))
        if answer.status == 200:
            self.placed.append((user, symbol, answer.json()["orderId"]))

    def replace(self) -> None:
        """Change up to three terms of an order, mostly of one that is open."""
        if not self.placed:
            return
        user, symbol, order_id = self.rng.choice(self.placed[-12:])
        names = self.rng.sample(sorted(CHANGES), self.rng.randint(0, 3))
        body = {name: self.rng.choice(CHANGES[name]) for name in names}
        sent = {"orderId": order_id, **self.scaled(body, symbol)}
        if self.rng.random() < 0.8:
            sent["symbol"] = symbol
        self.traders[user].post("/v1/trading/orders/replace", json=sent)

    def cancel(self) -> None:
        """Cancel an order, perhaps one that has ended."""
        if self.placed:
            user, symbol, order_id = self.rng.choice(self.placed[-20:])
            if self.rng.random() < 0.1:
                user, symbol = self.rng.randrange(3), self.choice(*SYMBOLS)
            body = {"orderId": order_id, "symbol": symbol}
            self.traders[user].post("/v1/trading/orders/cancel", json=body)

    # ---- operators

    def change_state(self) -> None:
        """Move an instrument to a state, or let it open again."""
        state = self.choice("OPEN", "OPEN", "PREOPEN", "HALTED", "CLOSED", "SUSPENDED", "AUCTION")
        state = state.replace("AUCTION", "MATCH_AND_CLOSE_AUCTION")
        self.control("instrument.state", self.choice(*SYMBOLS), state=state)

    def reopen(self) -> None:
        """Open every instrument."""
        for symbol in SYMBOLS:
            self.control("instrument.state", symbol, state="OPEN")

    def assume(self) -> None:
        """Change an assumption, or go back to its default."""
        name = self.choice(*ASSUMPTIONS)
        self.control("assumption.set", name, value=self.choice(*ASSUMPTIONS[name]))

    def control(self, action: str, subject: str = "", **arguments: Any) -> None:
        """Make a call of the control plane, which may be refused."""
        with suppress(Refusal):
            self.desk.simulation.control(action, subject, arguments)

    def rpc(self, user: int | None = None) -> Rpc:
        """Return gRPC as the partner, or as a participant."""
        return self.desk.rpc_partner if user is None else self.desk.rpc_trader(user)


TIFS = (*("GOOD_TILL_CANCEL",) * 4, "DAY", "IMMEDIATE_OR_CANCEL", "FILL_OR_KILL")
_SMP = tuple(
    f"SELF_MATCH_PREVENTION_INSTRUCTION_{name}"
    for name in ("REJECT_AGGRESSOR", "CANCEL_RESTING", "REMOVE_BOTH")
)
# Prices in cents, quantities in contracts, instants from now.
TERMS: dict[str, tuple[Any, ...]] = {
    "side": ("SIDE_UNDEFINED", "SIDE_BUY"),
    "type": tuple(kind.name for kind in wire.OrderType),
    "timeInForce": tuple(tif.name for tif in wire.TimeInForce),
    "orderQty": (-1, 0, 0.1, 1, 2, 3, 5, 6, 7, 200, 201, 10**12, 10**12 + 1),
    "price": (-1, 0, 1, 8, 10, 49, 50.5, 50.1, 90, 92, 99, 100),
    "stopPrice": (-1, 1, 46, 50, 51, 52, 92),
    "minQty": (-1, 1, 15, 61, 10**12, 10**12 + 1),
    "cashOrderQty": (-1, 44, 156, 480, 9000),
    "allOrNone": (True,),
    "participateDontInitiate": (True,),
    "strictLimit": (True,),
    "bestLimit": (True,),
    "immediatelyExecutableLimit": (True,),
    "ignorePriceValidityChecks": (True,),
    "selfMatchPreventionId": ("same", "other"),
    "selfMatchPreventionInstruction": _SMP,
    "clordId": ("first", "second"),
    "goodTillTime": (-1, 0, 1, 5 * 10**9),
    "symbol": ("", "unknown"),
}
# Terms that interact.
THEMES: tuple[dict[str, tuple[Any, ...]], ...] = (
    {"selfMatchPreventionId": ("same",), "selfMatchPreventionInstruction": _SMP},
    {
        "type": ("ORDER_TYPE_STOP", "ORDER_TYPE_STOP_LIMIT"),
        "stopPrice": (46, 48, 50, 52, 54),
        "price": (0, 46, 50, 54),
    },
    {
        "type": ("ORDER_TYPE_MARKET_TO_LIMIT",),
        "price": (0, 0, 0, 46, 54),
        "ignorePriceValidityChecks": (False, True),
        "selfMatchPreventionId": ("", "same"),
    },
    {
        "type": ("ORDER_TYPE_MARKET_TO_LIMIT", "ORDER_TYPE_LIMIT"),
        "cashOrderQty": (44, 45, 52, 156, 480, 1560, 9000),
        "orderQty": (0,),
    },
    {"participateDontInitiate": (True,), "price": (44, 50, 52, 54)},
    {"bestLimit": (True, False), "immediatelyExecutableLimit": (True, False), "price": (0,)},
    {"timeInForce": ("TIME_IN_FORCE_GOOD_TILL_TIME",), "goodTillTime": (1, 10**9, 5 * 10**9)},
    {"minQty": (3, 15), "allOrNone": (True, False)},
)
CHANGES: dict[str, tuple[Any, ...]] = {
    "orderQty": (-1, 2, 5, 6, 7, 15, 59, 60, 61, 150, 201, 10**12 + 1),
    "price": (-1, 0, 8, 44, 46, 48, 50, 51, 52, 54, 56, 92),
    "stopPrice": (-1, 50, 52, 54, 92),
    "timeInForce": tuple(tif.name for tif in wire.TimeInForce),
    "goodTillTime": (-1, 0, 1, 5 * 10**9),
    "minQty": (-1, 1, 10**12, 10**12 + 1),
    "participateDontInitiate": (True, False),
    "allOrNone": (True, False),
    "strictLimit": (True,),
    "bestLimit": (True,),
    "immediatelyExecutableLimit": (True,),
}
# Assumptions about orders, the default last.
ASSUMPTIONS: dict[str, tuple[Any, ...]] = {
    "lot.step_is_min_qty": (True, False),
    "cash_qty.allow_limit": (False, True),
    "risk.require_reference_price": (True, False),
    "price_band.reject_reason": ("PRICE_OUT_OF_BOUNDS", "EXCHANGE_OPTION", "by_plane"),
    "strict_limit.mode": ("expire", "rest"),
    "auction.tiebreak": ("highest", "lowest", "reference"),
    "risk.auto_cancel_order": ("oldest_first", "newest_first"),
    "engine.latency": ("150ms", "6s", "0s"),
    "fees.taker_theta": (0, 300, 695),
    "fees.maker_theta": (0, 40, 125),
}
