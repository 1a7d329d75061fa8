"""Everything that money through a source refuses, with its sentence, and what is just allowed: the
control plane moves it, the funding calls and the balance show it.
"""

from __future__ import annotations

from decimal import Decimal

import pytest

from sim.core.model.refusals import Conflict, InvalidRequest, NotFound, Refusal
from tests.api import test_exchange_funding as funding
from tests.kit import Desk, begin

SOURCES = """
name: sources
extends: quickstart
world:
  firms:
    - name: firms/atlas
      funding_sources:
        - {id: limited, max_deposit: "100"}
        - {id: shut, disabled: true}
        - {id: open}
"""


@pytest.fixture
def world() -> Desk:
    return begin(SOURCES)


def dollars(world: Desk) -> Decimal:
    asked = {"name": world.account(), "currency": "USD"}
    result = world.trader().send("/v1/positions/balance", asked, "balance")
    return Decimal(result)


def transactions(world: Desk) -> list[tuple[str, str]]:
    """(state, amount) of the account's transactions."""
    params = {"accountId": world.account()}
    rows = world.trader().read("/v1/funding/transactions", "transactions", **params)
    return [(funding.short(row["transactionState"]), row["amount"]) for row in rows]


def refused(world: Desk, kind: type[Refusal], text: str, amount: str, source: str = "open") -> None:
    """The account is not funded, and nothing of it shows."""
    before = dollars(world), transactions(world)
    with pytest.raises(kind, match=text):
        funding.fund(world, amount, source=source)
    world.advance("5m")
    assert (dollars(world), transactions(world)) == before


@pytest.mark.parametrize("amount", ["100.01", "1000"])
def test_a_source_takes_no_deposit_above_its_greatest(world: Desk, amount: str) -> None:
    refused(world, Conflict, r"limited accepts at most 100\.00 at a time", amount, "limited")


def test_a_deposit_of_exactly_the_greatest_and_any_withdrawal_pass(world: Desk) -> None:
    before = dollars(world)
    funding.fund(world, "100", source="limited")
    world.advance("5m")
    assert dollars(world) == before + 100
    funding.fund(world, "-150", source="limited")  # the bound is one of deposits
    world.advance("5m")
    assert dollars(world) == before - 50
    opening = ("COMPLETED", "250000.00")
    assert transactions(world) == [opening, ("COMPLETED", "100.00"), ("COMPLETED", "150.00")]


def test_a_source_without_a_bound_takes_any_deposit(world: Desk) -> None:
    before = dollars(world)
    funding.fund(world, "1000000", source="open")
    world.advance("5m")
    assert dollars(world) == before + 1_000_000


@pytest.mark.parametrize("amount", ["5", "-5"])
def test_a_disabled_source_moves_nothing(world: Desk, amount: str) -> None:
    refused(world, Conflict, "funding source shut is disabled", amount, "shut")


def test_an_unknown_source_and_no_amount_are_refused(world: Desk) -> None:
    refused(world, Refusal, "nowhere", "5", "nowhere")
    refused(world, InvalidRequest, "amount must not be zero", "0")


def test_no_more_is_paid_out_than_an_account_can_spare(world: Desk) -> None:
    """Money that open orders reserve stays; everything else may go, to the last cent."""
    instrument = world.quiet()
    placed = world.enter(instrument, "buy", 40, 100)
    assert placed.status == 200
    spare = dollars(world) - 40
    refused(world, Conflict, "has only .* available", f"-{spare + Decimal('0.01')}")
    funding.fund(world, f"-{spare}", source="open")
    world.advance("5m")
    assert dollars(world) == 40
    refused(world, Conflict, "has only 0.00 available", "-0.01")


# ---- refunds and decisions


def test_only_what_came_through_a_source_and_is_complete_is_refunded(world: Desk) -> None:
    at_once = funding.fund(world, "10")
    with pytest.raises(Conflict, match="only a completed transaction through a source"):
        funding.decide(world, at_once["transaction"], state="refunded")
    begun = funding.fund(world, "10", source="open")
    with pytest.raises(Conflict, match="only a completed transaction through a source"):
        funding.decide(world, begun["transaction"], state="refunded")
    funding.decide(world, begun["transaction"], state="cancelled")
    with pytest.raises(Conflict, match="only a completed transaction through a source"):
        funding.decide(world, begun["transaction"], state="refunded")
    with pytest.raises(Conflict, match="already CANCELLED"):
        funding.decide(world, begun["transaction"], state="completed")
    with pytest.raises(NotFound, match="unknown funding transaction: nothing"):
        funding.decide(world, "nothing", state="completed")


@pytest.mark.parametrize("amount", ["0", "-1", "50.01"])
def test_a_refund_is_above_zero_and_at_most_what_is_left(world: Desk, amount: str) -> None:
    transaction = funding.fund(world, "50", source="open")["transaction"]
    world.advance("5m")
    before = dollars(world), transactions(world)
    with pytest.raises(InvalidRequest, match="amount"):
        funding.decide(world, transaction, state="refunded", amount=amount)
    assert (dollars(world), transactions(world)) == before
    funding.decide(world, transaction, state="refunded", amount="0.01")
    with pytest.raises(InvalidRequest, match=r"above zero and at most 49\.99"):
        funding.decide(world, transaction, state="refunded", amount="50")
    funding.decide(world, transaction, state="refunded", amount="49.99")
    assert dollars(world) == before[0] - 50
    with pytest.raises(Conflict, match="only a completed transaction"):
        funding.decide(world, transaction, state="refunded")


def test_a_deposit_that_was_spent_is_not_refunded_and_a_withdrawal_comes_back(world: Desk) -> None:
    transaction = funding.fund(world, "50", source="open")["transaction"]
    world.advance("5m")
    rest = funding.fund(world, f"-{dollars(world) - 20}", source="open")["transaction"]
    world.advance("5m")
    with pytest.raises(Conflict, match=r"has only 20\.00 available"):
        funding.decide(world, transaction, state="refunded")
    assert dollars(world) == 20
    funding.decide(world, rest, state="refunded", amount="40")
    assert dollars(world) == 60
    funding.decide(world, transaction, state="refunded")
    assert dollars(world) == 10
