"""Transfers between a partner's pool and its participants; partner orders with a declared fee."""

from __future__ import annotations

import pytest
from small_exchange import (
    ANN,
    ANN_ACCOUNT,
    BOB_ACCOUNT,
    EVE_ACCOUNT,
    NOW,
    POOL,
    advance,
    caller,
    eve,
    limit,
    small_exchange,
)

from sim.api.exchange.ledgers import get_ledger
from sim.api.exchange.partners import (
    cancel_funded_order,
    create_cash_movement,
    create_funded_order,
    create_vendor_order,
    get_cash_movement,
    get_funded_order,
    get_funding_account_balance,
)
from sim.contract.messages import exchange_cashmovement_v1 as cash
from sim.contract.messages import exchange_orderfunding_v1 as funding
from sim.contract.messages import exchange_v1 as wire
from sim.core.exchange import Exchange
from sim.core.model.enums import LedgerEntryType, OrderState, OrderType, Side, TimeInForce
from sim.core.model.quantities import DOLLAR
from sim.core.model.refusals import (
    AlreadyExists,
    InvalidRequest,
    NotFound,
    OrderDone,
    PermissionDenied,
)
from sim.kernel.instants import hours, seconds

CONFIRMED, REJECTED = (
    cash.CashMovementStatus.CASH_MOVEMENT_STATUS_CONFIRMED,
    cash.CashMovementStatus.CASH_MOVEMENT_STATUS_REJECTED,
)
DEPOSIT, WITHDRAWAL, FEES = (cash.TransferReason(number) for number in (1, 2, 3))


def move(exchange: Exchange, key: str = "k1", actor=None, **changes: object) -> cash.CashMovement:
    fields: dict[str, object] = {
        "reason": DEPOSIT,
        "participant_account_id": ANN_ACCOUNT,
        "amount": "12.50",
        "currency": "USD",
        "external_reference": "r",
    }
    request = cash.CreateCashMovementRequest(
        idempotency_key=key, transfer=cash.Transfer(**{**fields, **changes})
    )
    result = create_cash_movement(exchange, actor or caller(exchange, None), request).cash_movement
    assert result is not None
    return result


def balances(exchange: Exchange) -> tuple[int, int]:
    """Whole cents in the pool and of Ann."""
    ledger = exchange.trading.ledger
    return ledger.balance(POOL) * 100 // DOLLAR, ledger.balance(ANN_ACCOUNT) * 100 // DOLLAR


# ---- transfers


def test_a_deposit_takes_from_the_pool_what_it_gives_the_participant_and_both_ledgers_show_it() -> (
    None
):
    """P25."""
    exchange = small_exchange()
    result = move(exchange)
    assert (
        result.status,
        result.amount,
        result.source_account_id,
        result.destination_account_id,
    ) == (CONFIRMED, "12.50", POOL, ANN_ACCOUNT)
    assert balances(exchange) == (498_750, 101_250)
    assert exchange.trading.ledger.total() == 0
    for account, kind in (
        (POOL, LedgerEntryType.WITHDRAWAL),
        (ANN_ACCOUNT, LedgerEntryType.DEPOSIT),
    ):
        request = wire.GetAccountBalanceLedgerRequest(
            account=account, newest_first=True, page_size=1
        )
        assert exchange.acme.send(get_ledger, request).entries[0].entry_type == kind


def test_withdrawals_and_vendor_fees_go_to_the_pool() -> None:
    exchange = small_exchange()
    move(exchange, "k1", reason=WITHDRAWAL, amount="100")
    move(exchange, "k2", reason=FEES, amount="0.01")
    assert balances(exchange) == (510_001, 89_999)


def test_vendor_fees_are_collected_once_a_day() -> None:
    exchange = small_exchange()
    assert move(exchange, "k1", reason=FEES).status == CONFIRMED
    again = move(exchange, "k2", reason=FEES)
    assert again.status == REJECTED and again.rejection_reason and not again.dco_transfer_id
    assert move(exchange, "k3", reason=FEES, participant_account_id=BOB_ACCOUNT).status == CONFIRMED
    advance(exchange, NOW + hours(24))
    assert move(exchange, "k4", reason=FEES).status == CONFIRMED


def test_lack_of_funds_is_a_rejected_movement_and_open_orders_hold_funds_back() -> None:
    """P25."""
    exchange = small_exchange()
    assert move(exchange, "k1", amount="5000.01").status == REJECTED
    assert (
        move(exchange, "k2", reason=WITHDRAWAL, amount="1000.01").rejection_reason
        == "insufficient funds"
    )
    exchange.ann.buy(50, 1000)
    assert move(exchange, "k3", reason=WITHDRAWAL, amount="500.01").status == REJECTED
    assert balances(exchange) == (500_000, 100_000)
    assert move(exchange, "k4", reason=WITHDRAWAL, amount="500").status == CONFIRMED


def test_one_key_has_one_effect_and_another_body_is_refused() -> None:
    """P25."""
    exchange = small_exchange()
    first = move(exchange)
    assert move(exchange) == first
    with pytest.raises(AlreadyExists):
        move(exchange, amount="12.51")
    assert balances(exchange) == (498_750, 101_250)
    assert (
        exchange.acme.ask(get_cash_movement, workflow_id=first.workflow_id).cash_movement == first
    )
    with pytest.raises(NotFound):
        exchange.eve.ask(get_cash_movement, workflow_id=first.workflow_id)


def test_an_account_without_a_relationship_is_not_found_and_leaves_the_key_unused() -> None:
    """P25."""
    exchange = small_exchange()
    for account in (EVE_ACCOUNT, POOL, "firms/nobody/accounts/x"):
        with pytest.raises(NotFound):
            move(exchange, participant_account_id=account)
    for length in (80, 81):  # a name that nobody has may be a page of text
        with pytest.raises(NotFound, match=rf"^unknown account: {'x' * 80}$"):
            move(exchange, participant_account_id="x" * length)
    assert move(exchange).status == CONFIRMED


@pytest.mark.parametrize(
    "changes",
    [
        {"amount": "1.001"},
        {"amount": "0"},
        {"amount": "-1"},
        {"amount": "1e3"},
        {"amount": ""},
        {"currency": "EUR"},
        {"currency": ""},
        {"reason": 0},
        {"reason": 9},
        {"external_reference": ""},
        {"participant_account_id": ""},
        {"key": ""},
    ],
)
def test_a_malformed_transfer_is_an_invalid_request(changes: dict[str, object]) -> None:
    exchange = small_exchange()
    with pytest.raises(InvalidRequest):
        move(exchange, **changes)


def test_the_pool_tells_its_balance_and_a_firm_without_one_may_not_transfer() -> None:
    exchange = small_exchange()
    move(exchange)
    result = exchange.acme.ask(get_funding_account_balance, currency="usd")
    assert (result.funding_account_id, result.balance, result.currency, result.as_of) == (
        POOL,
        "4987.50",
        "USD",
        NOW,
    )
    with pytest.raises(PermissionDenied):
        exchange.eve.ask(get_funding_account_balance, currency="USD")
    with pytest.raises(PermissionDenied):
        move(exchange, actor=eve(exchange), participant_account_id=EVE_ACCOUNT)


def test_movements_survive_a_saved_state() -> None:
    exchange = small_exchange()
    first = move(exchange)
    exchange.partners.load(exchange.partners.save())
    assert move(exchange) == first


# ---- orders


def vendor(
    exchange: Exchange, key: str = "k1", fee: str = "0.05", **changes: object
) -> funding.CreateVendorOrderResponse:
    order = limit(
        Side.BUY,
        50,
        10,
        time_in_force=TimeInForce.FILL_OR_KILL,
        clord_id="c1",
        account=ANN_ACCOUNT,
        manual_order_indicator=1,
    )
    for name, value in changes.items():
        setattr(order, name, value)
    request = funding.CreateVendorOrderRequest(
        order=order, vendor_fee=funding.MoneyAmount(value=fee, currency="USD"), idempotency_key=key
    )
    return exchange.acme.send(create_vendor_order, request)


def test_a_partner_order_fills_for_the_participant_of_its_account_and_moves_no_fee() -> None:
    exchange = small_exchange()
    exchange.ctx.assumptions.change("fees.taker_theta", 0)
    exchange.eve.sell(50, 10)
    result = vendor(exchange)
    order = exchange.trading.orders.require(result.id)
    assert (result.status, order.state, order.participant) == (
        funding.VendorOrderStatus.VENDOR_ORDER_STATUS_ACCEPTED,
        OrderState.FILLED,
        ANN,
    )
    assert exchange.trading.ledger.balance(ANN_ACCOUNT) == 995 * DOLLAR
    assert result.correlation is not None
    assert (
        result.correlation.idempotency_key,
        result.correlation.funding_request_id,
        result.correlation.clord_id,
    ) == ("k1", result.funding_request_id, "c1")


@pytest.mark.parametrize(
    ("price", "outcome"), [(50, "ACCEPTED"), (53, "ACCEPTED"), (200, "REJECTED")]
)
def test_a_slow_engine_leaves_a_partner_order_pending_until_it_is_asked_again(
    price: int, outcome: str
) -> None:
    """M25, M36."""
    exchange = small_exchange()
    exchange.eve.sell(50, 10)
    exchange.ctx.assumptions.change("engine.latency", "3s")
    assert (
        vendor(exchange, price=price).status
        == funding.VendorOrderStatus.VENDOR_ORDER_STATUS_PENDING
    )
    advance(exchange, NOW + seconds(3))
    assert vendor(exchange, price=price).status.name == f"VENDOR_ORDER_STATUS_{outcome}"
    assert len(exchange.trading.orders) == 2


def test_a_repeated_partner_order_is_the_same_result_under_a_new_request_id() -> None:
    exchange = small_exchange()
    first, second = vendor(exchange), vendor(exchange)
    assert (first.funding_request_id, first.id, first.status) == (
        second.funding_request_id,
        second.id,
        second.status,
    )
    assert first.correlation is not None and second.correlation is not None
    assert first.correlation.request_id != second.correlation.request_id
    assert len(exchange.trading.orders) == 1
    with pytest.raises(AlreadyExists):
        vendor(exchange, fee="0.06")


def test_a_rejection_by_the_exchange_is_an_answer() -> None:
    exchange = small_exchange()
    result = vendor(exchange, order_qty=1_000_000)
    assert result.status == funding.VendorOrderStatus.VENDOR_ORDER_STATUS_REJECTED
    assert vendor(exchange, order_qty=1_000_000).funding_request_id == result.funding_request_id


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("type", OrderType.MARKET_TO_LIMIT),
        ("time_in_force", TimeInForce.DAY),
        ("side", 0),
        ("symbol", ""),
        ("account", ""),
        ("manual_order_indicator", 0),
        ("price", 0),
        ("cash_order_qty", 5),
        ("order_qty", 0),
        ("clord_id", ""),
        ("clord_id", "x" * 65),
        ("clord_id", "with space"),
        ("min_qty", 1),
        ("user", ANN),
        ("all_or_none", True),
        ("good_till_time", NOW),
    ],
)
def test_any_other_kind_of_partner_order_is_refused_by_the_name_of_the_field(
    field: str, value: object
) -> None:
    """M25."""
    exchange = small_exchange()
    with pytest.raises(InvalidRequest, match=rf"order\.{field}"):
        vendor(exchange, **{field: value})
    assert len(exchange.trading.orders) == 0


def test_a_partner_order_for_a_foreign_account_is_not_found() -> None:
    exchange = small_exchange()
    with pytest.raises(NotFound):
        vendor(exchange, account=EVE_ACCOUNT)
    with pytest.raises(NotFound):
        vendor(exchange, symbol="no-such")


# ---- orders together with their funds


def funded(exchange: Exchange, key: str = "f1", **changes: object) -> funding.FundedOrder:
    order = limit(Side.BUY, 50, 100, account=ANN_ACCOUNT, clord_id="f")
    for name, value in changes.items():
        setattr(order, name, value)
    request = funding.CreateFundedOrderRequest(
        order=order, vendor_fee=funding.MoneyAmount(value="0", currency="USD"), idempotency_key=key
    )
    result = exchange.acme.send(create_funded_order, request).order
    assert result is not None
    return result


def test_a_funded_order_brings_its_money_along_and_its_cancel_takes_the_rest_back() -> None:
    exchange = small_exchange(balance=0)
    exchange.ctx.assumptions.change("fees.taker_theta", 0)
    result = funded(exchange)
    assert (result.status, result.clord_id) == (
        funding.VendorOrderStatus.VENDOR_ORDER_STATUS_ACCEPTED,
        "f",
    )
    assert balances(exchange) == (495_000, 5_000)
    assert funded(exchange) == result and len(exchange.trading.orders) == 1
    request = funding.GetFundedOrderRequest(funding_request_id=result.funding_request_id)
    assert exchange.acme.send(get_funded_order, request).order == result
    exchange.acme.ask(cancel_funded_order, funding_request_id=result.funding_request_id)
    assert balances(exchange) == (500_000, 0) and exchange.trading.ledger.total() == 0
    with pytest.raises(OrderDone):
        exchange.acme.ask(cancel_funded_order, funding_request_id=result.funding_request_id)
    with pytest.raises(NotFound):
        exchange.eve.send(get_funded_order, request)


def test_money_of_a_funded_order_that_a_slow_engine_rejects_goes_back() -> None:
    exchange = small_exchange(balance=0)
    exchange.ctx.assumptions.change("engine.latency", "3s")
    assert (
        funded(exchange, price=200).status == funding.VendorOrderStatus.VENDOR_ORDER_STATUS_PENDING
    )
    assert balances(exchange)[0] < 500_000
    advance(exchange, NOW + seconds(3))
    assert (
        funded(exchange, price=200).status == funding.VendorOrderStatus.VENDOR_ORDER_STATUS_REJECTED
    )
    assert balances(exchange) == (500_000, 0) and exchange.trading.ledger.total() == 0


def test_a_rejected_funded_order_leaves_the_money_where_it_was() -> None:
    exchange = small_exchange(balance=0)
    rejected = funding.VendorOrderStatus.VENDOR_ORDER_STATUS_REJECTED
    assert funded(exchange, "f1", order_qty=20_000).status == rejected
    assert (
        funded(exchange, "f2", price=99, order_qty=100).status
        == funding.VendorOrderStatus.VENDOR_ORDER_STATUS_ACCEPTED
    )
    before = balances(exchange)
    assert funded(exchange, "f3", price=100).status == rejected
    assert balances(exchange) == before
    for changes in (
        {"type": OrderType.MARKET_TO_LIMIT},
        {"price": 0},
        {"order_qty": 0},
        {"time_in_force": TimeInForce.GOOD_TILL_TIME},
    ):
        with pytest.raises(InvalidRequest):
            funded(exchange, "f4", **changes)
    with pytest.raises(NotFound):
        funded(exchange, "f4", account=EVE_ACCOUNT)
    assert balances(exchange) == before
