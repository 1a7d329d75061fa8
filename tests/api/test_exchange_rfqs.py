"""Combos and requests for quotes over the exchange's REST and gRPC, and its stream of events."""

from __future__ import annotations

from typing import Any

import pytest

from sim.contract.messages import exchange_v1 as wire
from tests.api import test_retail_rfqs as retail
from tests.kit import Desk, begin

BUY, SELL = wire.Side.SIDE_BUY, wire.Side.SIDE_SELL
SELF = wire.UserFilter.USER_FILTER_SELF


@pytest.fixture
def world() -> Desk:
    result = begin()
    result.preset("ideal")
    return result


def combo(world: Desk) -> str:
    legs = [wire.ComboLeg(symbol=name, side=BUY) for name in retail.symbols(world, 2)]
    answer = world.rpc_trader().call("ComboAPI.CreateCombo", wire.CreateComboRequest(legs=legs))
    return answer.combo.id


def ask(world: Desk, symbol: str) -> str:
    request = wire.CreateRFQRequest(
        symbol=symbol, qty_decimal="10", rest_remainder=False, account=world.account(0)
    )
    answer = world.rpc_trader().call("RFQAPI.CreateRFQ", request)
    return answer.rfq_id


def quote(world: Desk, rfq: str, buy: str = "0.615", sell: str = "0.585") -> str:
    request = wire.CreateQuoteRequest(
        rfq_id=rfq, buy_price=buy, sell_price=sell, rest_remainder=False, account=world.account(1)
    )
    return world.rpc_trader(1).call("RFQAPI.CreateQuote", request).quote_id


def events(stream: Any) -> list[str]:
    names = wire.StreamRFQEventsResponse.__struct_fields__
    return [
        next((name for name in names if getattr(frame, name) is not None), "heartbeat")
        for frame in stream.take()
    ]


def by_rest(world: Desk, symbol: str) -> None:
    asker, maker = world.trader(), world.trader(1)
    body = {"symbol": symbol, "restRemainder": False, "qtyDecimal": "10"}
    rfq = asker.send("/v1/rfqs", body | {"account": world.account(0)}, "rfqId")
    prices = {"buyPrice": "0.615", "sellPrice": "0.585", "restRemainder": False}
    offered = {"rfqId": rfq, **prices, "account": world.account(1)}
    created = maker.send("/v1/rfqs/quotes", offered, "quoteId")
    path = f"/v1/rfqs/{rfq}/quotes/{created}"
    assert asker.request("PUT", f"{path}/accept", json={"acceptedSide": "SIDE_BUY"}).status == 200
    assert maker.request("PUT", f"{path}/confirm", json={}).status == 200


def by_rpc(world: Desk, symbol: str) -> None:
    rfq = ask(world, symbol)
    created = quote(world, rfq)
    accepted = wire.AcceptQuoteRequest(rfq_id=rfq, quote_id=created, accepted_side=BUY)
    world.rpc_trader().call("RFQAPI.AcceptQuote", accepted)
    confirmed = wire.ConfirmQuoteRequest(rfq_id=rfq, quote_id=created)
    world.rpc_trader(1).call("RFQAPI.ConfirmQuote", confirmed)


@pytest.mark.observed("rfqs.exchange")
def test_rest_and_grpc_make_the_same_deal_and_tell_it_alike() -> None:
    """The whole deal over one surface in one world, over the other in another: what each surface
    then reads is the same, and so are the events of the stream.
    """
    noticed = []
    for deal in (by_rest, by_rpc):
        item = begin()
        item.preset("ideal")
        streams = [
            item.rpc_trader(user).stream("RFQAPI.StreamRFQEvents", wire.StreamRFQEventsRequest())
            for user in (0, 1)
        ]
        symbol = combo(item)
        deal(item, symbol)
        item.advance("1s")
        own = item.rpc_trader().call(
            "RFQAPI.GetQuotes", wire.GetQuotesRequest(rfq_user_filter=SELF)
        )
        displayed = [
            item.trader().read("/v1/rfqs/quotes", rfqUserFilter="USER_FILTER_SELF"),
            item.trader(1).read("/v1/rfqs/quotes", userFilter="USER_FILTER_SELF"),
            item.trader().read("/v1/rfqs"),
            item.trader().read("/v1/rfqs/trades"),
            item.trader().read("/v1/combos", symbol=symbol),
        ]
        (row,), (read,) = displayed[0]["quotes"], own.quotes
        assert (row["id"], row["buyPrice"], row["sellPrice"]) == (read.id, "0.615", "0.585")
        assert (read.accepted_side, read.buy_qty_decimal) == (BUY, "10")
        (trade,) = displayed[3]["trades"]
        assert (trade["price"], trade["aggressorSide"]) == ("0.615", "SIDE_BUY")
        positions = item.trading.positions
        nets = [positions.get(item.account(user), symbol) for user in (0, 1)]
        assert [result.net for result in nets if result] == [1000, -1000]
        noticed.append((displayed, [events(stream) for stream in streams]))
    assert noticed[0] == noticed[1]
    public = ["rfq_created", "quote_created", "rfq_closed", "quote_accepted", "quote_confirmed"]
    assert noticed[0][1] == [[*public, "rfq_trade", "quote_executed"]] * 2


def test_a_further_quote_keeps_its_id_here(world: Desk) -> None:
    rfq = ask(world, combo(world))
    first = quote(world, rfq)
    world.advance("1s")
    assert quote(world, rfq, buy="0.6") == first
    (row,) = world.trader(1).read("/v1/rfqs/quotes", "quotes", rfqId=rfq)
    assert (row["buyPrice"], row["status"]) == ("0.60", "QUOTE_STATUS_ACTIVE")
    assert row["createdTime"] < row["updatedTime"]


def test_the_orders_of_a_quote_are_in_drop_copy_and_trade_capture(world: Desk) -> None:
    symbol = combo(world)
    copies = world.rpc_trader().stream(
        "DropCopyAPI.CreateDropCopySubscription", wire.CreateDropCopySubscriptionRequest()
    )
    captured = world.rpc_trader().stream(
        "DropCopyAPI.CreateTradeCaptureReportSubscription",
        wire.CreateTradeCaptureReportSubscriptionRequest(),
    )
    by_rpc(world, symbol)
    world.advance("1s")
    read = world.rpc_trader().call("RFQAPI.GetQuotes", wire.GetQuotesRequest(rfq_user_filter=SELF))
    (row,) = read.quotes
    fills = {
        execution.order.id: (execution.order.side, execution.last_px, execution.last_shares)
        for frame in copies.take()
        for execution in frame.executions
        if execution.type == wire.ExecutionType.EXECUTION_TYPE_FILL
    }
    assert fills == {
        row.rfq_creator_order_id: (BUY, 615, 1000),
        row.creator_order_id: (SELL, 615, 1000),
    }
    kinds = {trade.trade_type for frame in captured.take() for trade in frame.trade_capture_reports}
    assert kinds == {wire.TradeType.TRADE_TYPE_REQUEST_FOR_QUOTE}


def test_hosts_share_requests_and_a_retail_maker_fills_a_firm(world: Desk) -> None:
    symbol = combo(world)
    rfq = ask(world, symbol)
    stream = world.rpc_trader(1).stream("RFQAPI.StreamRFQEvents", wire.StreamRFQEventsRequest())
    created = retail.quote(world, rfq).json()["quoteId"]
    accepted = wire.AcceptQuoteRequest(rfq_id=rfq, quote_id=created, accepted_side=SELL)
    world.rpc_trader().call("RFQAPI.AcceptQuote", accepted)
    assert retail.confirm(world, created).status == 200
    world.advance("1s")
    assert retail.position(world, retail.QUOTES, symbol) == 10
    # Not its deal: only what is public.
    assert events(stream) == ["rfq_closed", "rfq_trade"]


def test_who_asks_needs_a_participant_and_its_own_account(world: Desk) -> None:
    symbol = combo(world)
    body = {"symbol": symbol, "restRemainder": False, "qtyDecimal": "10"}
    assert world.partner.post("/v1/rfqs", json=body).status == 403
    assert world.trader().post("/v1/rfqs", json=body).status == 400
    other = body | {"account": world.account(1)}
    assert world.trader().post("/v1/rfqs", json=other).status == 403
    assert world.trader().get("/v1/combos").status == 400
    assert world.trader().read("/v1/rfqs", "rfqs") == []


def test_the_stream_stays_open_with_messages_that_name_no_event(world: Desk) -> None:
    stream = world.rpc_trader().stream("RFQAPI.StreamRFQEvents", wire.StreamRFQEventsRequest())
    world.advance("61s")
    assert events(stream) == ["heartbeat"] * 2 and stream.end is None


@pytest.mark.parametrize("moved", ["SUSPENDED", "HALTED"])
def test_a_halt_before_the_orders_are_due_ends_the_quote_without_any(
    world: Desk, moved: str
) -> None:
    symbol = combo(world)
    by_rpc(world, symbol)
    world.operate("instrument.state", symbol, state=moved)
    world.advance("1s")
    (row,) = world.trader(1).read("/v1/rfqs/quotes?userFilter=USER_FILTER_SELF", "quotes")
    assert row["status"] == "QUOTE_STATUS_DELETED" and row.get("creatorOrderId") is None
    assert world.trader(1).read("/v1/rfqs/trades", "trades") == []
