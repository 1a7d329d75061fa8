"""Entries of a scenario's `world`: instruments, assets, events, incentives, orders, maintenance.

Firms, accounts and API keys are in `party_entries.py`, recurring markets in `recurring_entries.py`.
Prices and sizes are decimal text here; `instrument_terms.py` and `world/` convert them to integers.

None means that the file does not have the key: an entry that names something of the default world
changes only the keys that it has.
"""

from __future__ import annotations

import re
from typing import Annotated

from msgspec import Struct

from sim.core.model.collateral import EventOutcome
from sim.core.model.enums import InstrumentState, OrderType, Side, TimeInForce
from sim.kernel.instants import HOUR, MINUTE, Instant, Span
from sim.world.format.fees_entries import SHARE
from sim.world.format.participant_entries import LEVEL_SIZES
from sim.world.format.scalar_types import (
    AMOUNT,
    COUNT,
    DATE,
    DECIMAL,
    INDEX_PRICE_TEXT,
    INSTANT,
    MONEY_TEXT,
    ORDINAL,
    POSITIVE,
    SPAN,
    WORLD_INSTANT,
    WORLD_MOMENT,
)
from sim.world.format.struct_types import Alias
from sim.world.format.value_types import Choice, Text, choice_of

STATES = choice_of(InstrumentState, "INSTRUMENT_STATE_")
OUTCOMES = Choice({outcome.name.lower(): outcome for outcome in EventOutcome}, "EVENT_OUTCOME_")
SIDES = Choice({"buy": Side.BUY, "sell": Side.SELL}, "SIDE_")
ORDER_TYPES = Choice(
    {
        "limit": OrderType.LIMIT,
        "market": OrderType.MARKET_TO_LIMIT,
        "market_to_limit": OrderType.MARKET_TO_LIMIT,
        "stop": OrderType.STOP,
        "stop_limit": OrderType.STOP_LIMIT,
    },
    "ORDER_TYPE_",
)
TIMES_IN_FORCE = Choice(
    {
        "gtc": TimeInForce.GOOD_TILL_CANCEL,
        "day": TimeInForce.DAY,
        "ioc": TimeInForce.IMMEDIATE_OR_CANCEL,
        "fok": TimeInForce.FILL_OR_KILL,
        "gtt": TimeInForce.GOOD_TILL_TIME,
        "good_till_cancel": TimeInForce.GOOD_TILL_CANCEL,
        "immediate_or_cancel": TimeInForce.IMMEDIATE_OR_CANCEL,
        "fill_or_kill": TimeInForce.FILL_OR_KILL,
        "good_till_time": TimeInForce.GOOD_TILL_TIME,
        "good_till_date": TimeInForce.GOOD_TILL_TIME,
    },
    "TIME_IN_FORCE_",
)
_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
WEEKDAYS = Choice({name: day for day, name in enumerate(_DAYS)})
_TIME_OF_DAY = re.compile(r"([0-9]+):([0-9]+)", re.ASCII)


def _time_of_day(text: str) -> Span:
    time = _TIME_OF_DAY.fullmatch(text)
    if time is None or int(time[1]) >= 24 or int(time[2]) >= 60:
        raise ValueError(f"write hours and minutes, not {text[:40]!r}")
    return int(time[1]) * HOUR + int(time[2]) * MINUTE


TIME_OF_DAY = Text(
    'an Eastern time of day such as "17:00"',
    _time_of_day,
    lambda span: f"{span // HOUR:02d}:{span // MINUTE % 60:02d}",
    {"type": "string", "pattern": r"^\d{1,2}:\d{2}$"},
)


class Limits(Struct, frozen=True):
    """A lower and an upper bound, either of which may be left out."""

    low: Annotated[str | None, DECIMAL] = None
    """lower bound"""
    high: Annotated[str | None, DECIMAL] = None
    """upper bound"""


class SegmentEntry(Struct, frozen=True, kw_only=True):
    """A weekly segment of an instrument's trading schedule, in Eastern Time."""

    days: tuple[Annotated[int, WEEKDAYS], ...] = tuple(range(7))
    """weekdays; every day by default"""
    start: Annotated[Span, TIME_OF_DAY] = 0
    """time of day at which the segment begins; 00:00 by default"""
    length: Annotated[Span, SPAN]
    """length of the segment"""
    state: Annotated[InstrumentState, STATES] = InstrumentState.OPEN
    """state during the segment; OPEN by default"""
    hide_market_data: bool = False
    """true: publish empty books during the segment"""
    expire_all_orders: bool = False
    """true: expire all resting orders when the segment begins"""


class InstrumentEntry(Struct, frozen=True, kw_only=True):
    """An instrument to add or change. `POST /_sim/v1/instruments` takes the same keys."""

    symbol: str
    """symbol on the exchange, and slug of the market on the gateway"""
    state: Annotated[InstrumentState | None, STATES] = None
    """state at the start of the scenario; by default it follows from the dates and schedule"""
    description: str | None = None
    """description, free text"""
    question: str | None = None
    """question of the market on the gateway"""
    product_id: str | None = None
    """product; by default the symbol up to its first `-`"""
    price_scale: Annotated[int | None, ORDINAL] = None
    """scaled integer prices are divided by this number; by default the smallest scale that can
    represent the tick"""
    fractional_qty_scale: Annotated[int | None, ORDINAL] = None
    """scaled integer quantities are divided by this number; 1 by default"""
    tick_size: Annotated[str | None, POSITIVE] = None
    """tick in dollars; 0.01 by default"""
    minimum_trade_qty: Annotated[int | None, ORDINAL] = None
    """minimum quantity of an order, as a scaled integer; 1 by default"""
    price_limit: Limits | None = None
    """price band in dollars; by default from one tick above 0 to one tick below 1"""
    order_size_limit: Limits | None = None
    """minimum and maximum size of an order in contracts"""
    created: Annotated[Instant | None, WORLD_INSTANT] = None
    """when the instrument was listed"""
    start: Annotated[Instant | None, WORLD_INSTANT] = None
    """when trading starts"""
    expiration: Annotated[Instant | None, WORLD_INSTANT] = None
    """when it expires; 30 days after `start` by default"""
    termination: Annotated[Instant | None, WORLD_INSTANT] = None
    """when it terminates; 7 days after `expiration` by default"""
    schedule: tuple[SegmentEntry, ...] | None = None
    """weekly trading schedule; always open by default"""
    event: str | None = None
    """slug of the event that the market belongs to; by default a new event"""
    fee_class: str | None = None
    """fee class, which selects rows of the fee schedule"""
    market_type: str | None = None
    """market type: moneyline, spreads, totals, props, futures, ..."""
    sports_market_type: str | None = None
    """sports market type; any text, so that you can test how a client handles unknown values"""
    category: str | None = None
    """category of the event"""
    subcategory: str | None = None
    """subcategory of the event; for sports the league slug"""
    series: str | None = None
    """slug of the series"""
    line: Annotated[str | None, DECIMAL] = None
    """line of a spread or total"""
    long: Annotated[str | None, Choice(("home", "away"))] = None
    """team of the event that the long side stands for; home by default"""
    player: str | None = None
    """player that a prop market is about"""
    event_outcome: Annotated[EventOutcome | None, OUTCOMES] = None
    """how the outcomes of markets of this event and type are related; independent by default"""
    pick: str | None = None
    """outcome that the market asks for, if its type does not say: home, away, none, draw, 2-0"""
    metadata: dict[str, str] = {}
    """metadata of the instrument, added to what its dates require"""


class OutageEntry(Struct, frozen=True, kw_only=True):
    """A period without index ticks."""

    from_: Annotated[Instant, WORLD_INSTANT]
    """when the ticks stop"""
    to: Annotated[Instant, WORLD_INSTANT]
    """when the ticks resume"""


class AssetEntry(Struct, frozen=True, kw_only=True):
    """A priced asset whose index follows a seeded random walk."""

    id: str
    """id of the asset, crypto:<symbol>"""
    price: Annotated[str | None, INDEX_PRICE_TEXT] = None
    """price of the index at `price_at`, dollars"""
    price_at: Annotated[Instant | None, WORLD_INSTANT] = None
    """instant at which the index is at `price`, with any seed; the first tick by default"""
    since: Annotated[Instant | None, WORLD_INSTANT] = None
    """instant of the first tick"""
    every: Annotated[Span | None, SPAN] = None
    """time between two ticks"""
    volatility: Annotated[str | None, DECIMAL] = None
    """typical relative change of the index in an hour, such as 0.01"""
    places: Annotated[int | None, COUNT] = None
    """number of decimals of a price"""
    outages: tuple[OutageEntry, ...] | None = None
    """periods without ticks"""


class MaintenanceEntry(Struct, frozen=True, kw_only=True):
    """A one-off maintenance window. Without `begins` it is an unannounced pause that begins at
    once (rule W9).
    """

    begins: Annotated[Instant | str | None, WORLD_MOMENT] = None
    """when it begins: an instant, or "+30m" from now"""
    length: Annotated[Span, SPAN]
    """length of the window"""
    lead: Annotated[Span | None, SPAN] = None
    """time before the window at which the exchange cancels orders and suspends instruments; by
    default the assumption `maintenance.cancel_lead`"""


class EventEntry(Struct, frozen=True, kw_only=True):
    """An event of the gateway to add or change."""

    slug: str
    """slug of the event; the slug of an existing event changes it"""
    title: str | None = None
    """title of the event"""
    description: str | None = None
    """description of the event"""
    category: str | None = None
    """category such as sports or crypto"""
    league: str | None = None
    """slug of the league; makes the event a sports event"""
    start: Annotated[Instant | None, WORLD_INSTANT] = None
    """when the event begins"""
    end: Annotated[Instant | None, WORLD_INSTANT] = None
    """when the event ends"""
    live: bool | None = None
    """whether the game is being played"""
    ended: bool | None = None
    """whether the game is over"""
    period: str | None = None
    """period of the game, such as Q1"""
    home_score: Annotated[int | None, COUNT] = None
    """score of the home team"""
    away_score: Annotated[int | None, COUNT] = None
    """score of the away team"""
    partners: dict[str, str] = {}
    """the event's ids in the systems of partners: id by partner key"""


class PeriodEntry(Struct, frozen=True, kw_only=True):
    """A period of an incentive program. Its status follows the clock."""

    program_id: str
    """id of the program"""
    program_type: Annotated[str, Choice(("liquidityProgram", "volumeProgram"))] = "liquidityProgram"
    """whether it rewards resting orders or traded volume; liquidityProgram by default"""
    start: Annotated[Instant, WORLD_INSTANT]
    """when the period begins"""
    end: Annotated[Instant | None, WORLD_INSTANT] = None
    """when the period ends; never by default"""
    reward_pool: Annotated[str, MONEY_TEXT]
    """reward pool in dollars"""
    discount_factor: Annotated[str | None, SHARE] = None
    """factor by which the score of an order falls with each tick from the best price, 0 to 1"""
    target_size: Annotated[int | None, COUNT] = None
    """contracts that a side must hold to score; levels count from the best price until they
    contain this many"""
    max_spread: Annotated[str | None, AMOUNT] = None
    """half of the widest spread at which orders score, dollars"""
    period: str = "early"
    """name of the period: early, day_of, live, ..."""
    created: Annotated[Instant | None, WORLD_INSTANT] = None
    """when the program was announced"""
    min_taker_notional: Annotated[int | None, COUNT] = None
    """dollars that a taker must trade to get a reward; 500 by default"""


class RewardEntry(Struct, frozen=True, kw_only=True):
    """A reward that an account earned before the scenario begins."""

    account: str
    """account that earned the reward"""
    program_type: str = "liquidityProgram"
    """type of the program"""
    date: Annotated[str, DATE]
    """Eastern date on which it was earned"""
    reward: Annotated[str, MONEY_TEXT]
    """amount in dollars"""
    status: Annotated[str, Choice(("PAID", "PENDING", "SKIPPED"))] = "PAID"
    """status of the payment; PAID by default"""


class IncentiveEntry(Struct, frozen=True, kw_only=True):
    """The incentive program of one market."""

    symbol: str
    """symbol of the instrument"""
    periods: tuple[PeriodEntry, ...] = ()
    """periods of the program, in order"""
    rewards: tuple[RewardEntry, ...] = ()
    """rewards earned before the scenario begins"""


class OrderEntry(Struct, frozen=True, kw_only=True):
    """An order of a participant. `POST /_sim/v1/orders` takes the same keys."""

    as_: Annotated[str, Alias("account")] = "maker"
    """participant who places the order: maker, taker, noise, firms/<firm>/users/<user>, its last
    part, or its account; maker by default"""
    symbol: str
    """symbol of the instrument"""
    side: Annotated[Side, SIDES]
    """side of the order"""
    price: Annotated[str | None, DECIMAL] = None
    """limit price in dollars"""
    qty: Annotated[str | None, POSITIVE] = None
    """quantity in contracts"""
    cash: Annotated[str | None, POSITIVE] = None
    """dollars to spend, instead of `qty`"""
    type: Annotated[OrderType, ORDER_TYPES] = OrderType.LIMIT
    """type of the order; limit by default"""
    tif: Annotated[TimeInForce, TIMES_IN_FORCE] = TimeInForce.GOOD_TILL_CANCEL
    """time in force; gtc by default"""
    stop_price: Annotated[str | None, DECIMAL] = None
    """stop price in dollars"""
    min_qty: Annotated[str | None, POSITIVE] = None
    """contracts that must trade when the order arrives"""
    good_till: Annotated[Instant | None, INSTANT] = None
    """with gtt: when the order expires"""
    post_only: bool = False
    """true: refuse the order if it would trade at once"""
    all_or_none: bool = False
    """true: fill the whole quantity or nothing"""
    clord_id: str = ""
    """client order id; the name of the step by default"""


class BookEntry(Struct, frozen=True, kw_only=True):
    """Resting orders around a price: on each side one order for each size, one tick apart."""

    symbol: str
    """symbol of the instrument"""
    as_: Annotated[str, Alias("account")] = "maker"
    """participant who places the orders; maker by default"""
    mid: Annotated[str, POSITIVE]
    """middle between best bid and best offer, dollars"""
    spread: Annotated[str, DECIMAL] = "0.02"
    """distance of best bid and best offer in dollars; 0.02 by default"""
    sizes: tuple[Annotated[str, POSITIVE], ...] = LEVEL_SIZES
    """contracts at each price level, the best price first; 100, 250, 500 by default"""
