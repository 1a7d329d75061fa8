"""Numbers of the retail API: exact both ways."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.api.codecs.json_writer import write_double
from sim.api.rendering.retail_numbers import (
    book_price,
    nearest,
    number,
    price_amount,
    read_price,
    read_quantity,
    two_figures,
)
from sim.contract.messages.retail_v1 import Amount
from sim.core.model.instrument import Instrument
from sim.core.model.quantities import decimal_text
from sim.core.model.refusals import InvalidRequest
from tests.wide_numbers import wide

CENT = Instrument(symbol="cent")
FINE = Instrument(
    symbol="fine", price_scale=1000, tick=5, qty_scale=100, price_low=10, price_high=990
)


@given(wide(0, 10**12, 10, 1000, 10**6, 2**53 // 10**4), st.sampled_from([1, 4, 10, 100, 1000]))
def test_a_quantity_survives_the_way_out_and_back(units: int, scale: int) -> None:
    instrument = Instrument(symbol="x", qty_scale=scale)
    displayed = write_double(number(units, scale))
    assert Decimal(displayed) == Decimal(units) / scale
    assert read_quantity(float(displayed), instrument) == units


@given(
    wide(-(10**12), 10**12, 0, 10, 256, 10**8),
    st.tuples(st.integers(0, 8), st.integers(0, 8)),
    st.integers(0, 4),
)
def test_decimal_text_is_exact_and_the_shortest_with_its_least_places(
    value: int, powers: tuple[int, int], places: int
) -> None:
    scale = 2 ** powers[0] * 5 ** powers[1]
    text = decimal_text(value, scale, places)
    assert Fraction(text) == Fraction(value, scale)
    fraction = text.partition(".")[2]
    assert len(fraction) >= places
    assert len(fraction) == places or not fraction.endswith("0")
    assert text.startswith("-") == (value < 0)


@pytest.mark.parametrize(
    ("value", "units"),
    [(19.99, 1999), (0.29, 29), (1.005, 100), (0.015, 1), (0.1 + 0.2, 30), (10, 1000), (1e-3, 0)],
)
def test_json_numbers_are_read_as_the_decimals_they_show(value: float, units: int) -> None:
    assert read_quantity(value, FINE) == units


def test_quantities_are_cut_to_whole_contracts_where_the_minimum_is_one() -> None:
    instrument = Instrument(symbol="x", qty_scale=100, min_qty=100)
    assert read_quantity(2.75, instrument) == 200
    assert (
        read_quantity(0.5, instrument) == 50
    )  # below the minimum: the exchange refuses it as such


@pytest.mark.parametrize("value", [-1.0, float("nan"), float("inf"), 1e18])
def test_impossible_quantities_are_refused(value: float) -> None:
    with pytest.raises(InvalidRequest):
        read_quantity(value, FINE)


@pytest.mark.parametrize(
    ("text", "instrument", "price", "is_between"),
    [
        ("0.515", CENT, 51, True),
        ("0.5549", FINE, 550, True),
        ("0.55", FINE, 550, False),
        ("1.50", CENT, 150, False),
        ("0.009", CENT, 0, True),
    ],
)
def test_prices_are_cut_down_to_the_tick(
    text: str, instrument: Instrument, price: int, is_between: bool
) -> None:
    """Of a price between two ticks the order takes the one that is no worse for it."""
    amount = Amount(value=text, currency="USD")
    assert read_price(amount, instrument, "price") == (price, is_between)


@pytest.mark.parametrize(
    "amount",
    [
        Amount(value="0.5", currency="EUR"),
        Amount(value="", currency="USD"),
        Amount(value="5e-1"),
        Amount(value="-0.5"),
        Amount(value="1" * 15),
    ],
)
def test_amounts_that_are_no_dollars_are_refused(amount: Amount) -> None:
    with pytest.raises(InvalidRequest):
        read_price(amount, CENT, "price")


@pytest.mark.parametrize(
    ("value", "scale", "displayed"),
    [
        (0, 1, "0"),
        (7, 1, "7"),
        (347_999, 1, "340000"),
        (36_255, 10, "3600"),
        (987, 1000, "0.98"),
        (1, 100, "0.01"),
        (14_502, 4, "3600"),
        (1275, 100, "12"),
    ],
)
def test_sums_of_a_side_are_cut_to_two_significant_figures(
    value: int, scale: int, displayed: str
) -> None:
    assert two_figures(value, scale) == displayed


@pytest.mark.parametrize(
    ("value", "scale", "displayed"),
    [(125, 100, 1), (225, 100, 2), (15, 10, 2), (196, 10, 20), (1, 100, 0), (-19, 10, -2)],
)
def test_deprecated_integers_are_rounded_to_the_nearest(
    value: int, scale: int, displayed: int
) -> None:
    assert nearest(value, scale) == displayed


def test_books_write_four_decimals_and_orders_at_least_two() -> None:
    assert book_price(853, 1000) == Amount(value="0.8530", currency="USD")
    assert book_price(None, 1000) is None
    assert price_amount(50, 100).value == "0.50"
    assert price_amount(555, 1000).value == "0.555"
