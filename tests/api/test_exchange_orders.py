"""Order entry on the exchange: what a request becomes, what is refused and how, lists."""

from __future__ import annotations

import pytest
from small_exchange import (
    ANN,
    ANN_ACCOUNT,
    BOB,
    BOB_ACCOUNT,
    EVE_ACCOUNT,
    FINE,
    WHOLE,
    caller,
    eve,
    limit,
    small_exchange,
)

from sim.api.exchange.orders import (
    cancel_order,
    cancel_order_list,
    cancel_replace_order,
    cancel_replace_order_list,
    get_open_orders,
    insert_order,
    insert_order_list,
    preview_order,
)
from sim.contract.messages import exchange_v1 as wire
from sim.core.model.enums import InstrumentState, OrderState, OrderType, Side, TimeInForce
from sim.core.model.refusals import (
    DuplicateOrder,
    InstrumentNotTradable,
    InvalidRequest,
    NotFound,
    OrderDone,
    OrderRefused,
    PermissionDenied,
    UnknownOrder,
)


def open_orders(exchange, party=None, **filters):
    return get_open_orders(
        exchange, party or caller(exchange), wire.GetOpenOrdersRequest(**filters)
    ).orders


def test_an_accepted_order_is_open_with_the_scales_of_its_instrument_and_the_names_of_its_participant() -> (
    None
):
    exchange = small_exchange()
    order_id = exchange.ann.buy(455, 250, FINE, clord_id="mine")
    (order,) = open_orders(exchange)
    assert (order.id, order.clord_id, order.account, order.participant) == (
        order_id,
        "mine",
        ANN_ACCOUNT,
        ANN,
    )
    assert (order.price, order.order_qty, order.leaves_qty, order.cum_qty) == (455, 250, 250, 0)
    assert (order.price_scale, order.fractional_quantity_scale) == (1000, 100)
    assert order.state == OrderState.NEW and order.time_in_force == TimeInForce.GOOD_TILL_CANCEL


def test_an_order_is_for_the_participants_own_account_and_no_other() -> None:
    exchange = small_exchange()
    for account in (BOB_ACCOUNT, EVE_ACCOUNT, "firms/nobody/accounts/x"):
        with pytest.raises(PermissionDenied):
            exchange.ann.buy(40, 1, account=account)
    with pytest.raises(PermissionDenied):
        exchange.ann.buy(40, 1, user=BOB)
    assert exchange.ann.buy(40, 1, account=ANN_ACCOUNT, user=ANN)


def test_business_rejects_are_refusals_by_default_and_executions_when_asynchronous() -> None:
    exchange = small_exchange()
    exchange.ann.buy(40, 1, clord_id="c1")
    with pytest.raises(DuplicateOrder):
        exchange.ann.buy(41, 1, clord_id="c1")
    with pytest.raises(OrderRefused):
        exchange.ann.buy(40, 1_000_000)
    exchange.ctx.assumptions.change("orders.sync_reject", "async")
    order_id = exchange.ann.buy(40, 1_000_000)
    assert exchange.trading.orders.require(order_id).state is OrderState.REJECTED


def test_a_state_that_takes_no_orders_refuses_them() -> None:
    exchange = small_exchange()
    exchange.trading.listings.change_state(WHOLE, InstrumentState.SUSPENDED)
    with pytest.raises(InstrumentNotTradable, match="Book is SUSPENDED"):
        exchange.ann.buy(40, 1)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("side", 0),
        ("side", 7),
        ("type", 0),
        ("type", 99),
        ("time_in_force", 42),
        ("order_qty", 0),
        ("order_qty", -1),
        ("symbol", ""),
        ("quote", "q"),
        ("price", 0),
    ],
)
def test_a_malformed_order_is_an_invalid_request_that_names_the_field(
    field: str, value: object
) -> None:
    exchange = small_exchange()
    request = limit(Side.BUY, 40, 1)
    setattr(request, field, value)
    with pytest.raises(InvalidRequest, match=field):
        exchange.ann.send(insert_order, request)
    assert not open_orders(exchange)


def test_a_malformed_entry_refuses_the_whole_list_and_a_business_reject_only_itself() -> None:
    """M38."""
    exchange = small_exchange()
    good, bad = limit(Side.BUY, 40, 1), limit(Side.BUY, 40, 0)
    with pytest.raises(InvalidRequest, match=r"requests\[1\]\.order_qty"):
        exchange.ann.ask(insert_order_list, requests=[good, bad])
    with pytest.raises(InvalidRequest, match=r"requests\[1\]\.good_till_time"):
        late = limit(Side.BUY, 40, 1, time_in_force=TimeInForce.GOOD_TILL_TIME)
        exchange.ann.ask(insert_order_list, requests=[good, late])
    with pytest.raises(NotFound, match=r"requests\[1\]: unknown symbol"):
        exchange.ann.ask(insert_order_list, requests=[good, limit(Side.BUY, 40, 1, "no-such")])
    assert not open_orders(exchange)
    receipts = exchange.ann.ask(
        insert_order_list, requests=[good, limit(Side.BUY, 40, 9_999_999), good]
    ).responses
    states = [exchange.trading.orders.require(receipt.order_id).state for receipt in receipts]
    assert states == [OrderState.NEW, OrderState.REJECTED, OrderState.NEW]


@pytest.mark.parametrize("length", [0, 21])
def test_a_list_holds_one_to_twenty_entries(length: int) -> None:
    """M38."""
    exchange = small_exchange()
    with pytest.raises(InvalidRequest, match="1 to 20"):
        exchange.ann.ask(insert_order_list, requests=[limit(Side.BUY, 40, 1)] * length)
    with pytest.raises(InvalidRequest, match="1 to 20"):
        exchange.ann.ask(
            cancel_order_list, requests=[wire.CancelOrderRequest(order_id="X")] * length
        )


def test_a_cancel_finds_its_order_by_either_id_and_only_among_the_participants_own() -> None:
    exchange = small_exchange()
    order_id = exchange.ann.buy(40, 1, clord_id="c1")
    for other in (caller(exchange, BOB), eve(exchange)):
        with pytest.raises(UnknownOrder):
            cancel_order(exchange, other, wire.CancelOrderRequest(order_id=order_id))
    with pytest.raises(InvalidRequest):
        exchange.ann.ask(cancel_order, symbol=WHOLE)
    exchange.ann.ask(cancel_order, clord_id="c1")
    assert not open_orders(exchange)
    with pytest.raises(OrderDone):
        exchange.ann.ask(cancel_order, order_id=order_id)


def test_a_list_of_cancels_skips_what_cannot_be_canceled() -> None:
    """M38."""
    exchange = small_exchange()
    order_id = exchange.ann.buy(40, 1)
    entries = [
        wire.CancelOrderRequest(order_id="NOSUCHORDER1"),
        wire.CancelOrderRequest(order_id=order_id),
        wire.CancelOrderRequest(order_id=order_id),
    ]
    assert len(exchange.ann.ask(cancel_order_list, requests=entries).responses) == 3
    assert not open_orders(exchange)


def test_a_replace_keeps_the_id_and_what_it_does_not_mention() -> None:
    exchange = small_exchange()
    order_id = exchange.ann.buy(40, 5, participate_dont_initiate=True)
    exchange.ann.ask(cancel_replace_order, order_id=order_id, price=41)
    (order,) = open_orders(exchange)
    assert (order.id, order.price, order.order_qty, order.state) == (
        order_id,
        41,
        5,
        OrderState.REPLACED,
    )
    assert order.participate_dont_initiate
    with pytest.raises(InvalidRequest, match="best_limit"):
        both = wire.CancelReplaceOrderRequest(
            order_id=order_id, best_limit=True, immediately_executable_limit=True
        )
        exchange.ann.send(cancel_replace_order, both)
    entries = [
        wire.CancelReplaceOrderRequest(order_id="NOSUCHORDER1", price=50),
        wire.CancelReplaceOrderRequest(order_id=order_id, order_qty=3),
    ]
    exchange.ann.ask(cancel_replace_order_list, requests=entries)
    assert open_orders(exchange)[0].order_qty == 3


def test_a_preview_shows_the_order_and_enters_nothing() -> None:
    exchange = small_exchange()
    order = exchange.ann.ask(preview_order, request=limit(Side.BUY, 40, 5)).preview_order
    assert order is not None and (order.id, order.price, order.order_qty, order.type) == (
        "",
        40,
        5,
        OrderType.LIMIT,
    )
    assert not open_orders(exchange)
    with pytest.raises(InvalidRequest):
        exchange.ann.ask(preview_order)


def test_open_orders_cover_the_participants_account_unless_others_of_the_firm_are_named() -> None:
    exchange = small_exchange()
    exchange.ann.buy(40, 1)
    exchange.ann.buy(400, 10, FINE)
    exchange.bob.buy(41, 1)
    exchange.eve.buy(42, 1)
    assert [order.price for order in open_orders(exchange)] == [40, 400]
    assert [order.price for order in open_orders(exchange, symbols=[FINE])] == [400]
    assert [
        order.price for order in open_orders(exchange, accounts=[ANN_ACCOUNT, BOB_ACCOUNT])
    ] == [40, 400, 41]
    with pytest.raises(PermissionDenied):
        open_orders(exchange, accounts=[EVE_ACCOUNT])
