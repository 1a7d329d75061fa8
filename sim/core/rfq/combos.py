"""Combos: instruments over two or more legs, listed on first request (§4.2).

A combo pays if every leg wins, so the settlements of its legs decide its own. The same legs in any
order are the same combo for every account. Its terms follow from its legs: it expires with the
last of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from hashlib import blake2b

from msgspec import Struct, convert, field

from sim.core.catalogue.assumptions import COMBO_LEGS, COMBO_PAYOUT, COMBOS_PER_WEEK
from sim.core.lifecycle.states import OVER_STATES
from sim.core.model.context import Context
from sim.core.model.enums import BUY, Side
from sim.core.model.events import Settled
from sim.core.model.instrument import Instrument
from sim.core.model.instruments import Instruments
from sim.core.model.quantities import divide_half_even
from sim.core.model.refusals import InvalidRequest, OrderRefused, RateLimited
from sim.core.trading.trading import Trading
from sim.kernel.instants import DAY, Instant

LEGS_MIN = 2
WEEK = 7 * DAY
_MONDAY = 4 * DAY  # 5 January 1970, relative to the epoch
PRICE_SCALE, QTY_SCALE = 1000, 100
PREFIX = "caoc-"


class Leg(Struct, frozen=True, order=True):
    """One market and the side taken in it: BUY wins at a settlement of one dollar, SELL at zero."""

    symbol: str
    side: Side


class Combo(Struct, frozen=True, kw_only=True):
    """A combo, with its legs by symbol. `creator` is the account that first requested it."""

    symbol: str
    legs: tuple[Leg, ...]
    created: Instant
    creator: str


class CombosState(Struct):
    """Combos by symbol, in order of creation."""

    combos: dict[str, Combo] = field(default_factory=dict)


class Combos:
    """All combos."""

    def __init__(self, ctx: Context, instruments: Instruments, trading: Trading) -> None:
        self._ctx = ctx
        self._instruments = instruments
        self._trading = trading
        self._index(CombosState())

    def get(self, symbol: str) -> Combo | None:
        """Return the combo with a symbol, or None."""
        return self._state.combos.get(symbol)

    def all(self) -> list[Combo]:
        """Return every combo, oldest first."""
        return list(self._state.combos.values())

    def create(self, creator: str, legs: list[Leg]) -> Combo:
        """Return the combo of the given legs, and list it if it is new.

        Refuses legs that cannot be combined or no longer trade, and a new combo beyond the
        account's weekly limit.
        """
        ordered = tuple(sorted(legs))
        self._check(ordered)
        symbol = symbol_of(ordered)
        existing = self._state.combos.get(symbol)
        if existing is not None:
            return existing
        for leg in ordered:
            if self._trading.state(leg.symbol) in OVER_STATES:
                raise OrderRefused(
                    f"{leg.symbol} no longer trades", rule="L13", remedy="remove the leg"
                )
        self._check_weekly_limit(creator)
        combo = Combo(symbol=symbol, legs=ordered, created=self._ctx.now, creator=creator)
        for leg in ordered:
            self._trading.lifecycle.materialise(leg.symbol)  # the combo depends on its settlement
        self._trading.listings.list_instrument(self._terms(combo))
        self._add(combo)
        return combo

    def _check(self, legs: tuple[Leg, ...]) -> None:
        most = self._ctx.assumptions.number(COMBO_LEGS)
        if not LEGS_MIN <= len(legs) <= most:
            text = f"legs: {LEGS_MIN} to {most}, not {len(legs)}"
            raise InvalidRequest(text, rule="L13")
        if len({leg.symbol for leg in legs}) < len(legs):
            raise InvalidRequest("legs: each market may occur once only", rule="L13")
        for leg in legs:
            if leg.symbol in self._state.combos:
                raise InvalidRequest(f"legs: {leg.symbol} is itself a combo", rule="L13")
            self._instruments.require(leg.symbol)

    def _check_weekly_limit(self, creator: str) -> None:
        allowed = self._ctx.assumptions.number(COMBOS_PER_WEEK)
        week = self._ctx.now - (self._ctx.now - _MONDAY) % WEEK
        combos = self._state.combos.values()
        new = sum(combo.creator == creator and combo.created >= week for combo in combos)
        if new >= allowed:
            raise RateLimited(
                f"at most {allowed} new combos per week",
                retry_after=week + WEEK - self._ctx.now,
                rung="endpoint",
                rule="L13",
            )

    def _terms(self, combo: Combo) -> Instrument:
        legs = [self._instruments.require(leg.symbol) for leg in combo.legs]
        texts = (f"{leg.symbol} {'yes' if leg.side is BUY else 'no'}" for leg in combo.legs)
        return Instrument(
            symbol=combo.symbol,
            description=" and ".join(texts),
            product_id="combo",
            price_scale=PRICE_SCALE,
            qty_scale=QTY_SCALE,
            price_high=PRICE_SCALE - 1,
            created=combo.created,
            start=combo.created,
            fee_class="combo",
            market_type="combo",
            category=legs[0].category,
            expiration=_last([leg.expiration for leg in legs]),
            termination=_last([leg.termination for leg in legs]),
        )

    def has_leg(self, symbol: str) -> bool:
        """Return whether an instrument is a leg of any combo."""
        return symbol in self._by_leg

    def settled(self, event: Settled) -> bool:
        """Settle or correct the combos that a leg's settlement decides.

        Return whether there were any.
        """
        if event.preliminary:
            return False
        any_settled = False
        for symbol in self._by_leg.get(event.symbol, ()):
            price = self._settlement_price(self._state.combos[symbol])
            existing = self._trading.settlements.get(symbol)
            if price is not None and (existing is None or existing.price != price):
                self._trading.listings.settle(symbol, price, text="Combo")
                any_settled = True
        return any_settled

    def _settlement_price(self, combo: Combo) -> int | None:
        """Return the settlement price, or None while it depends on a leg without one.

        One lost leg is enough to decide the combo.
        """
        value, open_legs = Fraction(1), False
        for leg in combo.legs:
            settled = self._trading.settlements.get(leg.symbol)
            if settled is None or settled.preliminary:
                open_legs = True
                continue
            paid = Fraction(settled.price, self._instruments.require(leg.symbol).price_scale)
            value *= paid if leg.side is BUY else 1 - paid
        if value and open_legs:
            return None
        if value != 1 and self._ctx.assumptions.text(COMBO_PAYOUT) == "all_or_nothing":
            return 0
        return divide_half_even(value.numerator * PRICE_SCALE, value.denominator)

    def save(self) -> CombosState:
        """Return every combo."""
        return self._state

    def load(self, state: object) -> None:
        """Restore saved combos. Their instruments are saved with all others."""
        self._index(convert(state, CombosState))

    def _index(self, state: CombosState) -> None:
        self._state = state
        self._by_leg: dict[str, list[str]] = {}
        for combo in state.combos.values():
            self._add(combo)

    def _add(self, combo: Combo) -> None:
        self._state.combos[combo.symbol] = combo
        for leg in combo.legs:
            self._by_leg.setdefault(leg.symbol, []).append(combo.symbol)


def symbol_of(legs: Iterable[Leg]) -> str:
    """Return the symbol for a combo of some legs, in any order."""
    text = "|".join(f"{leg.symbol}:{leg.side}" for leg in sorted(legs))
    return PREFIX + blake2b(text.encode(), digest_size=8, person=b"sim-combo").hexdigest()


def _last(dates: list[Instant]) -> Instant:
    """Return the latest of some dates, where 0 means never and counts as the latest."""
    return max(dates) if all(dates) else 0
