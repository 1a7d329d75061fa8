"""Funding accounts, sources, transactions and their stream, over REST and gRPC."""

from __future__ import annotations

from itertools import pairwise
from typing import Any
from urllib.parse import quote

import pytest

from sim import Simulation, load_scenario
from sim.contract.messages import exchange_cashmovement_v1 as cash
from sim.contract.messages import exchange_v1 as wire
from sim.contract.openapi import openapi_document
from sim.core.model.refusals import Conflict, InvalidRequest
from sim.kernel.instants import format_instant, trade_date
from sim.run.client.client import Stream
from sim.world.format.yaml_tree import ScenarioError
from tests.journeys import firm, order
from tests.kit import Desk, begin, refused

STATE = wire.FundingTransactionState
FLOW = ["PENDING", "PROCESSING", "ACKNOWLEDGED", "COMPLETED"]


def bank(world: Desk) -> str:
    return f"{world.firm.id}-bank"


def fund(world: Desk, amount: str, **how: str) -> dict[str, Any]:
    return world.operate("account.fund", world.account(), amount=amount, **how).value


def decide(world: Desk, transaction: str, **how: str) -> dict[str, Any]:
    return world.operate("funding.decide", transaction, **how).value


def balance(world: Desk) -> float:
    return float(
        world.trader().send(
            "/v1/positions/balance", {"name": world.account(), "currency": "USD"}, "balance"
        )
    )


def read(world: Desk, transaction: str) -> dict[str, Any]:
    return world.trader().read(f"/v1/funding/transactions/{transaction}", "transaction")


def short(state: str) -> str:
    return state.removeprefix("TRANSACTION_STATE_")


def test_a_firm_sees_its_pool_and_its_participants_and_a_participant_only_itself(
    world: Desk,
) -> None:
    result = world.firm
    rows = world.exchange(result).read("/v1/funding/accounts")
    assert [row["id"] for row in rows["accounts"]] == [
        result.clearing_account,
        *(user.account for user in result.users),
    ]
    assert [row["accountType"] for row in rows["accounts"]][:2] == [
        "ACCOUNT_TYPE_CLEARING",
        "ACCOUNT_TYPE_HOLDING",
    ]
    assert rows["eof"] is True and "nextPageToken" not in rows
    assert [row["id"] for row in world.trader().read("/v1/funding/accounts", "accounts")] == [
        world.account()
    ]
    first = world.exchange(result).read("/v1/funding/accounts", pageSize=1)
    second = world.exchange(result).read(
        "/v1/funding/accounts", pageSize=1, pageToken=first["nextPageToken"]
    )
    assert second["accounts"] == rows["accounts"][1:2]
    for expected, count in (
        ({"accountIds": [world.account(), "nope"]}, 1),
        ({"accountType": "ACCOUNT_TYPE_CLEARING"}, 1),
        ({"fundingSourceIds": bank(world)}, len(result.users) + 1),
        ({"clearingMemberIds": "nope"}, 0),
    ):
        assert (
            len(world.exchange(result).read("/v1/funding/accounts", "accounts", **expected))
            == count
        ), expected
    assert world.exchange(world.poor_firm).get("/v1/funding/accounts").status == 403


def test_an_account_is_changed_where_a_firm_may_and_refused_where_not(world: Desk) -> None:
    client = world.partner
    path = f"/v1/funding/accounts/{quote(world.account(), safe='')}"
    changed = client.request(
        "PATCH", path, json={"account": {"name": "Main", "aliases": {"erp": "17"}}}
    )
    assert changed.status == 200, changed
    again = client.request(
        "PATCH", path, json={"account": {"destinationFundingSource": bank(world)}}
    ).json()["account"]
    assert (again["id"], again["name"], again["aliases"], again["destinationFundingSource"]) == (
        world.account(),
        "Main",
        {"erp": "17"},
        bank(world),
    )
    listed = client.read("/v1/funding/accounts", "accounts", accountIds=world.account())
    assert listed == [again]
    fixed = ({"accountType": "ACCOUNT_TYPE_REVENUE"}, {"riskAccountId": "x"})
    for wrong in (
        *fixed,
        {"associatedFundingSources": ["nope"]},
        {"destinationFundingSource": "nope"},
    ):
        assert client.request("PATCH", path, json={"account": wrong}).status == 400, wrong
    # What was read may be sent back as it is; the path decides which account is meant.
    assert (
        client.request("PATCH", path, json={"account": again | {"id": "elsewhere"}}).json()[
            "account"
        ]
        == again
    )
    assert (
        client.request("PATCH", "/v1/funding/accounts/nope", json={"account": {"name": "x"}}).status
        == 403
    )
    assert world.trader(1).request("PATCH", path, json={"account": {"name": "x"}}).status == 403
    world.assume("funding.update", "replace")
    assert (
        client.request("PATCH", path, json={"account": {"name": "Other"}}).json()["account"][
            "aliases"
        ]
        == {}
    )


def test_openapi_names_the_account_of_the_path_without_a_dot(world: Desk) -> None:
    sim = world.simulation
    item = openapi_document(sim.contract, "exchange", sim.now)["paths"][
        "/v1/funding/accounts/{account_id}"
    ]["patch"]
    assert [parameter["name"] for parameter in item["parameters"] if parameter["in"] == "path"] == [
        "account_id"
    ]


def test_every_kind_of_source_has_its_details() -> None:
    kinds = {
        "bank": "bankAccountDetails",
        "aeropay": "aeropayBankAccountDetails",
        "card": "checkoutCardPaymentMethodDetails",
    }
    kinds["apple_pay"] = "checkoutApplePayPaymentMethodDetails"
    sources = "\n".join(
        f"        - {{id: s-{kind}, type: {kind}, max_deposit: '50'}}" for kind in kinds
    )
    text = (
        "name: sources\nextends: quickstart\nworld:\n  firms:\n    - name: NAME\n     "
        f" funding_sources:\n{sources}\n"
    )
    name = firm(Simulation(load_scenario("quickstart"))).name
    world = begin(text.replace("NAME", name))
    client = world.partner
    rows = client.read("/v1/funding/sources", "fundingSources")
    assert [
        [key for key, value in row.items() if key.endswith("Details") and value] for row in rows
    ] == [[key] for key in kinds.values()]
    (hours,) = rows[0]["businessSchedule"]["businessHours"]
    assert [day.rpartition("_")[2] for day in hours["daysOfWeek"]] == [
        *("MONDAY", "TUESDAY", "WEDNESDAY", "THURSDAY", "FRIDAY")
    ]
    assert (hours["startTime"]["hour"], hours["duration"]) == (9, "28800s")
    assert rows[0]["businessSchedule"]["timezone"] == "America/New_York"
    assert rows[0]["transactionLimits"]["currencyLimits"][0]["maxDepositRequestAmount"] == {
        "value": "50.00"
    }
    chosen = client.read(
        "/v1/funding/sources",
        "fundingSources",
        fundingSourceType="FUNDING_SOURCE_TYPE_CHECKOUT_CARD",
    )
    assert [row["id"] for row in chosen] == ["s-card"]
    chosen = client.read(
        "/v1/funding/sources", "fundingSources", fundingSourceIds=["s-card", "s-bank", "another"]
    )
    assert sorted(row["id"] for row in chosen) == ["s-bank", "s-card"]


def test_two_sources_of_one_name_are_a_mistake_of_the_scenario() -> None:
    text = (
        "name: twins\nextends: quickstart\nworld:\n  firms:\n    - {name: firms/atlas,"
        " funding_sources: [{id: a}, {id: b}, {id: a}]}\n"
    )
    with pytest.raises(ScenarioError, match="text:5:68: two funding sources have the id 'a'"):
        load_scenario(text)


@pytest.mark.parametrize("pair", ["nobody", "../keys/atlas"])
def test_a_key_pair_that_is_not_there_is_a_mistake_of_the_scenario(pair: str) -> None:
    text = f"name: keys\nextends: quickstart\nworld: {{firms: [{{name: firms/x, key: {pair}}}]}}\n"
    with pytest.raises(ScenarioError, match=f"text:3:38: there is no key pair '{pair}'"):
        load_scenario(text)


# ---- transactions


def test_what_moves_at_once_is_a_completed_transaction_that_agrees_with_the_ledger(
    world: Desk,
) -> None:
    created = fund(world, "12.34")
    row = read(world, created["transaction"])
    entry = world.trader().read(
        "/v1/funding/balance-ledger", "entries", 0, account=world.account(), newestFirst="true"
    )
    assert (row["amount"], row["transactionType"], short(row["transactionState"])) == (
        "12.34",
        "TRANSACTION_TYPE_DEPOSIT",
        "COMPLETED",
    )
    assert (row["beforeBalance"], row["afterBalance"], row["riskTransactionId"]) == (
        entry["beforeBalance"],
        entry["afterBalance"],
        entry["id"],
    )
    assert row["ledgerEntryType"] == "LEDGER_ENTRY_TYPE_CREDIT" and row["fundingSourceId"] == ""
    other = world.trader(1)
    assert other.get(f"/v1/funding/transactions/{created['transaction']}").status == 404
    assert (
        other.get("/v1/funding/transactions", params={"accountId": world.account()}).status == 403
    )


@pytest.mark.parametrize(
    ("displayed", "kinds"),
    [("transfer", ["TRANSFER", "TRANSFER"]), ("direction", ["WITHDRAWAL", "DEPOSIT"])],
)
def test_a_partners_transfer_is_two_transactions_under_one_id(
    world: Desk, displayed: str, kinds: list[str]
) -> None:
    world.assume("funding.transfers_shown_as", displayed)
    result = world.firm
    transfer = cash.Transfer(
        participant_account_id=world.account(),
        external_reference="r",
        amount="5.00",
        currency="USD",
        reason=cash.TransferReason.TRANSFER_REASON_DEPOSIT,
    )
    moved = (
        world.rpc(result)
        .call(
            "CashMovementService.CreateCashMovement",
            cash.CreateCashMovementRequest(idempotency_key="k", transfer=transfer),
        )
        .cash_movement
    )
    rows = world.exchange(result).read(
        "/v1/funding/transactions", "transactions", fundingTransactionId=moved.dco_transfer_id
    )
    assert [row["accountId"] for row in rows] == [result.clearing_account, world.account()]
    assert [row["transactionType"].removeprefix("TRANSACTION_TYPE_") for row in rows] == kinds
    assert [row["ledgerEntryType"] for row in rows] == [
        "LEDGER_ENTRY_TYPE_DEBIT",
        "LEDGER_ENTRY_TYPE_CREDIT",
    ]


def test_a_deposit_through_a_source_is_credited_when_it_completes(world: Desk) -> None:
    before = balance(world)
    created = fund(world, "100", source=bank(world))
    observed = []
    for _ in FLOW:
        row = read(world, created["transaction"])
        observed.append(short(row["transactionState"]))
        assert (balance(world) - before, bool(row["afterBalance"])) == (
            (100, True) if observed[-1] == "COMPLETED" else (0, False)
        )
        world.advance("30s")
    assert observed == FLOW
    assert short(read(world, created["transaction"])["transactionState"]) == "COMPLETED"


def test_a_withdrawal_through_a_source_is_gone_at_once_and_back_when_it_is_cancelled(
    world: Desk,
) -> None:
    before = balance(world)
    created = fund(world, "-100", source=bank(world), script="cancel")
    row = read(world, created["transaction"])
    assert (balance(world), row["balanceReservation"], row["ledgerEntryType"]) == (
        before - 100,
        "100.00",
        "LEDGER_ENTRY_TYPE_DEBIT",
    )
    world.advance("2m")
    row = read(world, created["transaction"])
    assert (balance(world), short(row["transactionState"]), row["balanceReservation"]) == (
        before,
        "CANCELLED",
        "",
    )
    assert fund(world, "-100", source=bank(world))["balance"] and not world.advance("2m").effects
    assert balance(world) == before - 100
    types = [entry["entryType"] for entry in _ledger(world)[-3:]]
    assert types == [
        "PENDING_WITHDRAWAL_CREATION",
        "WITHDRAWAL_REJECTION",
        "PENDING_WITHDRAWAL_CREATION",
    ]


def _ledger(world: Desk) -> list[dict[str, Any]]:
    return world.trader().read("/v1/funding/balance-ledger", "entries", account=world.account())


@pytest.mark.parametrize(
    ("decision", "review", "moved"), [("completed", "APPROVED", 50), ("cancelled", "REJECTED", 0)]
)
def test_what_is_held_waits_for_a_decision_by_hand(
    world: Desk, decision: str, review: str, moved: int
) -> None:
    before = balance(world)
    created = fund(world, "50", source=bank(world), script="hold")
    world.advance("1h")
    row = read(world, created["transaction"])
    assert (short(row["transactionState"]), row["reviewStatus"]) == (
        "PROCESSING",
        "REVIEW_STATUS_PENDING",
    )
    decide(world, created["transaction"], state=decision)
    row = read(world, created["transaction"])
    assert (short(row["transactionState"]), row["reviewStatus"]) == (
        decision.upper(),
        f"REVIEW_STATUS_{review}",
    )
    assert balance(world) - before == moved
    with pytest.raises(Conflict):
        decide(world, created["transaction"], state="completed")


def test_a_refund_is_a_return_of_its_own_and_never_more_than_came(world: Desk) -> None:
    before = balance(world)
    created = fund(world, "50", source=bank(world))
    with pytest.raises(Conflict):
        decide(world, created["transaction"], state="refunded")
    world.advance("2m")
    decide(world, created["transaction"], state="refunded", amount="20")
    assert short(read(world, created["transaction"])["transactionState"]) == "PARTIALLY_REFUNDED"
    with pytest.raises(InvalidRequest):
        decide(world, created["transaction"], state="refunded", amount="30.01")
    decide(world, created["transaction"], state="refunded")
    assert short(read(world, created["transaction"])["transactionState"]) == "REFUNDED"
    assert balance(world) == before
    rows = world.trader().read(
        "/v1/funding/transactions", "transactions", parentTransactionIds=created["transaction"]
    )
    assert [(row["transactionType"], row["amount"]) for row in rows] == [
        ("TRANSACTION_TYPE_RETURN", "20.00"),
        ("TRANSACTION_TYPE_RETURN", "30.00"),
    ]


def test_all_that_there_is_can_be_paid_out_and_not_a_cent_more(world: Desk) -> None:
    instrument = world.quiet()
    placed = world.enter(instrument, "buy", 40, 5)
    assert placed.status == 200
    free = balance(world) - 2  # an order holds two dollars
    with pytest.raises(Conflict):
        fund(world, f"-{free + 0.01:.2f}", source=bank(world))
    fund(world, f"-{free:.2f}", source=bank(world))
    assert balance(world) == 2
    with pytest.raises(Conflict):
        fund(world, "-0.01", source=bank(world))


def test_a_refund_may_be_a_single_cent_but_never_nothing(world: Desk) -> None:
    created = fund(world, "50", source=bank(world))
    world.advance("2m")
    for amount in ("0", "-1", "50.01"):
        with pytest.raises(InvalidRequest):
            decide(world, created["transaction"], state="refunded", amount=amount)
    before = balance(world)
    decide(world, created["transaction"], state="refunded", amount="0.01")
    assert before - balance(world) == pytest.approx(0.01)
    decide(world, created["transaction"], state="refunded", amount="49.99")
    assert short(read(world, created["transaction"])["transactionState"]) == "REFUNDED"


def test_what_was_spent_cannot_be_refunded_and_what_is_left_can(world: Desk) -> None:
    created = fund(world, "50", source=bank(world))
    world.advance("2m")
    fund(world, f"-{balance(world) - 20:.2f}", source=bank(world))
    with pytest.raises(Conflict):
        decide(world, created["transaction"], state="refunded", amount="20.01")
    decide(world, created["transaction"], state="refunded", amount="20")
    assert balance(world) == 0


def test_transactions_are_filtered_sorted_and_paged(world: Desk) -> None:
    client = world.trader()
    fund(world, "1")
    world.advance("1m")
    middle = world.now
    fund(world, "-2")
    fund(world, "3", source=bank(world), script="hold")
    world.advance("1m")

    def amounts(**params: object) -> list[str]:
        return [
            row["amount"]
            for row in client.read("/v1/funding/transactions", "transactions", **params)
        ]

    opening = amounts()[0]
    assert amounts() == [opening, "1.00", "2.00", "3.00"]
    assert amounts(newestFirst="true") == ["3.00", "2.00", "1.00", opening]
    assert amounts(transactionTypes="TRANSACTION_TYPE_WITHDRAWAL") == ["2.00"]
    assert (
        amounts(transactionStates="TRANSACTION_STATE_PROCESSING")
        == amounts(reviewStatuses="REVIEW_STATUS_PENDING")
        == ["3.00"]
    )
    assert amounts(fundingSourceTypes="FUNDING_SOURCE_TYPE_BANK_ACCOUNT") == ["3.00"]
    assert amounts(startTime=format_instant(middle)) == ["2.00", "3.00"]
    assert amounts(endTime=format_instant(middle - 1)) == [opening, "1.00"]
    assert amounts(currency="EUR") == []
    day = trade_date(world.now)
    today = {"year": day.year, "month": day.month, "day": day.day}
    assert amounts(**{f"startDate.{name}": value for name, value in today.items()}) == amounts()
    assert (
        amounts(**{f"endDate.{name}": value - (name == "year") for name, value in today.items()})
        == []
    )
    assert (
        client.get(
            "/v1/funding/transactions",
            params={"startDate.year": 2026, "startDate.month": 13, "startDate.day": 1},
        ).status
        == 400
    )
    first = client.read("/v1/funding/transactions", pageSize=3)
    assert (
        client.read(
            "/v1/funding/transactions",
            "transactions",
            0,
            "amount",
            pageSize=3,
            pageToken=first["nextPageToken"],
        )
        == "3.00"
    )


def test_an_account_below_zero_requires_a_deposit_until_it_has_one(world: Desk) -> None:
    client = world.trader()
    assert client.read("/v1/funding/transaction-requirements", "transactionRequirements") == []
    instrument = world.quiet()
    world.enter(instrument, "sell", 1, 100, user=1)
    client.post("/v1/trading/orders", json=order(instrument, "buy", 1, 100))
    world.settle(instrument, "1")
    fund(world, f"-{balance(world):.2f}")
    world.settle(instrument, "0")
    short_of = -balance(world)
    assert short_of > 0
    rows = client.read("/v1/funding/transaction-requirements", "transactionRequirements")
    assert [(row["accountId"], row["transactionType"], float(row["amount"])) for row in rows] == [
        (world.account(), "TRANSACTION_TYPE_DEPOSIT", short_of)
    ]
    world.assume("funding.requirements", False)
    assert client.read("/v1/funding/transaction-requirements", "transactionRequirements") == []
    world.assume("funding.requirements", True)
    fund(world, f"{short_of:.2f}")
    assert client.read("/v1/funding/transaction-requirements", "transactionRequirements") == []


# ---- the stream


def changes(frames: list[Any]) -> list[tuple[str, str, str]]:
    return [
        (
            change.transaction.transaction_id,
            short(STATE(change.previous_state).name),
            short(STATE(change.transaction.transaction_state).name),
        )
        for frame in frames
        for change in frame.changes
    ]


def follow(world: Desk, **request: Any) -> Stream:
    return world.rpc_partner.stream(
        "FundingAPI.CreateFundingTransactionSubscription",
        wire.CreateFundingTransactionSubscriptionRequest(**request),
    )


def test_the_stream_tells_every_step_in_order_at_its_next_look(world: Desk) -> None:
    stream = follow(world)
    assert stream.frames == []
    transaction = fund(world, "10", source=bank(world))["transaction"]
    assert stream.frames == []
    world.advance("15s")
    assert changes(stream.take()) == [(transaction, "PENDING", "PENDING")]
    world.advance("2m")
    frames = stream.take()
    assert changes(frames) == [(transaction, before, after) for before, after in pairwise(FLOW)]
    assert all(
        frame.server_time == frame.changes[-1].change_time
        or frame.server_time > frame.changes[-1].change_time
        for frame in frames
        if frame.changes
    )
    assert [frame for frame in frames if not frame.changes]  # heartbeats


def test_a_client_that_resumes_at_the_last_server_time_misses_nothing(world: Desk) -> None:
    """Cut after every frame; what was read before and after the cut is everything, in order."""
    start = world.now
    total = follow(world)
    for step in range(4):
        fund(world, f"{step + 1}", **({"source": bank(world)} if step % 2 else {}))
        world.advance("20s")
    world.advance("3m")
    frames = total.take()
    total.close()
    everything = list(dict.fromkeys(changes(frames)))
    for cut in range(len(frames)):
        resumed = follow(world, resume_time=frames[cut].server_time)
        assert list(dict.fromkeys(changes(frames[: cut + 1] + resumed.take()))) == everything
        resumed.close()
    filtered = follow(
        world,
        resume_time=start,
        account_ids=[world.account()],
        transaction_types=[wire.FundingTransactionType.TRANSACTION_TYPE_TRANSFER],
    )
    assert changes(filtered.take()) == []
    with refused(7):
        follow(world, account_ids=["nope"])


def test_transactions_survive_a_rewind(world: Desk) -> None:
    transaction = fund(world, "10", source=bank(world))["transaction"]
    world.advance("30s")
    world.simulation.snapshot("under way")
    world.advance("5m")
    settled = read(world, transaction)
    world.simulation.restore("under way")
    world.forget_tokens()
    assert short(read(world, transaction)["transactionState"]) == "PROCESSING"
    world.advance("5m")
    assert read(world, transaction) == settled


REWARD = """\
name: reward
extends: quickstart
world:
  instruments: [{symbol: quoted, tick_size: "0.01", state: OPEN}]
  incentives:
    - symbol: quoted
      rewards: [{account: ACCOUNT, date: "2026-09-08", reward: "12.50", status: PENDING}]
"""


def test_a_reward_is_a_transaction_of_its_own_type() -> None:
    """P16."""
    plain = begin()
    text = REWARD.replace("ACCOUNT", plain.firm.users[0].account)
    world = begin(text)
    world.advance("2d")
    client = world.partner
    (row,) = client.read(
        "/v1/funding/transactions", "transactions", transactionTypes="TRANSACTION_TYPE_INCENTIVE"
    )
    assert (row["amount"], row["transactionType"]) == ("12.50", "TRANSACTION_TYPE_INCENTIVE")
