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

    low: Annotated[str | None, DECIMAL, "lower bound"] = None
    high: Annotated[str | None, DECIMAL, "upper bound"] = None


class SegmentEntry(Struct, frozen=True, kw_only=True):
    """A weekly segment of an instrument's trading schedule, in Eastern Time."""

    days: Annotated[tuple[Annotated[int, WEEKDAYS], ...], "weekdays; every day by default"] = tuple(
        range(7)
    )
    start: Annotated[
        Span, TIME_OF_DAY, "time of day at which the segment begins; 00:00 by default"
    ] = 0
    length: Annotated[Span, SPAN, "length of the segment"]
    state: Annotated[InstrumentState, STATES, "state during the segment; OPEN by default"] = (
        InstrumentState.OPEN
    )
    hide_market_data: Annotated[bool, BOOLEAN, "true: publish empty books during the segment"] = (
        False
    )
    expire_all_orders: Annotated[
        bool, BOOLEAN, "true: expire all resting orders when the segment begins"
    ] = False


class InstrumentEntry(Struct, frozen=True, kw_only=True):
    """An instrument to add or change. `POST /_sim/v1/instruments` takes the same keys."""

    symbol: Annotated[str, "symbol on the exchange, and slug of the market on the gateway"]
    state: Annotated[
        InstrumentState | None,
        STATES,
        "state at the start of the scenario; by default it follows from the dates and schedule",
    ] = None
    description: Annotated[str | None, "description, free text"] = None
    question: Annotated[str | None, "question of the market on the gateway"] = None
    product_id: Annotated[str | None, "product; by default the symbol up to its first `-`"] = None
    price_scale: Annotated[
        int | None,
        ORDINAL,
        "scaled integer prices are divided by this number; by default the smallest scale that can"
        " represent the tick",
    ] = None
    fractional_qty_scale: Annotated[
        int | None, ORDINAL, "scaled integer quantities are divided by this number; 1 by default"
    ] = None
    tick_size: Annotated[str | None, POSITIVE, "tick in dollars; 0.01 by default"] = None
    minimum_trade_qty: Annotated[
        int | None, ORDINAL, "minimum quantity of an order, as a scaled integer; 1 by default"
    ] = None
    price_limit: Annotated[
        Limits | None, "price band in dollars; by default from one tick above 0 to one tick below 1"
    ] = None
    order_size_limit: Annotated[
        Limits | None, "minimum and maximum size of an order in contracts"
    ] = None
    created: Annotated[Instant | None, WORLD_INSTANT, "when the instrument was listed"] = None
    start: Annotated[Instant | None, WORLD_INSTANT, "when trading starts"] = None
    expiration: Annotated[
        Instant | None, WORLD_INSTANT, "when it expires; 30 days after `start` by default"
    ] = None
    termination: Annotated[
        Instant | None, WORLD_INSTANT, "when it terminates; 7 days after `expiration` by default"
    ] = None
    schedule: Annotated[
        tuple[SegmentEntry, ...] | None, "weekly trading schedule; always open by default"
    ] = None
    event: Annotated[
        str | None, "slug of the event that the market belongs to; by default a new event"
    ] = None
    fee_class: Annotated[str | None, "fee class, which selects rows of the fee schedule"] = None
    market_type: Annotated[
        str | None, "market type: moneyline, spreads, totals, props, futures, ..."
    ] = None
    sports_market_type: Annotated[
        str | None,
        "sports market type; any text, so that you can test how a client handles unknown values",
    ] = None
    category: Annotated[str | None, "category of the event"] = None
    subcategory: Annotated[str | None, "subcategory of the event; for sports the league slug"] = (
        None
    )
    series: Annotated[str | None, "slug of the series"] = None
    line: Annotated[str | None, DECIMAL, "line of a spread or total"] = None
    long: Annotated[
        str | None,
        Choice(("home", "away")),
        "team of the event that the long side stands for; home by default",
    ] = None
    player: Annotated[str | None, "player that a prop market is about"] = None
    event_outcome: Annotated[
        EventOutcome | None,
        OUTCOMES,
        "how the outcomes of markets of this event and type are related; independent by default",
    ] = None
    pick: Annotated[
        str | None,
        "outcome that the market asks for, if its type does not say: home, away, none, draw, 2-0",
    ] = None
    metadata: Annotated[
        dict[str, str], "metadata of the instrument, added to what its dates require"
    ] = {}


class OutageEntry(Struct, frozen=True, kw_only=True):
    """A period without index ticks."""

    from_: Annotated[Instant, WORLD_INSTANT, "when the ticks stop"]
    to: Annotated[Instant, WORLD_INSTANT, "when the ticks resume"]


class AssetEntry(Struct, frozen=True, kw_only=True):
    """A priced asset whose index follows a seeded random walk."""

    id: Annotated[str, "id of the asset, crypto:<symbol>"]
    price: Annotated[str | None, INDEX_PRICE_TEXT, "price of the index at `price_at`, dollars"] = (
        None
    )
    price_at: Annotated[
        Instant | None,
        WORLD_INSTANT,
        "instant at which the index is at `price`, with any seed; the first tick by default",
    ] = None
    since: Annotated[Instant | None, WORLD_INSTANT, "instant of the first tick"] = None
    every: Annotated[Span | None, SPAN, "time between two ticks"] = None
    volatility: Annotated[
        str | None, DECIMAL, "typical relative change of the index in an hour, such as 0.01"
    ] = None
    places: Annotated[int | None, COUNT, "number of decimals of a price"] = None
    outages: Annotated[tuple[OutageEntry, ...] | None, "periods without ticks"] = None


class MaintenanceEntry(Struct, frozen=True, kw_only=True):
    """A one-off maintenance window. Without `begins` it is an unannounced pause that begins at
    once (rule W9).
    """

    begins: Annotated[
        Instant | str | None, WORLD_MOMENT, 'when it begins: an instant, or "+30m" from now'
    ] = None
    length: Annotated[Span, SPAN, "length of the window"]
    lead: Annotated[
        Span | None,
        SPAN,
        "time before the window at which the exchange cancels orders and suspends instruments; by"
        " default the assumption `maintenance.cancel_lead`",
    ] = None


class EventEntry(Struct, frozen=True, kw_only=True):
    """An event of the gateway to add or change."""

    slug: Annotated[str, "slug of the event; the slug of an existing event changes it"]
    title: Annotated[str | None, "title of the event"] = None
    description: Annotated[str | None, "description of the event"] = None
    category: Annotated[str | None, "category such as sports or crypto"] = None
    league: Annotated[str | None, "slug of the league; makes the event a sports event"] = None
    start: Annotated[Instant | None, WORLD_INSTANT, "when the event begins"] = None
    end: Annotated[Instant | None, WORLD_INSTANT, "when the event ends"] = None
    live: Annotated[bool | None, BOOLEAN, "whether the game is being played"] = None
    ended: Annotated[bool | None, BOOLEAN, "whether the game is over"] = None
    period: Annotated[str | None, "period of the game, such as Q1"] = None
    home_score: Annotated[int | None, COUNT, "score of the home team"] = None
    away_score: Annotated[int | None, COUNT, "score of the away team"] = None
    partners: Annotated[
        dict[str, str], "the event's ids in the systems of partners: id by partner key"
    ] = {}


class PeriodEntry(Struct, frozen=True, kw_only=True):
    """A period of an incentive program. Its status follows the clock."""

    program_id: Annotated[str, "id of the program"]
    program_type: Annotated[
        str,
        Choice(("liquidityProgram", "volumeProgram")),
        "whether it rewards resting orders or traded volume; liquidityProgram by default",
    ] = "liquidityProgram"
    start: Annotated[Instant, WORLD_INSTANT, "when the period begins"]
    end: Annotated[Instant | None, WORLD_INSTANT, "when the period ends; never by default"] = None
    reward_pool: Annotated[str, MONEY_TEXT, "reward pool in dollars"]
    discount_factor: Annotated[
        str | None,
        SHARE,
        "factor by which the score of an order falls with each tick from the best price, 0 to 1",
    ] = None
    target_size: Annotated[
        int | None,
        COUNT,
        "contracts that a side must hold to score; levels count from the best price until they"
        " contain this many",
    ] = None
    max_spread: Annotated[
        str | None, AMOUNT, "half of the widest spread at which orders score, dollars"
    ] = None
    period: Annotated[str, "name of the period: early, day_of, live, ..."] = "early"
    created: Annotated[Instant | None, WORLD_INSTANT, "when the program was announced"] = None
    min_taker_notional: Annotated[
        int | None, COUNT, "dollars that a taker must trade to get a reward; 500 by default"
    ] = None


class RewardEntry(Struct, frozen=True, kw_only=True):
    """A reward that an account earned before the scenario begins."""

    account: Annotated[str, "account that earned the reward"]
    program_type: Annotated[str, "type of the program"] = "liquidityProgram"
    date: Annotated[str, DATE, "Eastern date on which it was earned"]
    reward: Annotated[str, MONEY_TEXT, "amount in dollars"]
    status: Annotated[
        str, Choice(("PAID", "PENDING", "SKIPPED")), "status of the payment; PAID by default"
    ] = "PAID"


class IncentiveEntry(Struct, frozen=True, kw_only=True):
    """The incentive program of one market."""

    symbol: Annotated[str, "symbol of the instrument"]
    periods: Annotated[tuple[PeriodEntry, ...], "periods of the program, in order"] = ()
    rewards: Annotated[tuple[RewardEntry, ...], "rewards earned before the scenario begins"] = ()


class OrderEntry(Struct, frozen=True, kw_only=True):
    """An order of a participant. `POST /_sim/v1/orders` takes the same keys."""

    as_: Annotated[
        str,
        "participant who places the order: maker, taker, noise, firms/<firm>/users/<user>, its"
        " last part, or its account; maker by default",
        Alias("account"),
    ] = "maker"
    symbol: Annotated[str, "symbol of the instrument"]
    side: Annotated[Side, SIDES, "side of the order"]
    price: Annotated[str | None, DECIMAL, "limit price in dollars"] = None
    qty: Annotated[str | None, POSITIVE, "quantity in contracts"] = None
    cash: Annotated[str | None, POSITIVE, "dollars to spend, instead of `qty`"] = None
    type: Annotated[OrderType, ORDER_TYPES, "type of the order; limit by default"] = OrderType.LIMIT
    tif: Annotated[TimeInForce, TIMES_IN_FORCE, "time in force; gtc by default"] = (
        TimeInForce.GOOD_TILL_CANCEL
    )
    stop_price: Annotated[str | None, DECIMAL, "stop price in dollars"] = None
    min_qty: Annotated[str | None, POSITIVE, "contracts that must trade when the order arrives"] = (
        None
    )
    good_till: Annotated[Instant | None, INSTANT, "with gtt: when the order expires"] = None
    post_only: Annotated[bool, BOOLEAN, "true: refuse the order if it would trade at once"] = False
    all_or_none: Annotated[bool, BOOLEAN, "true: fill the whole quantity or nothing"] = False
    clord_id: Annotated[str, "client order id; the name of the step by default"] = ""


class BookEntry(Struct, frozen=True, kw_only=True):
    """Resting orders around a price: on each side one order for each size, one tick apart."""

    symbol: Annotated[str, "symbol of the instrument"]
    as_: Annotated[str, "participant who places the orders; maker by default", Alias("account")] = (
        "maker"
    )
    mid: Annotated[str, POSITIVE, "middle between best bid and best offer, dollars"]
    spread: Annotated[
        str, DECIMAL, "distance of best bid and best offer in dollars; 0.02 by default"
    ] = "0.02"
    sizes: Annotated[
        tuple[Annotated[str, POSITIVE], ...],
        "contracts at each price level, the best price first; 100, 250, 500 by default",
    ] = LEVEL_SIZES
