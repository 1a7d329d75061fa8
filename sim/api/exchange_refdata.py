"""Reference data of instruments: lists, filters, single instruments, symbols (§2.6, §4.3)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from sim.api.callers import Caller
from sim.api.exchange_messages import CLEARING_HOUSE, instrument_as_it_is
from sim.api.handles import handles
from sim.api.paging import page_length, page_of
from sim.api.where_clause import Column, field_conditions, member, parse_clause, predicate, text
from sim.core.exchange import Exchange
from sim.core.instruments import Instrument
from sim.core.quirks import INSTRUMENT_COLUMNS_FAIL
from sim.core.refusals import InternalFailure, InvalidRequest
from sim.core.vocabulary import InstrumentState
from sim.kernel.instants import Instant, eastern_date, parse_instant
from sim.messages import exchange_v1 as wire

PAGE_DEFAULT = 50

# Category codes of the exchange by category of the gateway; any other category is its own first three letters.
_CATEGORY_CODES = {"sports": "SPR", "politics": "POL", "crypto": "CRY"}


@handles("RefDataAPI.ListInstruments")
def list_instruments(exchange: Exchange, caller: Caller, request: wire.ListInstrumentsRequest) -> wire.ListInstrumentsResponse:
    """Instruments that meet every filter set, in order of listing. Other states than asked for include PENDING and TERMINATED ones."""
    return _listed(exchange, request)


@handles("RefDataAPI.SearchInstruments")
def search_instruments(exchange: Exchange, caller: Caller, request: wire.ListInstrumentsRequest) -> wire.ListInstrumentsResponse:
    """The same under another name."""
    return _listed(exchange, request)


@handles("RefDataAPI.GetInstrument")
def get_instrument(exchange: Exchange, caller: Caller, request: wire.GetInstrumentRequest) -> wire.GetInstrumentResponse:
    """One instrument, whatever its state."""
    instrument = exchange.instruments.require(request.symbol)
    return wire.GetInstrumentResponse(instrument=instrument_as_it_is(exchange, instrument))


@handles("RefDataAPI.ListSymbols")
def list_symbols(exchange: Exchange, caller: Caller, request: wire.ListSymbolsRequest) -> wire.ListSymbolsResponse:
    """Every symbol, in order of listing."""
    return wire.ListSymbolsResponse(symbols=list(exchange.instruments.symbols()))


@handles("RefDataAPI.GetInstrumentMetadata")
def get_instrument_metadata(exchange: Exchange, caller: Caller, request: wire.GetInstrumentMetadataRequest) -> wire.GetInstrumentMetadataResponse:
    """Facts about the exchange itself."""
    return wire.GetInstrumentMetadataResponse(
        metadata={"exchange_name": exchange.credentials.environment.name, "server_version": "sandbox", "timezone": "America/New_York"}
    )


# ---- filters: what an instrument's metadata map says is what its filters find


def _listed(exchange: Exchange, request: wire.ListInstrumentsRequest) -> wire.ListInstrumentsResponse:
    tests = list(_tests(exchange, request))
    length = page_length(request.page_size, PAGE_DEFAULT)
    if tests or request.symbols:
        found = _candidates(exchange, request.symbols)
        for test in tests:
            found = filter(test, found)
        page, token = page_of(found, request.page_token, length)
    else:  # by name, so that only what is shown is made
        symbols, token = page_of(exchange.instruments.symbols(), request.page_token, length)
        page = [exchange.instruments.require(symbol) for symbol in symbols]
    return wire.ListInstrumentsResponse(
        instruments=[instrument_as_it_is(exchange, instrument) for instrument in page], next_page_token=token, eof=not token
    )


def _candidates(exchange: Exchange, symbols: list[str]) -> Iterable[Instrument]:
    if not symbols:
        return exchange.instruments
    named = (exchange.instruments.get(symbol) for symbol in dict.fromkeys(symbols))
    return (instrument for instrument in named if instrument is not None)


def _tests(exchange: Exchange, request: wire.ListInstrumentsRequest) -> Iterator[Callable[[Instrument], bool]]:
    """One test for each filter that is set."""
    state = exchange.trading.state
    states = frozenset(request.states)
    if states:
        yield lambda instrument: state(instrument.symbol) in states
    if request.tradable_filter == wire.TradableFilter.TRADABLE_FILTER_NON_TRADABLE or request.type not in (
        wire.InstrumentType.INSTRUMENT_TYPE_UNSET,
        wire.InstrumentType.INSTRUMENT_TYPE_EVENT,
    ):
        yield lambda instrument: False  # every instrument here is a tradable event contract
    if request.clearing_sym:
        yield lambda instrument: _clearing(instrument).startswith(request.clearing_sym)
    if request.game_id:
        reference = exchange.reference
        yield lambda instrument: (event := reference.event_of(instrument.symbol)) is not None and event.game_id == request.game_id
    for asked, of in (
        (request.product_id, _product),
        (request.event_series, _series),
        (request.market_category, _category),
        (request.market_type, _market_type),
        (request.event_category, _category_code),
    ):
        if asked:
            yield _equal(of, asked)
    yield from _date_tests(request)
    if request.filter is not None:
        columns = _columns(state)
        conditions = parse_clause(request.filter.where_clause)
        named = {condition.column for condition in conditions}
        if named & _FAILING and exchange.ctx.quirks.strikes(INSTRUMENT_COLUMNS_FAIL):
            if named & _FAILING != {_EVENT}:
                raise InternalFailure(rule="instrument_columns_fail", remedy="filter these columns yourself, or by the fields of the request")
            yield lambda instrument: False
        yield predicate(conditions + field_conditions(request.filter.field_filters, tuple(columns)), columns | _METADATA_COLUMNS)


def _date_tests(request: wire.ListInstrumentsRequest) -> Iterator[Callable[[Instrument], bool]]:
    """Bounds on start and expiration date, both inclusive."""
    for name, at in (("start_time", _start), ("end_time", _expiration)):
        low, high = (_day(getattr(request, f"{name}_{bound}"), f"{name}_{bound}") for bound in ("gte", "lte"))
        if low:
            yield _not_before(at, low)
        if high:
            yield _not_after(at, high)


def _equal(of: Callable[[Instrument], str], asked: str) -> Callable[[Instrument], bool]:
    return lambda instrument: of(instrument) == asked


def _not_before(at: Callable[[Instrument], Instant], day: str) -> Callable[[Instrument], bool]:
    return lambda instrument: eastern_date(at(instrument)).isoformat() >= day


def _not_after(at: Callable[[Instrument], Instant], day: str) -> Callable[[Instrument], bool]:
    return lambda instrument: eastern_date(at(instrument)).isoformat() <= day


def _day(given: str, name: str) -> str:
    """A date as it was given, or that of a timestamp; "" for none."""
    if not given:
        return ""
    try:
        return eastern_date(parse_instant(given)).isoformat()
    except ValueError:
        raise InvalidRequest(f"{name}: not a date: {given[:40]!r}", rule="S4.3-13", remedy="write YYYY-MM-DD") from None


def _columns(state: Callable[[str], InstrumentState]) -> dict[str, Column[Instrument]]:
    return {
        "symbol": text(lambda instrument: instrument.symbol),
        "state": member(wire.InstrumentState, "INSTRUMENT_STATE_", lambda instrument: state(instrument.symbol)),
        "product_id": text(_product),
        "event_series": text(_series),
        "event_category": text(_category_code),
        "clearing_sym": text(_clearing),
        "clearing_house": text(lambda instrument: CLEARING_HOUSE),
    }


def _metadata(key: str) -> Column[Instrument]:
    return text(lambda instrument: instrument.metadata.get(key, ""))


# Columns of the metadata map that a where_clause may name, to no good as documented.
_EVENT = "event_id"
_METADATA_COLUMNS = {key: _metadata(key) for key in ("instrument_product", "outcome_type", "event_subcategory", _EVENT)}
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
    return instrument.metadata.get("event_category") or _CATEGORY_CODES.get(instrument.category, instrument.category[:3].upper())


def _market_type(instrument: Instrument) -> str:
    return instrument.market_type


def _start(instrument: Instrument) -> Instant:
    return instrument.start


def _expiration(instrument: Instrument) -> Instant:
    return instrument.expiration
