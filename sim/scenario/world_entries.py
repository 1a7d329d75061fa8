"""What a scenario says about what is traded in its world: one Struct per entry of `world`.

Who takes part stands in `party_entries.py`, recurring markets in `recurring_entries.py`.

Prices and sizes are decimal text here; `instrument_terms.py` and `world/` make integers of them.

A field of None was not written: an entry that names something of the default world changes the
fields that it has and leaves the others.
"""

from __future__ import annotations

import re
from typing import Annotated

from msgspec import Struct

from sim.core.model.collateral import EventOutcome
from sim.core.model.enums import InstrumentState, OrderType, Side, TimeInForce
from sim.kernel.instants import HOUR, MINUTE, Instant, Span
from sim.scenario.fees_entries import SHARE
from sim.scenario.participant_entries import LEVEL_SIZES
from sim.scenario.scalar_types import (
    AMOUNT,
    BOOLEAN,
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
from sim.scenario.struct_types import Alias
from sim.scenario.value_types import Choice, Text, choice_of

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

    low: Annotated[str | None, DECIMAL, "lowest value"] = None
    high: Annotated[str | None, DECIMAL, "highest value"] = None


class SegmentEntry(Struct, frozen=True, kw_only=True):
    """A weekly segment of an instrument's trading schedule, in Eastern Time."""

    days: Annotated[tuple[Annotated[int, WEEKDAYS], ...], "weekdays; all when left out"] = tuple(
        range(7)
    )
    start: Annotated[Span, TIME_OF_DAY, "time of day at which the segment begins"] = 0
    length: Annotated[Span, SPAN, "how long it lasts"]
    state: Annotated[InstrumentState, STATES, "state during the segment"] = InstrumentState.OPEN
    hide_market_data: Annotated[bool, BOOLEAN, "publish empty books"] = False
    expire_all_orders: Annotated[bool, BOOLEAN, "expire every resting order when it begins"] = False


class InstrumentEntry(Struct, frozen=True, kw_only=True):
    """An instrument, new or changed. Body of POST /_sim/v1/instruments too."""

    symbol: Annotated[str, "exchange symbol, and slug of the market on the gateway"]
    state: Annotated[
        InstrumentState | None,
        STATES,
        "state at the scenario's start; left out, dates and schedule decide",
    ] = None
    description: Annotated[str | None, "free text"] = None
    question: Annotated[str | None, "question of the market on the gateway"] = None
    product_id: Annotated[str | None, "product, the symbol's first part when left out"] = None
    price_scale: Annotated[
        int | None,
        ORDINAL,
        "integer prices are divided by this; the smallest that fits the tick when left out",
    ] = None
    fractional_qty_scale: Annotated[
        int | None, ORDINAL, "integer quantities are divided by this; 1 when left out"
    ] = None
    tick_size: Annotated[str | None, POSITIVE, "tick in dollars, 0.01 when left out"] = None
    minimum_trade_qty: Annotated[
        int | None, ORDINAL, "smallest order, as a scaled integer; 1 when left out"
    ] = None
    price_limit: Annotated[
        Limits | None,
        "lowest and highest price in dollars; one tick from 0 and from 1 when left out",
    ] = None
    order_size_limit: Annotated[Limits | None, "smallest and largest order in contracts"] = None
    created: Annotated[Instant | None, WORLD_INSTANT, "when it was listed"] = None
    start: Annotated[Instant | None, WORLD_INSTANT, "start of trading"] = None
    expiration: Annotated[
        Instant | None, WORLD_INSTANT, "30 days after the start when left out"
    ] = None
    termination: Annotated[
        Instant | None, WORLD_INSTANT, "7 days after expiration when left out"
    ] = None
    schedule: Annotated[
        tuple[SegmentEntry, ...] | None, "weekly trading schedule; always open when left out"
    ] = None
    event: Annotated[str | None, "slug of its event; one is made when left out"] = None
    fee_class: Annotated[str | None, "row of the fee schedule"] = None
    market_type: Annotated[str | None, "moneyline, spreads, totals, props, futures, ..."] = None
    sports_market_type: Annotated[
        str | None, "any text: new values are how enum handling is tested"
    ] = None
    category: Annotated[str | None, "category of its event"] = None
    subcategory: Annotated[str | None, "league slug for sports"] = None
    series: Annotated[str | None, "series slug"] = None
    line: Annotated[str | None, DECIMAL, "line of a spread or total"] = None
    long: Annotated[
        str | None,
        Choice(("home", "away")),
        "which team of the event its long side is; home when left out",
    ] = None
    player: Annotated[str | None, "player of a prop"] = None
    event_outcome: Annotated[
        EventOutcome | None,
        OUTCOMES,
        "how outcomes of its event and type are related; independent when left out",
    ] = None
    pick: Annotated[
        str | None, "what it asks for, if the type alone does not say: home, away, none, draw, 2-0"
    ] = None
    metadata: Annotated[dict[str, str], "instrument metadata, added to what its dates require"] = {}


class OutageEntry(Struct, frozen=True, kw_only=True):
    """A time without index ticks."""

    from_: Annotated[Instant, WORLD_INSTANT, "when the source falls silent"]
    to: Annotated[Instant, WORLD_INSTANT, "when it speaks again"]


class AssetEntry(Struct, frozen=True, kw_only=True):
    """A priced asset and the seeded process of its index ticks."""

    id: Annotated[str, "crypto:<symbol>"]
    price: Annotated[str | None, INDEX_PRICE_TEXT, "dollars at `price_at`"] = None
    price_at: Annotated[
        Instant | None,
        WORLD_INSTANT,
        "when the index is at `price`, whatever the seed; at the first tick when left out",
    ] = None
    since: Annotated[Instant | None, WORLD_INSTANT, "instant of the first tick"] = None
    every: Annotated[Span | None, SPAN, "time between ticks"] = None
    volatility: Annotated[str | None, DECIMAL, "typical relative move per hour"] = None
    places: Annotated[int | None, COUNT, "decimals of a price"] = None
    outages: Annotated[tuple[OutageEntry, ...] | None, "times without ticks"] = None


class MaintenanceEntry(Struct, frozen=True, kw_only=True):
    """A one-off maintenance window; without `begins` an unannounced pause from now on (rule W9)."""

    begins: Annotated[Instant | str | None, WORLD_MOMENT, 'an instant, or "+30m" from now'] = None
    length: Annotated[Span, SPAN, "how long it lasts"]
    lead: Annotated[
        Span | None,
        SPAN,
        "how long before the window orders are canceled and instruments suspended;"
        " `maintenance.cancel_lead` when left out",
    ] = None


class EventEntry(Struct, frozen=True, kw_only=True):
    """An event of the gateway, new or changed."""

    slug: Annotated[str, "slug of the event; a known one is changed"]
    title: Annotated[str | None, "title of the event"] = None
    description: Annotated[str | None, "text about the event"] = None
    category: Annotated[str | None, "category such as sports or crypto"] = None
    league: Annotated[str | None, "league slug; makes it a sports event"] = None
    start: Annotated[Instant | None, WORLD_INSTANT, "when it takes place"] = None
    end: Annotated[Instant | None, WORLD_INSTANT, "when it ends"] = None
    live: Annotated[bool | None, BOOLEAN, "whether it is being played"] = None
    ended: Annotated[bool | None, BOOLEAN, "whether it is over"] = None
    period: Annotated[str | None, "period of the game, such as Q1"] = None
    home_score: Annotated[int | None, COUNT, "home's score"] = None
    away_score: Annotated[int | None, COUNT, "away's score"] = None
    partners: Annotated[dict[str, str], "ids that partners use: partner key to id"] = {}


class PeriodEntry(Struct, frozen=True, kw_only=True):
    """A period of an incentive program. Its status follows the clock."""

    program_id: Annotated[str, "id of the program"]
    program_type: Annotated[
        str, Choice(("liquidityProgram", "volumeProgram")), "what it rewards"
    ] = "liquidityProgram"
    start: Annotated[Instant, WORLD_INSTANT, "when it begins"]
    end: Annotated[Instant | None, WORLD_INSTANT, "left out: ongoing"] = None
    reward_pool: Annotated[str, MONEY_TEXT, "dollars"]
    discount_factor: Annotated[
        str | None,
        SHARE,
        "what an order's score is multiplied by for each tick from the best price",
    ] = None
    target_size: Annotated[
        int | None, COUNT, "contracts a side must hold, and from the best price on scores"
    ] = None
    max_spread: Annotated[str | None, AMOUNT, "dollars, half width around the midpoint"] = None
    period: Annotated[str, "early, day_of, live, ..."] = "early"
    created: Annotated[Instant | None, WORLD_INSTANT, "when it was announced"] = None
    min_taker_notional: Annotated[int | None, COUNT, "dollars"] = None


class RewardEntry(Struct, frozen=True, kw_only=True):
    """A reward earned before the scenario begins."""

    account: Annotated[str, "who earned it"]
    program_type: Annotated[str, "the program that it is of"] = "liquidityProgram"
    date: Annotated[str, DATE, "Eastern date"]
    reward: Annotated[str, MONEY_TEXT, "dollars"]
    status: Annotated[str, Choice(("PAID", "PENDING", "SKIPPED")), "whether it has been paid"] = (
        "PAID"
    )


class IncentiveEntry(Struct, frozen=True, kw_only=True):
    """The incentive program of one market."""

    symbol: Annotated[str, "symbol of the instrument"]
    periods: Annotated[tuple[PeriodEntry, ...], "its periods, in order"] = ()
    rewards: Annotated[tuple[RewardEntry, ...], "what accounts have earned already"] = ()


class OrderEntry(Struct, frozen=True, kw_only=True):
    """An order of a scripted participant. Body of POST /_sim/v1/orders too."""

    as_: Annotated[
        str,
        "maker, taker, noise, firms/<firm>/users/<user>, its last part, or its account",
        Alias("account", former=False),
    ] = "maker"
    symbol: Annotated[str, "symbol of the instrument"]
    side: Annotated[Side, SIDES, "buy or sell"]
    price: Annotated[str | None, DECIMAL, "dollars"] = None
    qty: Annotated[str | None, POSITIVE, "contracts"] = None
    cash: Annotated[str | None, POSITIVE, "dollars to spend, instead of a quantity"] = None
    type: Annotated[OrderType, ORDER_TYPES, "limit unless said otherwise"] = OrderType.LIMIT
    tif: Annotated[TimeInForce, TIMES_IN_FORCE, "time in force; gtc unless said otherwise"] = (
        TimeInForce.GOOD_TILL_CANCEL
    )
    stop_price: Annotated[str | None, DECIMAL, "dollars"] = None
    min_qty: Annotated[str | None, POSITIVE, "contracts"] = None
    good_till: Annotated[Instant | None, INSTANT, "with gtt: when it expires"] = None
    post_only: Annotated[bool, BOOLEAN, "refused if it would trade at once"] = False
    all_or_none: Annotated[bool, BOOLEAN, "trades whole or not at all"] = False
    clord_id: Annotated[str, "client order id; the step's name when left out"] = ""


class BookEntry(Struct, frozen=True, kw_only=True):
    """Standing orders around a price: one per size and side, each a tick further out."""

    symbol: Annotated[str, "symbol of the instrument"]
    as_: Annotated[str, "whose orders", Alias("account", former=False)] = "maker"
    mid: Annotated[str, POSITIVE, "dollars"]
    spread: Annotated[str, DECIMAL, "dollars between best bid and best offer"] = "0.02"
    sizes: Annotated[tuple[Annotated[str, POSITIVE], ...], "contracts per level, best first"] = (
        LEVEL_SIZES
    )
