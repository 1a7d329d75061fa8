"""Every finding of the checker of invariants, brought about on purpose: a headless run of a
scenario, such as `sim run` makes, fails and says what is broken in numbers.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from sim import Simulation, load_scenario
from sim.core.accounts.ledger import HOUSE_CLEARING, HOUSE_FEES
from sim.core.invariants import INVARIANTS
from sim.core.model.commands import PlaceOrder
from sim.core.model.enums import BUY, SELL
from sim.core.model.orders import Order
from sim.core.model.quantities import DOLLAR
from sim.core.trading.trading import Trading
from sim.read import invariant_checks
from sim.read.headless_run import run_scenario

# The maker sells five at 0.60, of which three trade; another maker queues up behind it; the taker
# bids for two at 0.40. Then nothing happens for a minute.
SCENARIO = """
name: whole
extends: quickstart
world:
  instruments: [{symbol: tst-x, tick_size: "0.01", state: OPEN}]
steps:
  - order: {as: maker, symbol: tst-x, side: sell, price: "0.60", qty: "5"}
  - order: {as: taker, symbol: tst-x, side: buy, price: "0.60", qty: "3"}
  - order: {as: noise, symbol: tst-x, side: sell, price: "0.60", qty: "4"}
  - order: {as: taker, symbol: tst-x, side: buy, price: "0.40", qty: "2"}
  - at: +1m
    expect: {book: {symbol: tst-x, bids: ["0.40 x 2"], offers: ["0.60 x 6"]}}
"""
SYMBOL = "tst-x"


class Break(NamedTuple):
    """What is done to the state, the invariant that it breaks, and what the run says of it."""

    do: Callable[[Trading], None]
    invariant: str
    sentence: str


BREAKS: dict[str, Break] = {}


def breaks(invariant: str, text: str) -> Callable[[Callable[[Trading], None]], None]:
    """A function that breaks an invariant: the run fails with these words, a regular expression."""

    def add(do: Callable[[Trading], None]) -> None:
        BREAKS[do.__name__.replace("_", " ")] = Break(do, invariant, text)

    return add


def account(trading: Trading, name: str) -> str:
    """The account that a name of the scenario trades on."""
    return next(item.name for item in trading.ledger if item.name.endswith(f"/{name}"))


@breaks("money", r"all balances sum to 100000000, not to zero")
def money_from_nowhere(trading: Trading) -> None:
    trading.ledger.require(HOUSE_FEES).balance += DOLLAR


@breaks("money", r"the clearing house holds 100000000, not zero")
def money_left_in_clearing(trading: Trading) -> None:
    trading.ledger.require(HOUSE_FEES).balance -= DOLLAR
    trading.ledger.require(HOUSE_CLEARING).balance += DOLLAR


@breaks("money", r"\S+/taker has (\d+)16000000, its last ledger row says \d+")
def a_balance_without_a_row(trading: Trading) -> None:
    trading.ledger.require(account(trading, "taker")).balance += DOLLAR
    trading.ledger.require(HOUSE_FEES).balance -= DOLLAR


@breaks("positions", r"positions in tst-x net to 1, not to zero")
def a_position_against_nobody(trading: Trading) -> None:
    # Open interest follows, so only the sum is wrong; a long needs no margin.
    position = trading.positions.get(account(trading, "taker"), SYMBOL)
    assert position is not None
    position.net += 1
    trading.positions.open_interest[SYMBOL] += 1


@breaks("positions", r"open interest of tst-x is 4, its long positions sum to 3")
def open_interest_of_its_own(trading: Trading) -> None:
    trading.positions.open_interest[SYMBOL] += 1


@breaks("positions", r"margin of \S+/maker is 300000001, its short positions require 300000000")
def margin_for_nothing(trading: Trading) -> None:
    trading.risk._books[account(trading, "maker")].margin += 1


@breaks("orders", r"order \w+: 2 remaining and 3 filled of 6")
def an_order_larger_than_its_parts(trading: Trading) -> None:
    order = next(iter(trading.book(SYMBOL).orders(SELL)))
    order.qty += 1


@breaks("orders", r"order \w+: fills by price are \{\}, filled 3")
def a_fill_at_no_price(trading: Trading) -> None:
    order = next(iter(trading.book(SYMBOL).orders(SELL)))
    order.filled_at = {}


@breaks("orders", r"\S+/taker reserves for 3 on the BUY side of tst-x, 2 work")
def a_reservation_for_more_contracts(trading: Trading) -> None:
    exposure = trading.risk._books[account(trading, "taker")].exposures[SYMBOL]
    exposure.side(BUY).qty += 1


@breaks("orders", r"\S+/taker reserves 81000000 in tst-x, but its open orders could cost 80000000")
def a_reservation_of_more_cash(trading: Trading) -> None:
    exposure = trading.risk._books[account(trading, "taker")].exposures[SYMBOL]
    exposure.side(BUY).cost += 1


@breaks("books", r"tst-x is open and crossed: bid 60, offer 60")
def a_crossed_book(trading: Trading) -> None:
    book = trading.book(SYMBOL)
    book.bids.best = book.offers.best


@breaks("books", r"level 60 of tst-x shows 7, its orders sum to 6")
def a_level_that_shows_too_much(trading: Trading) -> None:
    book = trading.book(SYMBOL)
    book.offers.levels[book.offers.best].qty += 1


@breaks("books", r"level 60 of tst-x is not in order of time: \[\d+, \d+\]")
def a_queue_out_of_turn(trading: Trading) -> None:
    book = trading.book(SYMBOL)
    book.offers.levels[book.offers.best].queue.reverse()


def begun() -> Simulation:
    """The scenario with every order placed; its last step is still to come."""
    sim = Simulation(load_scenario(SCENARIO))
    while len(sim.script.results) < 4:
        due = sim.next_due()
        assert due is not None
        sim.advance_to(due)
    return sim


def test_a_whole_exchange_passes() -> None:
    report = run_scenario(load_scenario(SCENARIO), simulation=begun())
    assert report.ok, list(report.lines())


@pytest.mark.parametrize("broken", BREAKS.values(), ids=BREAKS)
def test_what_is_broken_fails_the_run_and_is_told_in_numbers(broken: Break) -> None:
    sim = begun()
    broken.do(sim.exchange.trading)
    report = run_scenario(load_scenario(SCENARIO), simulation=sim)
    assert not report.ok
    (reported,) = report.broken
    assert re.match(f"{broken.invariant}: {broken.sentence} \\(after input", reported), reported
    assert f"broken: {reported}" in list(report.failures())


# Twenty bids in another instrument come between.
OTHERS = (
    """
name: others
extends: whole.yaml
world:
  instruments: [{symbol: tst-y, tick_size: "0.01", state: OPEN}]
"""
    + "steps:\n"
    + "  - {at: +1s, order: {as: taker, symbol: tst-y, side: buy, price: '0.3', qty: '1'}}\n" * 20
)


@pytest.mark.parametrize("whole_every", [4, 10_000], ids=["now and then", "at the end"])
@pytest.mark.parametrize("broken", BREAKS.values(), ids=BREAKS)
def test_what_breaks_while_another_instrument_is_traded_is_found_and_since_when_it_may_be_there(
    broken: Break, whole_every: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(invariant_checks, "WHOLE_EVERY", whole_every)
    (tmp_path / "whole.yaml").write_text(SCENARIO)
    (tmp_path / "others.yaml").write_text(OTHERS)
    sim = Simulation(load_scenario(str(tmp_path / "others.yaml")))
    enter, placed = sim.exchange.trading.order_service.enter, []

    def spoil_and_enter(order: PlaceOrder) -> Order:
        placed.append(sim.seq + 1)
        if len(placed) == 10:
            broken.do(sim.exchange.trading)
        return enter(order)

    monkeypatch.setattr(sim.exchange.trading.order_service, "enter", spoil_and_enter)
    (reported,) = run_scenario(sim.scenario, simulation=sim).broken
    result = re.match(
        rf"{broken.invariant}: .* \(after input (\d+)(?: or up to (\d+) before)?", reported
    )
    assert result, reported
    last = int(result[1])
    assert last - int(result[2] or 0) <= placed[9] <= last
    if broken.invariant == "money" or whole_every == 4:
        assert last < placed[-1]


def test_every_invariant_is_broken_by_some_test_above() -> None:
    assert {broken.invariant for broken in BREAKS.values()} == set(INVARIANTS)
