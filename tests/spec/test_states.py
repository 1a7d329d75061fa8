"""What the states of an instrument permit, on every plane (§3.1, rules L1, L10, L14, L15).

The tables are the specification's; nothing here reads the exchange's own.
"""

from __future__ import annotations

import pytest

from sim.contract.messages import exchange_v1 as wire
from sim.core.model.enums import InstrumentState
from sim.core.model.instrument import Instrument
from sim.core.model.refusals import IllegalTransition
from sim.run.client.client import RpcError
from tests.kit import Desk, begin, rpc_order, streams, usd

SYMBOL = "stated"
NUMBERS = {
    "CLOSED": 0,
    "OPEN": 1,
    "PREOPEN": 2,
    "SUSPENDED": 3,
    "EXPIRED": 4,
    "TERMINATED": 5,
    "HALTED": 6,
    "MATCH_AND_CLOSE_AUCTION": 7,
}
# How an operator gets there from OPEN, where it is not one move.
ROUTES = {
    "OPEN": (),
    "PREOPEN": ("CLOSED", "PREOPEN"),
    "EXPIRED": ("CLOSED", "EXPIRED"),
    "TERMINATED": ("CLOSED", "EXPIRED", "TERMINATED"),
}


def instrument_in(desk: Desk, state: str) -> Instrument:
    """A new instrument that an operator led to a state."""
    if state == "PENDING":
        return desk.listed(SYMBOL, start="2026-12-01T12:00:00Z")
    instrument = desk.listed(SYMBOL)
    desk.move(instrument, *ROUTES.get(state, (state,)))
    return instrument


def view(desk: Desk) -> str:
    """The state that reference data show."""
    return str(desk.reference(SYMBOL)["state"]).removeprefix("INSTRUMENT_STATE_")


# ---- from state to state

# From where to where, in the words of rule L10: open, suspended and halted change with each other;
# what has not begun or was halted may open or pre-open; anything tradable closes; what closed may
# open again; the auction may follow anything and be followed by anything but PENDING; EXPIRED ends
# in TERMINATED, and that ends everything. PENDING is never entered again (§3.1).
MOVES = {
    "PENDING": "OPEN PREOPEN MATCH_AND_CLOSE_AUCTION",
    "PREOPEN": "OPEN SUSPENDED HALTED CLOSED MATCH_AND_CLOSE_AUCTION",
    "OPEN": "SUSPENDED HALTED CLOSED MATCH_AND_CLOSE_AUCTION",
    "SUSPENDED": "OPEN PREOPEN HALTED CLOSED MATCH_AND_CLOSE_AUCTION",
    "HALTED": "OPEN PREOPEN SUSPENDED CLOSED MATCH_AND_CLOSE_AUCTION",
    "MATCH_AND_CLOSE_AUCTION": "OPEN PREOPEN SUSPENDED HALTED CLOSED EXPIRED TERMINATED",
    "CLOSED": "OPEN PREOPEN MATCH_AND_CLOSE_AUCTION EXPIRED",
    "EXPIRED": "TERMINATED",
    "TERMINATED": "",
}


@pytest.mark.spec("S3.1-13")
@pytest.mark.parametrize("state", MOVES)
def test_an_operator_takes_the_moves_of_the_rule_and_no_other(state: str) -> None:
    """L10."""
    allowed = MOVES[state].split()
    for target in MOVES:
        if target == state:
            continue
        desk = begin(limits=False)
        instrument_in(desk, state)
        assert view(desk) == state
        if target in allowed:
            desk.move(SYMBOL, target)
            assert view(desk) == target
        else:
            with pytest.raises(IllegalTransition, match="cannot become") as refused:
                desk.move(SYMBOL, target)
            assert refused.value.code == 9
            assert state != "OPEN" or "SUSPENDED" in refused.value.remedy
            assert view(desk) == state


@pytest.mark.spec("S4.4-4", "S3.1-1", "S6.2-4")
def test_every_change_of_state_is_an_instrument_on_the_stream_without_a_resume_token(
    world: Desk,
) -> None:
    world.listed(SYMBOL)
    stream = streams.instruments(world, SYMBOL)
    (first,) = stream.take()
    listed = world.reference(SYMBOL)
    assert first.instruments[0].symbol == listed["symbol"]
    path = ("SUSPENDED", "OPEN", "HALTED", "CLOSED", "EXPIRED", "TERMINATED")
    states = []
    for state in path:
        world.move(SYMBOL, state)
        for frame in stream.take():
            assert frame.resume_token == b""
            states += [InstrumentState(row.state).name for row in frame.instruments]
            assert all(row.price_scale == int(listed["priceScale"]) for row in frame.instruments)
    assert tuple(states) == path


# ---- what a state is called, and what works in each


@pytest.mark.spec("S2.5-1")
@pytest.mark.parametrize("state", NUMBERS)
def test_l1_states_have_their_numbers_on_the_wire_and_none_reads_as_closed(
    world: Desk, state: str
) -> None:
    instrument_in(world, state)
    request = wire.ListInstrumentsRequest(symbols=[SYMBOL])
    (result,) = world.rpc_partner.call("RefDataAPI.ListInstruments", request).instruments
    assert result.state == NUMBERS[state]
    assert wire.Instrument().state == wire.InstrumentState.INSTRUMENT_STATE_CLOSED == 0


@pytest.mark.parametrize("state", NUMBERS)
def test_l14_positions_ledgers_balances_reports_and_verification_work_in_every_state(
    world: Desk, state: str
) -> None:
    instrument_in(world, state)
    day = {"startTime": "2026-09-08T00:00:00Z", "endTime": "2026-09-09T00:00:00Z"}
    stats = world.trader().post("/v1/report/trades/stats", json={"symbol": SYMBOL, **day})
    assert stats.status == 200
    assert world.positions(symbol=SYMBOL) == world.ledger("positions", symbol=SYMBOL) == []
    assert float(world.balance()["balance"]) > 0
    assert world.search("trades", symbol=SYMBOL) == world.search("orders", symbol=SYMBOL) == []
    assert world.kyc_status("somebody")["status"]["status"] == "NOT_STARTED"


@pytest.mark.parametrize("state", [state for state in NUMBERS if state != "TERMINATED"])
def test_l15_retail_names_a_state_alike_also_where_its_enumeration_lacks_the_name(
    world: Desk, state: str
) -> None:
    instrument_in(world, state)
    market_data = world.customer().get(f"/v1/markets/{SYMBOL}/book").json()["marketData"]
    assert market_data["state"] == f"MARKET_STATE_{state}"


def test_l15_what_a_closed_market_is_called_is_a_switch(world: Desk) -> None:
    world.assume("retail.closed_state_name", "MARKET_STATE_SUSPENDED")
    instrument_in(world, "CLOSED")
    for part in ("book", "bbo"):
        market_data = world.customer().get(f"/v1/markets/{SYMBOL}/{part}").json()["marketData"]
        assert market_data["state"] == "MARKET_STATE_SUSPENDED"


# ---- what a state permits

# §3.1: state, then entry, modify, cancel. For PREOPEN, cancels are not specified.
PERMITS = [
    ("OPEN", True, True, True),
    ("PREOPEN", True, True, True),
    ("SUSPENDED", False, False, True),
    ("HALTED", False, False, False),
    ("CLOSED", False, False, False),
    ("EXPIRED", False, False, False),
]


@pytest.mark.spec("S3.1-7", "S3.1-8", "S3.1-9", "S3.1-10", "S3.1-11", "S3.1-12", "S7.1-7", "S7.1-5")
@pytest.mark.parametrize(("state", "entry", "modify", "cancel"), PERMITS)
def test_a_state_permits_the_same_on_rest_grpc_and_retail(
    world: Desk, state: str, entry: bool, modify: bool, cancel: bool
) -> None:
    instrument = world.listed(SYMBOL)
    retail, rpc = world.customer(), world.rpc_trader()
    first, second = (
        world.retail_enter(instrument, "BUY_LONG", cents, 5).json()["id"] for cents in (40, 39)
    )
    orders = [world.place(instrument, "buy", cents, 5) for cents in (38, 37, 36)]
    world.move(SYMBOL, *ROUTES.get(state, (state,)))
    copy = streams.drop_copy(world)

    entered = world.enter(instrument, "buy", 30)
    if not entry:
        assert (entered.status, entered.json()["message"]) == (422, f"Book is {state}")
    change = {"orderId": orders[0], "symbol": SYMBOL, "price": "39"}
    replaced = world.trader().post("/v1/trading/orders/replace", json=change)
    assert [answer.status == 200 for answer in (entered, replaced)] == [entry, modify]
    assert (world.cancel(orders[1]).status == 200) is cancel
    assert world.book(instrument)["state"] == f"INSTRUMENT_STATE_{state}"

    named = {"order_id": orders[2], "symbol": SYMBOL}
    for allowed, operation, request in (
        (entry, "InsertOrder", rpc_order(instrument, 20)),
        (modify, "CancelReplaceOrder", wire.CancelReplaceOrderRequest(**named, price=35)),
        (cancel, "CancelOrder", wire.CancelOrderRequest(**named)),
    ):
        if allowed:
            rpc.call(f"OrderEntryAPI.{operation}", request)
        else:
            with pytest.raises(RpcError) as refused:
                rpc.call(f"OrderEntryAPI.{operation}", request)
            assert refused.value.code == 9

    answer = world.retail_enter(instrument, "BUY_LONG", 30, synchronousExecution=True)
    types = [row["type"] for row in answer.json()["executions"]]
    assert types == ["EXECUTION_TYPE_NEW" if entry else "EXECUTION_TYPE_REJECTED"]
    change = {"marketSlug": SYMBOL, "price": usd("0.41"), "quantity": 5}
    retail.post(f"/v1/order/{first}/modify", json=change)
    row = world.retail_read(first)
    assert (row["price"]["value"] == "0.41") is modify, row
    retail.post(f"/v1/order/{second}/cancel", json={"marketSlug": SYMBOL})
    ended = "EXPIRED" if state == "EXPIRED" else "CANCELED" if cancel else "NEW"
    row = world.retail_read(second)
    assert row["state"] == f"ORDER_STATE_{ended}"
    assert streams.fills_on(copy) == []


@pytest.mark.spec("S3.1-8", "S3.1-9", "S3.1-10", "S3.1-11", "S3.1-12")
@pytest.mark.parametrize("state", ["PREOPEN", "SUSPENDED", "HALTED", "CLOSED"])
def test_nothing_matches_where_matching_stands_still_whatever_tries(
    world: Desk, state: str
) -> None:
    """After the change of state, crossing orders, replaces and waits produce no fill."""
    instrument = world.listed(SYMBOL)
    resting = world.place(instrument, "sell", 50, 5, user=1)
    bid = world.place(instrument, "buy", 45, 5)
    copy = streams.drop_copy(world)
    world.move(SYMBOL, *ROUTES.get(state, (state,)))
    for _ in range(2):
        world.enter(instrument, "buy", 60, 2)
        replace = {"orderId": bid, "symbol": SYMBOL, "price": "55"}
        world.trader().post("/v1/trading/orders/replace", json=replace)
        world.retail_enter(instrument, "BUY_LONG", 60)
        world.advance("1m")
    assert streams.fills_on(copy) == world.search("trades", symbol=SYMBOL) == []
    row = world.reported(resting, 1)
    assert (row["cumQty"], row["leavesQty"]) == ("0", str(5 * instrument.qty_scale))


@pytest.mark.spec("S3.1-7")
def test_an_open_market_matches_continuously_at_the_price_of_the_resting_order(world: Desk) -> None:
    instrument = world.listed(SYMBOL)
    copy, qty = streams.drop_copy(world), instrument.qty_scale
    for cents in (50, 52):
        world.place(instrument, "sell", cents, 2, user=1)
    bid = world.place(instrument, "buy", 51, 3)
    assert streams.fills_on(copy) == [(50, 2 * qty)]
    replace = {"orderId": bid, "symbol": SYMBOL, "price": "52"}
    assert world.trader().post("/v1/trading/orders/replace", json=replace).status == 200
    assert streams.fills_on(copy) == [(52, qty)]


@pytest.mark.spec("S3.1-9", "S3.1-10", "S3.1-13")
@pytest.mark.parametrize("state", ["SUSPENDED", "HALTED"])
def test_orders_outlive_an_exception_state_and_trade_after_it(world: Desk, state: str) -> None:
    instrument = world.listed(SYMBOL)
    world.place(instrument, "buy", 40, 5, clordId="rests")
    orders, states = streams.orders(world), streams.instruments(world, SYMBOL)
    for stream in (orders, states):
        stream.take()
    world.move(SYMBOL, state, "OPEN")
    assert streams.states_on(states) == [(SYMBOL, state), (SYMBOL, "OPEN")]
    assert streams.kinds_on(orders) == []
    world.place(instrument, "sell", 40, 5, user=1)
    assert streams.kinds_on(orders) == [("rests", "FILL", 5 * instrument.qty_scale)]
