"""Reference data of instruments: lists, filters, single instruments, symbols (§2.6, §4.3)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import date, timedelta
from functools import reduce
from itertools import chain, compress
from typing import NamedTuple, TypeAlias

from sim.api.gateway.event_filters import events_like
from sim.api.gateway.market_columns import STATE
from sim.api.gateway.market_index import MarketIndex, market_index
from sim.api.pipeline.handler import handles
from sim.api.pipeline.paging import page_length, page_of
from sim.api.rendering.exchange_instruments import CLEARING_HOUSE, current_instrument_message
from sim.api.reports.where_clause import (
    Condition,
    ReportColumn,
    field_conditions,
    member,
    parse_clause,
    predicate,
    text,
    values_of,
)
from sim.contract.messages import exchange_v1 as wire
from sim.core.catalogue.quirks import INSTRUMENT_COLUMNS_FAIL
from sim.core.exchange import Exchange
from sim.core.model.enums import InstrumentState
from sim.core.model.instrument import Instrument
from sim.core.model.reference_data import Flags
from sim.core.model.refusals import InternalFailure, InvalidRequest
from sim.kernel.indexes.ordered_index import both, flagged, flags_of, neither
from sim.kernel.instants import Instant, eastern, eastern_date, parse_instant

Test: TypeAlias = Callable[[Instrument], bool]

PAGE_DEFAULT = 50
_STATE_PREFIX = "INSTRUMENT_STATE_"

# Category codes of the exchange by category of the gateway. For any other category, the code is its
# first three letters.
_CATEGORY_CODES = {"sports": "SPR", "politics": "POL", "crypto": "CRY"}


@handles("RefDataAPI.ListInstruments", "RefDataAPI.SearchInstruments")
def list_instruments(
    exchange: Exchange, request: wire.ListInstrumentsRequest
) -> wire.ListInstrumentsResponse:
    """List the instruments that pass every filter, in order of listing.

    A negative filter, such as state != OPEN, also matches PENDING and TERMINATED instruments.
    """
    rows = _matching(exchange, request.symbols, _criteria(exchange, request))
    length = page_length(request.page_size, PAGE_DEFAULT)
    page, token = page_of(rows, request.page_token, length)
    instruments = [
        row if isinstance(row, Instrument) else _instrument_at(exchange, row) for row in page
    ]
    return wire.ListInstrumentsResponse(
        instruments=[current_instrument_message(exchange, row) for row in instruments],
        next_page_token=token,
        eof=not token,
    )


@handles("RefDataAPI.GetInstrument")
def get_instrument(
    exchange: Exchange, request: wire.GetInstrumentRequest
) -> wire.GetInstrumentResponse:
    """Return one instrument, whatever its state."""
    instrument = exchange.instruments.require(request.symbol)
    return wire.GetInstrumentResponse(instrument=current_instrument_message(exchange, instrument))


@handles("RefDataAPI.ListSymbols")
def list_symbols(exchange: Exchange, request: wire.ListSymbolsRequest) -> wire.ListSymbolsResponse:
    """List every symbol, in order of listing."""
    return wire.ListSymbolsResponse(symbols=list(exchange.instruments.symbols()))


@handles("RefDataAPI.GetInstrumentMetadata")
def get_instrument_metadata(
    exchange: Exchange, request: wire.GetInstrumentMetadataRequest
) -> wire.GetInstrumentMetadataResponse:
    """Return metadata of the exchange itself."""
    return wire.GetInstrumentMetadataResponse(
        metadata={
            "exchange_name": exchange.credentials.environment.name,
            "server_version": "sandbox",
            "timezone": "America/New_York",
        }
    )


# ---- filters: they match what an instrument's metadata map shows


class _Criteria(NamedTuple):
    """The criteria of a request.

    `alike` tests what all instruments of one product, type and event have in common, whatever the
    game. `single` tests what differs from one instrument to the next.
    """

    alike: list[Test]
    states: list[frozenset[int]]
    dates: list[tuple[str, Instant | None, Instant | None]]
    game: str
    symbols: list[Condition]
    single: list[Test]


def _matching(
    exchange: Exchange, symbols: list[str], criteria: _Criteria
) -> Iterator[Instrument | int]:
    """Yield the instruments that pass every filter, in order of listing.

    Dormant instruments are yielded as their positions in the catalogue, so that only those on the
    requested page are created.
    """
    instruments, tests = exchange.instruments, list(_single_tests(exchange, criteria))

    def passing(instruments: Iterable[Instrument]) -> Iterator[Instrument]:
        return (instrument for instrument in instruments if all(test(instrument) for test in tests))

    if symbols:
        yield from passing(
            instrument
            for symbol in dict.fromkeys(symbols)
            if (instrument := instruments.get(symbol)) is not None
        )
        return
    yield from passing(instruments.listed_before_dormant())
    if instruments.dormant:
        yield from _dormant(market_index(exchange), criteria)
    yield from passing(instruments.listed_after_dormant())


def _dormant(index: MarketIndex, criteria: _Criteria) -> Iterator[int]:
    """Yield the catalogue positions of dormant instruments that pass every filter."""
    flags, positions = (
        reduce(both, _dormant_flags(index, criteria)),
        index.catalogue.dormant_markets,
    )
    exchange = index.exchange
    for position in compress(positions, flags[positions.start : positions.stop]):
        if all(test(_instrument_at(exchange, position)) for test in criteria.single):
            yield position


def _dormant_flags(index: MarketIndex, criteria: _Criteria) -> Iterator[Flags]:
    """Yield one set of flags per filter; only the flags of dormant markets are meaningful."""
    catalogue, instruments = index.catalogue, index.exchange.instruments
    count, place_of = len(catalogue.rows), catalogue.position_of_market
    listed = (place_of(instrument.symbol) for instrument in instruments.listed())
    yield neither(flags_of((position for position in listed if position is not None), count))
    if criteria.game:
        events = flagged(events_like(index, lambda event: event.game_id == criteria.game))
        yield flags_of(chain.from_iterable(map(catalogue.markets_of, events)), count)
    for name, *bounds in criteria.dates:
        key = catalogue.market_key(_FIELDS[name])
        if key is not None:
            yield key.within(*bounds)
    if criteria.alike:
        yield catalogue.markets_where(
            lambda market: all(test(instruments.require(market.slug)) for test in criteria.alike),
            dormant_only=True,
        )
    for states in criteria.states:
        yield index.of(STATE).markets.among(*states)
    if criteria.symbols:
        named, test = values_of(criteria.symbols, "symbol"), predicate(criteria.symbols, _SYMBOL)
        if named is None:
            yield bytes(test(row.slug) for row in catalogue.rows)
        else:
            matching = (place_of(symbol) for symbol in named if test(symbol))
            yield flags_of((position for position in matching if position is not None), count)


def _instrument_at(exchange: Exchange, position: int) -> Instrument:
    return exchange.instruments.require(market_index(exchange).catalogue.rows[position].slug)


# ---- reading a request


def _criteria(exchange: Exchange, request: wire.ListInstrumentsRequest) -> _Criteria:
    states = [frozenset(map(int, request.states))] if request.states else []
    criteria = _Criteria(
        list(_fixed_tests(request)), states, list(_dates(request)), request.game_id, [], []
    )
    if request.filter is not None:
        _add_conditions(exchange, request.filter, criteria)
    return criteria


def _add_conditions(
    exchange: Exchange, requested_filter: wire.InstrumentFilter, criteria: _Criteria
) -> None:
    """Add the conditions of a filter's clause and fields to the criteria."""
    conditions = parse_clause(requested_filter.where_clause)
    named = {condition.column for condition in conditions}
    if named & _FAILING and exchange.ctx.quirks.applies(INSTRUMENT_COLUMNS_FAIL):
        if named & _FAILING != {_EVENT}:
            raise InternalFailure(
                rule="S4.3-13",
                remedy="filter these columns in the client, or use the fields of the request",
            )
        criteria.alike.append(lambda instrument: False)
    conditions += field_conditions(requested_filter.field_filters, tuple(_COLUMNS))
    # Refuse unknown columns and operators, in the order of the request.
    predicate(conditions, _COLUMNS | _METADATA_COLUMNS)
    for condition in conditions:
        if condition.column == "symbol":
            criteria.symbols.append(condition)
        elif condition.column == "state":
            meets = predicate([condition], _STATE)
            criteria.states.append(
                frozenset(int(state) for state in InstrumentState if meets(state))
            )
        elif condition.column == _EVENT:
            criteria.single.append(predicate([condition], _METADATA_COLUMNS))
        else:
            criteria.alike.append(predicate([condition], _COLUMNS | _METADATA_COLUMNS))


def _single_tests(exchange: Exchange, criteria: _Criteria) -> Iterator[Test]:
    """Yield every criterion as a test of one instrument."""
    yield from criteria.alike
    yield from criteria.single
    for states in criteria.states:
        yield _in_states(exchange.trading.state, states)
    for name, low, high in criteria.dates:
        yield _dated(_DATES[name], low, high)
    if criteria.game:
        yield (
            lambda instrument: (
                (event := exchange.reference.event_of(instrument.symbol)) is not None
                and event.game_id == criteria.game
            )
        )
    if criteria.symbols:
        meets = predicate(criteria.symbols, _SYMBOL)
        yield lambda instrument: meets(instrument.symbol)


def _fixed_tests(request: wire.ListInstrumentsRequest) -> Iterator[Test]:
    """Yield one test per filter on product, type or event of an instrument."""
    if (
        request.tradable_filter == wire.TradableFilter.TRADABLE_FILTER_NON_TRADABLE
        or request.type
        not in (
            wire.InstrumentType.INSTRUMENT_TYPE_UNSET,
            wire.InstrumentType.INSTRUMENT_TYPE_EVENT,
        )
    ):
        yield lambda instrument: False  # every instrument here is a tradable event contract
    if request.clearing_sym:
        yield lambda instrument: _clearing(instrument).startswith(request.clearing_sym)
    if request.product_id:  # index markets also have a product id of their event, in the metadata
        yield (
            lambda instrument: (
                request.product_id in (instrument.product_id, instrument.metadata.get("product_id"))
            )
        )
    for criteria, of in (
        (request.event_series, _series),
        (request.market_category, _category),
        (request.market_type, _market_type),
        (request.event_category, _category_code),
    ):
        if criteria:
            yield _equal(of, criteria)


def _equal(of: Callable[[Instrument], str], criteria: str) -> Test:
    return lambda instrument: of(instrument) == criteria


def _in_states(state: Callable[[str], InstrumentState], states: frozenset[int]) -> Test:
    return lambda instrument: state(instrument.symbol) in states


def _dated(at: Callable[[Instrument], Instant], low: Instant | None, high: Instant | None) -> Test:
    return lambda instrument: (
        (low is None or at(instrument) >= low) and (high is None or at(instrument) <= high)
    )


def _dates(
    request: wire.ListInstrumentsRequest,
) -> Iterator[tuple[str, Instant | None, Instant | None]]:
    """Yield the bounds on start and expiration date as instants, both inclusive."""
    for name, field in (("opening", "start_time"), ("expiring", "end_time")):
        low, high = (
            _day(getattr(request, f"{field}_{bound}"), f"{field}_{bound}")
            for bound in ("gte", "lte")
        )
        if low is not None or high is not None:
            yield (
                name,
                None if low is None else eastern(low),
                None if high is None or high == date.max else eastern(high + timedelta(days=1)) - 1,
            )


def _day(value: str, name: str) -> date | None:
    """Return a date, also from a timestamp; None if the value is empty."""
    if not value:
        return None
    try:
        return eastern_date(parse_instant(value))
    except ValueError:
        raise InvalidRequest(
            f"{name}: not a date: {value[:40]!r}", rule="S4.3-13", remedy="write YYYY-MM-DD"
        ) from None


def _metadata(key: str) -> ReportColumn[Instrument]:
    return text(lambda instrument: instrument.metadata.get(key, ""))


# Metadata columns that a where_clause may name without effect, as documented.
_EVENT = "event_id"
_METADATA_COLUMNS = {
    key: _metadata(key)
    for key in ("instrument_product", "outcome_type", "event_subcategory", _EVENT)
}
_FAILING = frozenset(_METADATA_COLUMNS)


def _product(instrument: Instrument) -> str:
    return instrument.product_id


def _series(instrument: Instrument) -> str:
    return instrument.metadata.get("event_series") or instrument.series


def _clearing(instrument: Instrument) -> str:
    return instrument.metadata.get("clearing_sym") or instrument.symbol


def _category(instrument: Instrument) -> str:
    return instrument.category


def _category_code(instrument: Instrument) -> str:
    return instrument.metadata.get("event_category") or _CATEGORY_CODES.get(
        instrument.category, instrument.category[:3].upper()
    )


def _market_type(instrument: Instrument) -> str:
    return instrument.market_type


_COLUMNS: dict[str, ReportColumn[Instrument]] = {
    "symbol": text(lambda instrument: instrument.symbol),
    # The state is known only to the lifecycle.
    "state": member(wire.InstrumentState, _STATE_PREFIX, lambda instrument: 0),
    "product_id": text(_product),
    "event_series": text(_series),
    "event_category": text(_category_code),
    "clearing_sym": text(_clearing),
    "clearing_house": text(lambda instrument: CLEARING_HOUSE),
}
_SYMBOL: dict[str, ReportColumn[str]] = {"symbol": text(str)}
_STATE: dict[str, ReportColumn[InstrumentState]] = {
    "state": member(wire.InstrumentState, _STATE_PREFIX, int)
}
_DATES: dict[str, Callable[[Instrument], Instant]] = {
    "opening": lambda instrument: instrument.start,
    "expiring": lambda instrument: instrument.expiration,
}
# Fields of the gateway's market that hold the same dates.
_FIELDS = {"opening": "startdate", "expiring": "enddate"}
