"""What handlers of the exchange share: page tokens, where clauses, CSV text, conversions."""

from __future__ import annotations

import csv
import io
from base64 import b64encode
from contextlib import suppress
from enum import IntEnum
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_exchange import FINE, NOW, small_exchange

from sim.api.pipeline.paging import PAGE_MAX, offset_of, page_length, page_of, token_of
from sim.api.rendering.exchange_books import book_message
from sim.api.reports.csv_writer import CHUNK_ROWS, csv_chunks
from sim.api.reports.where_clause import (
    Condition,
    ReportColumn,
    field_conditions,
    member,
    moment,
    number,
    parse_clause,
    predicate,
    text,
    values_of,
)
from sim.contract.messages import exchange_v1 as wire
from sim.contract.messages.exchange_v1 import FilterOperator
from sim.core.model.enums import InstrumentState
from sim.core.model.refusals import InvalidRequest
from sim.kernel.instants import parse_instant
from tests.wide_numbers import wide

# ---- pages


@given(st.lists(st.integers(), max_size=50), st.integers(1, 20))
def test_pages_put_together_are_the_rows(rows: list[int], length: int) -> None:
    observed: list[int] = []
    token = ""
    while True:
        page, token = page_of(rows, token, length)
        observed += page
        if not token:
            break
        assert len(page) == length
    assert observed == rows


@given(wide(0, 10**12, 9, 99, 2**31, 2**32))
def test_a_token_names_its_offset_with_or_without_padding(offset: int) -> None:
    token = token_of(offset)
    assert offset_of(token) == offset_of(token.rstrip("=")) == offset


LAST = 2**53  # the greatest integer that every JSON reader keeps whole
BEYOND = b'{"offset":%d}' % (LAST + 1)


def test_a_page_may_begin_behind_every_row() -> None:
    """R7."""
    assert page_of(range(5), token_of(LAST), 2) == ([], "")


@pytest.mark.parametrize(
    "token",
    [
        "x",
        "%%%",
        "é",
        *(
            b64encode(raw).decode()
            for raw in (b'{"offset":-1}', b'{"offset":1.5}', b'{"o":1}', b"[]", b"\xff", BEYOND)
        ),
    ],
)
def test_what_no_page_ever_carried_is_no_token(token: str) -> None:
    """R7."""
    with pytest.raises(InvalidRequest, match="page_token"):
        offset_of(token)


def test_a_page_has_a_default_and_a_maximum_which_cuts_or_refuses() -> None:
    assert (page_length(0, 50), page_length(7, 50), page_length(PAGE_MAX + 1, 50)) == (
        50,
        7,
        PAGE_MAX,
    )
    for wrong in (-1, PAGE_MAX + 1):
        with pytest.raises(InvalidRequest):
            page_length(wrong, 50, refuse=True)


# ---- where clauses


class Colour(IntEnum):
    COLOUR_RED = 1
    COLOUR_BLUE = 2


class Row(NamedTuple):
    name: str = "a'b"
    size: int = 5
    at: int = parse_instant("2026-09-08T18:00:00Z")
    colour: int = 2


COLUMNS: dict[str, ReportColumn[Row]] = {
    "name": text(lambda row: row.name),
    "size": number(lambda row: row.size),
    "at": moment(lambda row: row.at),
    "colour": member(Colour, "COLOUR_", lambda row: row.colour),
}


@pytest.mark.parametrize(
    ("clause", "holds"),
    [
        ("", True),
        ("  ", True),
        ("name = 'a''b'", True),
        ('name = "a\'b"', True),
        ("name LIKE 'a%'", True),
        ("name like '%b'", True),
        ("name LIKE 'a'", False),
        ("name LIKE 'a.b'", False),
        ("name IN ('x', 'a''b')", True),
        ("name NOT IN ('x')", True),
        ("size = 5 AND size != 6", True),
        ("size > 5", False),
        ("size>=5 and size<=5", True),
        ("size < '6'", True),
        ("size <> 5", False),
        ("at >= '2026-09-08T14:00:00-04:00'", True),
        ("at < '2026-09-08T18:00:00Z'", False),
        ("colour = 'BLUE' AND colour = 'COLOUR_BLUE' AND colour = blue", None),
        ("colour = 'blue'", True),
        ("colour = 2", True),
        ("colour = 'GREEN'", None),
        ("size = 'many'", None),
        ("weight = 1", None),
        ("size", None),
        ("size = 5 OR size = 6", None),
        ("size = 5 AND", None),
        ("name = 'open", None),
        ("size = 5; DROP TABLE orders", None),
        ("x" * 5000, None),
    ],
)
def test_a_clause_holds_or_not_or_cannot_be_read(clause: str, holds: bool | None) -> None:
    """R9."""
    if holds is None:
        with pytest.raises(InvalidRequest):
            predicate(parse_clause(clause), COLUMNS)
    else:
        assert predicate(parse_clause(clause), COLUMNS)(Row()) is holds


@given(st.text(max_size=60))
def test_no_clause_ends_in_anything_but_an_answer_or_an_invalid_request(clause: str) -> None:
    with suppress(InvalidRequest):
        predicate(parse_clause(clause), COLUMNS)(Row())


@given(st.text(max_size=40))
def test_every_text_can_be_asked_for_in_quotes(value: str) -> None:
    quoted = value.replace("'", "''")
    assert parse_clause(f"name = '{quoted}'") == [
        Condition("name", FilterOperator.FILTER_OPERATOR_EQ, (value,))
    ]


def test_structured_filters_are_the_same_conditions() -> None:
    result = field_conditions(
        [
            wire.FieldFilter(
                field="name", operator=9, string_list=wire.StringList(values=["x", "y"])
            ),
            wire.FieldFilter(field="size", operator=6, int_value=5),
            wire.FieldFilter(field="size", operator=3, double_value=6.0),
        ],
        ("name", "size"),
    )
    assert predicate(result, COLUMNS)(Row())
    assert [condition.values for condition in result] == [("x", "y"), ("5",), ("6",)]
    for operator in (0, 77):
        with pytest.raises(InvalidRequest):
            field_conditions([wire.FieldFilter(field="size", operator=operator)], ("size",))


def test_equality_and_in_narrow_a_column_and_nothing_else_does() -> None:
    assert values_of(parse_clause("size > 1 AND name IN ('a', 'b')"), "name") == ("a", "b")
    assert values_of(parse_clause("name LIKE 'a%'"), "name") is None


# ---- CSV


@given(
    st.lists(
        st.text(st.characters(exclude_categories=["Cs", "Cc"]) | st.sampled_from('",\n\r')),
        min_size=1,
        max_size=5,
    )
)
def test_any_text_survives_csv(texts: list[str]) -> None:
    rows = [wire.BalanceLedgerEntry(description=text) for text in texts]
    written = b"".join(csv_chunks(wire.BalanceLedgerEntry, rows)).decode()
    assert [row["description"] for row in csv.DictReader(io.StringIO(written, newline=""))] == texts


def test_the_header_comes_once_and_a_chunk_holds_a_bounded_number_of_rows() -> None:
    rows = [wire.BalanceLedgerEntry(id=str(index)) for index in range(CHUNK_ROWS + 1)]
    first, second = csv_chunks(wire.BalanceLedgerEntry, rows)
    assert (
        first.startswith(b"id,account,currency,before_balance")
        and first.count(b"\r\n") == CHUNK_ROWS + 1
    )
    assert second.startswith(f"{CHUNK_ROWS},".encode()) and second.count(b"\r\n") == 1


# ---- books


def test_a_streamed_book_shows_levels_or_single_orders_and_scales_only_when_asked_for() -> None:
    exchange = small_exchange()
    for qty in (10, 20):
        exchange.ann.buy(400, qty, FINE)
    exchange.ann.buy(395, 30, FINE)
    book, stats = exchange.trading.book(FINE), exchange.trading.stats(FINE)
    levels = book_message(book, InstrumentState.OPEN, stats, NOW, depth=1)
    assert [(entry.px, entry.qty) for entry in levels.bids] == [
        (400, 30)
    ] and levels.price_scale is None
    single = book_message(
        book, InstrumentState.OPEN, stats, NOW, depth=2, unaggregated=True, scales=True
    )
    assert [(entry.px, entry.qty) for entry in single.bids] == [(400, 10), (400, 20)]
    assert (single.price_scale, single.quantity_scale) == (1000, 100)
    book.hidden = True
    hidden = book_message(book, InstrumentState.OPEN, stats, NOW)
    assert hidden.book_hidden and not hidden.bids
