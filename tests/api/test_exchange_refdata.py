"""Instruments as the exchange lists them, their filters and pages, and their settlement."""

from __future__ import annotations

import pytest
from small_exchange import FINE, WHOLE, caller, small_exchange

from sim.api.exchange.market_data import get_instrument_settlement
from sim.api.exchange.reference_data import (
    get_instrument,
    get_instrument_metadata,
    list_instruments,
    list_symbols,
)
from sim.contract.messages import exchange_settlement_v1 as settlement
from sim.contract.messages import exchange_v1 as wire
from sim.core.exchange import Exchange
from sim.core.model.enums import InstrumentState
from sim.core.model.instrument import Instrument
from sim.core.model.refusals import InvalidRequest, NotFound


def symbols(exchange: Exchange, **asked: object) -> list[str]:
    return [
        instrument.symbol for instrument in exchange.acme.ask(list_instruments, **asked).instruments
    ]


def test_an_instrument_carries_its_scales_tick_limits_and_state() -> None:
    exchange = small_exchange()
    result = exchange.acme.ask(get_instrument, symbol=FINE).instrument
    assert result is not None and result.price_limit is not None
    assert (result.price_scale, result.fractional_qty_scale, result.minimum_trade_qty) == (
        1000,
        100,
        10,
    )
    assert result.tick_size == 0.005
    assert (result.price_limit.low, result.price_limit.high) == (10, 990)
    assert result.state == InstrumentState.OPEN
    with pytest.raises(NotFound):
        exchange.acme.ask(get_instrument, symbol="no-such")


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ({}, [WHOLE, FINE]),
        ({"symbols": [FINE, "no-such", FINE]}, [FINE]),
        ({"product_id": "aec"}, [WHOLE, FINE]),
        ({"product_id": "other"}, []),
        ({"event_series": "nba"}, [WHOLE]),
        ({"market_category": "crypto"}, [FINE]),
        ({"market_type": "moneyline"}, [WHOLE]),
        ({"event_category": "SPR"}, [WHOLE]),
        ({"clearing_sym": "aec-crypto"}, [FINE]),
        ({"tradable_filter": 2}, [WHOLE, FINE]),
        ({"tradable_filter": 1}, []),
        ({"type": 9}, [WHOLE, FINE]),
        ({"type": 2}, []),
        ({"states": [InstrumentState.SUSPENDED]}, [FINE]),
        ({"states": [InstrumentState.SUSPENDED, InstrumentState.OPEN]}, [WHOLE, FINE]),
        ({"states": [InstrumentState.CLOSED]}, []),
        ({"start_time_gte": "2026-08-19", "end_time_lte": "2026-09-28"}, [WHOLE, FINE]),
        ({"start_time_gte": "2026-08-20"}, []),
        (
            {
                "filter": wire.InstrumentFilter(
                    where_clause="state = 'OPEN' AND symbol LIKE 'aec-%'"
                )
            },
            [WHOLE],
        ),
        ({"filter": wire.InstrumentFilter(where_clause="event_category IN ('CRY')")}, [FINE]),
        (
            {
                "filter": wire.InstrumentFilter(
                    field_filters=[
                        wire.FieldFilter(field="event_series", operator=1, string_value="nba")
                    ]
                )
            },
            [WHOLE],
        ),
    ],
)
def test_every_filter_that_is_set_must_hold(asked: dict[str, object], expected: list[str]) -> None:
    exchange = small_exchange()
    exchange.trading.listings.change_state(FINE, InstrumentState.SUSPENDED)
    assert symbols(exchange, **asked) == expected


@pytest.mark.parametrize(
    "asked",
    [
        {"start_time_gte": "soon"},
        {"filter": wire.InstrumentFilter(where_clause="nonsense")},
        {"page_token": "zzz"},
        {"page_size": -1},
    ],
)
def test_a_filter_that_cannot_be_read_is_an_invalid_request(asked: dict[str, object]) -> None:
    with pytest.raises(InvalidRequest):
        symbols(small_exchange(), **asked)


def test_pages_hold_fifty_by_default_at_most_a_thousand_and_the_last_one_says_so() -> None:
    exchange = small_exchange()
    for index in range(60):
        exchange.trading.listings.list_instrument(Instrument(symbol=f"more-{index:03d}"))
    stranger = caller(exchange, None)
    first = list_instruments(exchange, stranger, wire.ListInstrumentsRequest())
    assert len(first.instruments) == 50 and not first.eof and first.next_page_token
    second = list_instruments(
        exchange, stranger, wire.ListInstrumentsRequest(page_token=first.next_page_token)
    )
    assert len(second.instruments) == 12 and second.eof and not second.next_page_token
    assert (
        len(
            list_instruments(
                exchange, stranger, wire.ListInstrumentsRequest(page_size=5000)
            ).instruments
        )
        == 62
    )
    listed = [instrument.symbol for instrument in (*first.instruments, *second.instruments)]
    assert listed == list_symbols(exchange, stranger, wire.ListSymbolsRequest()).symbols


def test_the_exchange_tells_its_name_version_and_time_zone() -> None:
    exchange = small_exchange()
    metadata = exchange.acme.ask(get_instrument_metadata).metadata
    assert set(metadata) == {"exchange_name", "server_version", "timezone"}


def test_a_settlement_shows_once_it_is_final() -> None:
    exchange = small_exchange()

    def ask(symbol: str) -> settlement.GetInstrumentSettlementResponse:
        return exchange.acme.ask(get_instrument_settlement, symbol=symbol)

    assert ask(WHOLE).stats is None
    exchange.trading.listings.settle(WHOLE, 100, text="YES", preliminary=True)
    assert ask(WHOLE).stats is None
    exchange.trading.listings.settle(WHOLE, 0, text="NO")
    result = ask(WHOLE)
    assert result.stats is not None
    assert (
        result.stats.settlement_px,
        result.stats.settlement_preliminary,
        result.price_scale,
    ) == (0, False, 100)
    for symbol in ("", "/x", "!x"):
        with pytest.raises(InvalidRequest):
            ask(symbol)
    with pytest.raises(NotFound):
        ask("no-such")
