"""Rules of money and matching through REST, with test vectors that were calculated by hand from the
rules and are used nowhere else in the suite.
"""

from __future__ import annotations

from typing import Any

import pytest

from sim import Simulation, load_scenario
from sim.core.model.refusals import Conflict, NotFound
from sim.run.client.client import Response
from tests.kit import Desk

GTC, DAY, IOC, FOK = (
    f"TIME_IN_FORCE_{name}"
    for name in ("GOOD_TILL_CANCEL", "DAY", "IMMEDIATE_OR_CANCEL", "FILL_OR_KILL")
)
KINDS = {"limit": "LIMIT", "mtl": "MARKET_TO_LIMIT", "stop": "STOP", "stop_limit": "STOP_LIMIT"}

SCENARIO = """
name: vectors
extends: quickstart
ASSUMPTIONS
world:
  instruments:
    - {symbol: vec-a, tick_size: "0.01", state: OPEN}
    - {symbol: vec-b, tick_size: "0.01", state: OPEN}
    - {symbol: vec-f, tick_size: "0.005", price_scale: 1000, fractional_qty_scale: 100, minimum_trade_qty: 100, state: OPEN}
    - {symbol: vec-p, tick_size: "0.01", state: PREOPEN}
  firms:
    - name: firms/vec
      key: spare-1
      users: [{name: u0, balance: "CASH"}, {name: u1, balance: "CASH"}, {name: u2, balance: "CASH"}, {name: u3, balance: "CASH"}]
"""
NO_FEES = "assumptions: {fees.taker_theta: 0, fees.maker_theta: 0}"


class Pit(Desk):
    """Four participants of a firm on instruments without other traders. Orders are scaled integers;
    answers have the form of the wire.
    """

    def __init__(self, *, fees: bool = False, cash: str = "1000") -> None:
        text = SCENARIO.replace("ASSUMPTIONS", "" if fees else NO_FEES).replace("CASH", cash)
        super().__init__(Simulation(load_scenario(text)))
        self.firm = self.core.firms.require("firms/vec")

    def send(
        self,
        user: int,
        side: str,
        price: int,
        qty: int,
        symbol: str = "vec-a",
        kind: str = "limit",
        tif: str = GTC,
        **more: Any,
    ) -> Response:
        body = {
            "type": f"ORDER_TYPE_{KINDS[kind]}",
            "side": f"SIDE_{side.upper()}",
            "symbol": symbol,
            "timeInForce": tif,
            **more,
        }
        body |= ({"price": str(price)} if price else {}) | ({"orderQty": str(qty)} if qty else {})
        return self.trader(user).post("/v1/trading/orders", json=body)

    def order(self, *terms: Any, **more: Any) -> str:
        answer = self.send(*terms, **more)
        assert answer.status == 200, answer
        return str(answer.json()["orderId"])

    def deal(self, price: int, qty: int, symbol: str = "vec-a") -> str:
        """The first participant takes what the second offers; the order of the first."""
        self.order(1, "sell", price, qty, symbol=symbol)
        return self.order(0, "buy", price, qty, symbol=symbol)

    def refused(self, *terms: Any, **more: Any) -> tuple[int, str]:
        answer = self.send(*terms, **more)
        return answer.status, answer.json().get("message", "")

    def executions(self, user: int, order_id: str) -> list[dict[str, Any]]:
        return self.search("executions", user, orderId=order_id)

    def story(self, user: int, order_id: str) -> list[tuple[str, int, int]]:
        """Return (type, quantity, price) of each execution of an order."""
        rows = self.executions(user, order_id)
        kinds = [row["type"].removeprefix("EXECUTION_TYPE_") for row in rows]
        fills = [(int(row["lastShares"]), int(row["lastPx"])) for row in rows]
        return [(kind, *fill) for kind, fill in zip(kinds, fills, strict=True)]

    def replace(self, user: int, order_id: str, **changes: str) -> int:
        body = {"orderId": order_id, **changes}
        return self.trader(user).post("/v1/trading/orders/replace", json=body).status

    def levels(self, symbol: str = "vec-a") -> tuple[list[tuple[int, int]], ...]:
        """Return (price, quantity) of bids and offers."""
        book = self.book(symbol, depth=10)
        return tuple(
            [(int(level["px"]), int(level["qty"])) for level in book[side]]
            for side in ("bids", "offers")
        )

    def money(self, user: int) -> tuple[str, ...]:
        """Return balance, buying power, margin and what open orders reserve."""
        balance = self.balance(user)
        names = ("balance", "buyingPower", "marginRequirement", "openOrders")
        return tuple(balance[name] for name in names)

    def position(self, user: int, symbol: str = "vec-a") -> tuple[int, ...]:
        """Return net position, cost and what was realized."""
        (row,) = self.positions(user, symbol=symbol)
        return tuple(int(row[name]) for name in ("netPosition", "cost", "realized"))

    def cash_rows(self, user: int) -> list[tuple[str, str, str]]:
        rows = self.ledger("cash", user, newestFirst="false")
        return [(row["entryType"], row["beforeBalance"], row["afterBalance"]) for row in rows]


# ---- orders


def test_a_taker_goes_by_price_then_time_at_resting_prices() -> None:
    """M1, M41: 3 at 51, then the older of two at 52; (153 + 364) / 10 = 51.7."""
    pit = Pit()
    first = pit.order(1, "sell", 52, 5)
    pit.order(2, "sell", 51, 3)
    second = pit.order(3, "sell", 52, 4)
    taker = pit.order(0, "buy", 53, 10)
    assert pit.story(0, taker) == [
        ("NEW", 0, 0),
        ("PARTIAL_FILL", 3, 51),
        ("PARTIAL_FILL", 5, 52),
        ("FILL", 2, 52),
    ]
    assert pit.reported(taker, 0)["avgPx"] == "52"
    assert (pit.reported(first, 1)["leavesQty"], pit.reported(second, 3)["leavesQty"]) == ("0", "2")


@pytest.mark.parametrize(("prices", "mean"), [((50, 51), "50"), ((51, 52), "52")])
def test_a_mean_price_between_two_is_the_even_one(prices: tuple[int, int], mean: str) -> None:
    """M41."""
    pit = Pit()
    for price in prices:
        pit.order(1, "sell", price, 1)
    assert pit.reported(pit.order(0, "buy", prices[1], 2), 0)["avgPx"] == mean


def test_what_a_market_order_leaves_rests_at_its_last_price() -> None:
    """M10: 3 at 51 and 4 at 54 of ten; (153 + 216) / 7 = 52.7."""
    pit = Pit()
    pit.order(1, "sell", 51, 3)
    pit.order(1, "sell", 54, 4)
    taker = pit.order(0, "buy", 0, 10, kind="mtl")
    assert {row["order"]["price"] for row in pit.executions(0, taker)} == {"54"}
    assert (pit.reported(taker, 0)["avgPx"], pit.levels()) == ("53", ([(54, 3)], []))


def test_a_market_order_that_must_fill_whole_expires_where_there_is_too_little() -> None:
    """M10, M17, M19."""
    pit = Pit()
    assert pit.refused(0, "buy", 0, 5, kind="mtl") == (422, "No liquidity for market order")
    pit.order(1, "sell", 50, 5)
    for more in ({"tif": FOK}, {"allOrNone": True}, {"minQty": "6"}, {"minQty": "6", "tif": IOC}):
        assert [
            kind for kind, _, _ in pit.story(0, pit.order(0, "buy", 0, 10, kind="mtl", **more))
        ] == ["NEW", "EXPIRED"], more
    assert pit.levels() == ([], [(50, 5)])


def test_stops_reached_by_what_stops_trade_run_too() -> None:
    """M12: the trade at 55 releases a stop that trades at 57, which releases another that trades at
    58.
    """
    pit = Pit()
    near = pit.order(0, "buy", 0, 2, kind="stop", stopPrice="55")
    far = pit.order(2, "buy", 0, 2, kind="stop", stopPrice="57")
    for price, qty in ((55, 1), (57, 2), (58, 5)):
        pit.order(1, "sell", price, qty)
    pit.order(3, "buy", 55, 1)
    assert pit.story(0, near) == [("NEW", 0, 0), ("NEW", 0, 0), ("FILL", 2, 57)]
    assert pit.story(2, far) == [("NEW", 0, 0), ("NEW", 0, 0), ("FILL", 2, 58)]
    assert pit.reported(far, 2)["type"] == "ORDER_TYPE_MARKET_TO_LIMIT" and pit.levels() == (
        [],
        [(58, 3)],
    )
    late = pit.order(0, "buy", 0, 1, kind="stop", stopPrice="40")
    assert pit.story(0, late) == [("NEW", 0, 0)]  # the trades were before it


def test_a_stop_limit_becomes_a_limit_that_may_rest() -> None:
    """M12."""
    pit = Pit()
    stop = pit.order(0, "sell", 46, 5, kind="stop_limit", stopPrice="45")
    pit.order(1, "buy", 44, 2)
    pit.order(2, "sell", 44, 1)
    assert (pit.reported(stop, 0)["type"], pit.levels()) == (
        "ORDER_TYPE_LIMIT",
        ([(44, 1)], [(46, 5)]),
    )
    for side, limit in (("buy", 50), ("sell", 40)):
        assert pit.refused(0, side, limit, 5, kind="stop_limit", stopPrice="45")[0] == 422


@pytest.mark.parametrize(
    ("side", "levels", "dollars", "fills", "left"),
    [
        # three dollars, then two at 0.40
        ("buy", [(30, 10), (40, 10)], 5, [(10, 30), (5, 40)], []),
        # 5 x 0.40 = two dollars of collateral, then three at 0.50
        ("sell", [(60, 5), (50, 10)], 5, [(5, 60), (6, 50)], [(50, 4)]),
        # what is left of the dollars rests at the last price
        ("buy", [(30, 10)], 5, [(10, 30)], [(30, 6)]),
    ],
)
def test_dollars_walk_the_book(
    side: str,
    levels: list[tuple[int, int]],
    dollars: int,
    fills: list[tuple[int, int]],
    left: list[tuple[int, int]],
) -> None:
    """M24."""
    pit = Pit()
    for price, qty in levels:
        pit.order(1, "sell" if side == "buy" else "buy", price, qty)
    taker = pit.order(0, side, 0, 0, kind="mtl", cashOrderQty=str(dollars * 100))
    assert [(qty, price) for _, qty, price in pit.story(0, taker)][1:] == fills
    assert pit.levels()[0] == left


def test_own_orders_beyond_reach_prevent_nothing() -> None:
    """M27."""
    pit = Pit()
    pit.order(0, "sell", 52, 5, selfMatchPreventionId="x")
    pit.order(1, "sell", 51, 5)
    assert pit.story(0, pit.order(0, "buy", 52, 5, selfMatchPreventionId="x")) == [
        ("NEW", 0, 0),
        ("FILL", 5, 51),
    ]


@pytest.mark.parametrize(
    ("mode", "incoming"),
    [
        ("CANCEL_RESTING", [("NEW", 0, 0), ("PARTIAL_FILL", 2, 50), ("FILL", 4, 51)]),
        ("REMOVE_BOTH", [("NEW", 0, 0), ("CANCELED", 0, 0)]),
    ],
)
def test_self_match_prevention_takes_out_what_it_says(
    mode: str, incoming: list[tuple[str, int, int]]
) -> None:
    """M28, M29."""
    pit = Pit()
    pit.order(1, "sell", 50, 2)
    resting = pit.order(0, "sell", 50, 5, selfMatchPreventionId="x")
    pit.order(2, "sell", 51, 4)
    more = {
        "selfMatchPreventionId": "x",
        "selfMatchPreventionInstruction": f"SELF_MATCH_PREVENTION_INSTRUCTION_{mode}",
    }
    assert pit.story(0, pit.order(0, "buy", 51, 6, **more)) == incoming
    assert pit.story(0, resting)[-1][0] == "CANCELED"


@pytest.mark.parametrize(
    ("change", "filled"),
    [
        ({"orderQty": "8"}, (8, 0)),
        ({"orderQty": "12"}, (0, 8)),
        ({"timeInForce": DAY}, (8, 0)),
        ({"price": "40"}, (8, 0)),
    ],
)
def test_who_keeps_the_place_in_the_queue(change: dict[str, str], filled: tuple[int, int]) -> None:
    """M31: of two bids of ten at 40 the first is changed, then eight are sold."""
    pit = Pit()
    orders = [pit.order(user, "buy", 40, 10) for user in (0, 1)]
    assert pit.replace(0, orders[0], **change) == 200
    pit.order(2, "sell", 40, 8)
    cum_qtys = [pit.reported(order_id, user)["cumQty"] for user, order_id in enumerate(orders)]
    assert tuple(map(int, cum_qtys)) == filled


def test_totals_not_prices_are_what_a_replace_counts() -> None:
    """M31, M32, M33."""
    pit = Pit()
    order_id = pit.order(0, "buy", 40, 10)
    pit.order(2, "sell", 40, 4)
    assert [pit.replace(0, order_id, orderQty=qty) for qty in ("3", "4", "5")] == [422, 422, 200]
    assert pit.reported(order_id, 0)["leavesQty"] == "1"
    pit.order(2, "sell", 45, 3)
    assert pit.replace(0, order_id, price="46", orderQty="9") == 200
    assert pit.story(0, order_id)[-2:] == [("REPLACE", 0, 0), ("PARTIAL_FILL", 3, 45)]
    assert pit.levels() == ([(46, 2)], [])


# ---- auctions


@pytest.mark.parametrize(
    ("orders", "price", "left"),
    [
        # 58 to 60 trade ten with four more to sell: the lowest of them
        (
            [("buy", 60, 10), ("buy", 55, 5), ("sell", 50, 8), ("sell", 58, 6)],
            58,
            ([(55, 5)], [(58, 4)]),
        ),
        # four trade anywhere, six more want to buy: the highest price
        ([("buy", 60, 10), ("sell", 50, 4)], 60, ([(60, 6)], [])),
        # everything trades anywhere: the middle of the range
        ([("buy", 60, 5), ("sell", 50, 5)], 55, ([], [])),
        # five trade anywhere, only 56 leaves nobody behind
        (
            [("buy", 60, 5), ("buy", 55, 5), ("sell", 50, 5), ("sell", 57, 5)],
            56,
            ([(55, 5)], [(57, 5)]),
        ),
        # 56 to 60 trade six without a surplus: nearest to the middle of 50 to 60
        ([("buy", 60, 6), ("buy", 54, 2), ("sell", 50, 4), ("sell", 56, 2)], 56, ([(54, 2)], [])),
    ],
)
def test_an_opening_auction_has_one_price(
    orders: list[tuple[str, int, int]],
    price: int,
    left: tuple[list[tuple[int, int]], list[tuple[int, int]]],
) -> None:
    """L16, L17, L21."""
    pit = Pit()
    created = [(user, pit.order(user, *order, symbol="vec-p")) for user, order in enumerate(orders)]
    assert pit.book("vec-p")["stats"]["indicativeOpenPx"] == str(price)
    pit.move("vec-p", "OPEN")
    reported = [row for user, order_id in created for row in pit.story(user, order_id)]
    assert {px for kind, _, px in reported if kind.endswith("FILL")} == {price}
    assert pit.levels("vec-p") == left
    assert pit.book("vec-p")["stats"]["openPx"] == str(price)


# ---- money


def test_fees_of_a_fill_to_the_cent_on_both_ledgers() -> None:
    """P11, P15, P20, P21: 0.06 x 37 x 0.23 x 0.77 = 0.393 and 0.0125 x the same = 0.082."""
    pit = Pit(fees=True)
    taker = pit.deal(23, 37)
    assert pit.reported(taker, 0)["commissionNotionalTotalCollected"] == "39"
    assert pit.cash_rows(0)[-1] == ("ORDER_EXECUTION", "1000.00", "991.10")
    assert pit.cash_rows(1)[-1] == ("ORDER_EXECUTION", "1000.00", "1008.59")


def test_three_fills_of_an_odd_fee_are_charged_their_own_rounding() -> None:
    """P12: 0.06 x 7 x 0.25 = 0.105 three times: 0.10 each, as 0.12 that the sum would allow is
    above the fill's own rounding.
    """
    pit = Pit(fees=True)
    for user in (1, 2, 3):
        pit.order(user, "sell", 50, 7)
    rows = pit.executions(0, pit.order(0, "buy", 50, 21))
    assert [row["commissionNotionalCollected"] for row in rows] == ["0", "10", "10", "10"]


def test_hundredths_of_contracts_cost_what_they_should() -> None:
    """P11, P15: 3.33 at 0.555 are 1.84815; the fee, 0.0493, is 0.05 or 5,000 of 1/(1000 x 100)
    dollars.
    """
    pit = Pit(fees=True)
    taker = pit.deal(555, 333, symbol="vec-f")
    assert pit.reported(taker, 0)["commissionNotionalTotalCollected"] == "5000"
    assert pit.cash_rows(0)[-1][2] == "998.10185"


def test_positions_average_and_cross_zero() -> None:
    """P2, P9: short 100 at 0.60, then 150 bought at 0.40: 20.00 made, 50 left at 0.40; long 2/3 of
    100 goes half-even.
    """
    pit = Pit()
    pit.deal(60, 100)
    assert pit.money(0) == ("940", "940", "0", "0")
    assert pit.money(1) == ("1060", "960", "100", "0")
    pit.order(2, "sell", 40, 150)
    pit.order(1, "buy", 40, 150)
    assert (pit.position(1), pit.money(1)[0]) == ((50, 2000, 2000), "1000")
    pit.order(3, "sell", 33, 2, symbol="vec-b")
    pit.order(3, "sell", 34, 1, symbol="vec-b")
    pit.order(0, "buy", 34, 3, symbol="vec-b")
    pit.order(2, "buy", 50, 2, symbol="vec-b")
    pit.order(0, "sell", 50, 2, symbol="vec-b")
    assert pit.position(0, "vec-b") == (1, 33, 33)


def test_closing_contracts_go_to_the_best_price_and_cost_nothing() -> None:
    """P3: of ten long and offers of ten at 0.90 and ten at 0.60 the latter close, the former open
    for 0.10 each.
    """
    pit = Pit(cash="10")
    pit.deal(50, 10)
    pit.order(0, "sell", 90, 10)
    pit.order(0, "sell", 60, 10)
    assert pit.money(0)[3] == "1"
    pit = Pit(cash="10")
    pit.deal(50, 10)
    pit.order(0, "sell", 60, 20)
    assert pit.refused(0, "sell", 60, 3) == (422, "5.00 USD available, requested 5.20")
    assert pit.order(0, "sell", 60, 2)


def test_the_taker_fee_counts_before_and_a_fill_takes_others_out() -> None:
    """P4, P5: 20 at 0.50 want 10.30; after ten of A fill for 5.00, B's newer order of 4.00 goes and
    its older of 5.00 stays.
    """
    pit = Pit(fees=True, cash="10")
    assert pit.refused(0, "buy", 50, 20) == (422, "10.00 USD available, requested 10.30")
    assert pit.order(0, "buy", 50, 20, participateDontInitiate=True)
    pit = Pit(cash="10")
    pit.order(0, "buy", 50, 20)
    older, newer = (pit.order(0, "buy", price, 10, symbol="vec-b") for price in (50, 40))
    pit.order(1, "sell", 50, 10)
    assert (pit.story(0, older)[-1][0], pit.story(0, newer)[-1][0]) == ("NEW", "CANCELED")
    reason = pit.executions(0, newer)[-1]["unsolicitedCancelReason"]
    assert reason == "UNSOLICITED_CXL_REASON_EXCHANGE_OPTION"


@pytest.mark.parametrize(
    ("price", "long", "short"),
    [
        ("1", ("RESOLUTION", "940.00", "1040.00"), ("RESOLUTION", "1060.00", "960.00")),
        ("0.5", ("RESOLUTION", "940.00", "990.00"), ("RESOLUTION", "1060.00", "1010.00")),
    ],
)
def test_settlement_pays_and_a_correction_pays_back(
    price: str, long: tuple[str, ...], short: tuple[str, ...]
) -> None:
    """P22, L27: a hundred at 0.60."""
    pit = Pit()
    pit.deal(60, 100)
    pit.settle("vec-a", price)
    assert (pit.cash_rows(0)[-1], pit.cash_rows(1)[-1]) == (long, short)
    pit.settle("vec-a", "0")
    assert pit.cash_rows(0)[-1] == ("CORRECTION", long[2], "940.00")
    assert pit.cash_rows(1)[-1] == ("CORRECTION", short[2], "1060.00")
    assert (pit.position(0)[2], pit.position(1)[2]) == (-6000, 6000)


def test_a_busted_trade_gives_everything_back_and_is_told_again() -> None:
    """M42."""
    pit = Pit(fees=True)
    taker = pit.deal(23, 37)
    trade_id = pit.executions(0, taker)[-1]["tradeId"]
    busted = {"id": trade_id, "symbol": "vec-a", "state": "BUSTED"}
    assert pit.operate("trade.bust", trade_id).value == busted
    assert pit.cash_rows(0)[-1] == ("CORRECTION", "991.10", "1000.00")
    assert pit.cash_rows(1)[-1] == ("CORRECTION", "1008.59", "1000.00")
    assert pit.position(0) == pit.position(1) == (0, 0, 0)
    pit.advance("1m")
    (row,) = pit.search("trades", symbol="vec-a")
    assert (row["id"], row["state"]) == (trade_id, "TRADE_STATE_BUSTED")
    for trade, refusal in ((trade_id, Conflict), ("nope", NotFound)):
        with pytest.raises(refusal):
            pit.operate("trade.bust", trade)


def test_the_engine_takes_orders_of_a_participant_in_the_order_they_came() -> None:
    """M35: a later order that would be quicker waits behind the slow one on its instrument, and
    nowhere else.
    """
    pit = Pit()
    pit.operate(
        "fault.add", match={"plane": "engine", "operation": "place", "nth": 1}, act={"delay": "3s"}
    )
    slow = pit.order(0, "buy", 40, 1)
    quick, elsewhere, others = (
        pit.order(0, "buy", 41, 1),
        pit.order(0, "buy", 41, 1, symbol="vec-b"),
        pit.order(1, "buy", 42, 1),
    )
    states = [
        pit.reported(order_id, user)["state"].removeprefix("ORDER_STATE_")
        for user, order_id in ((0, slow), (0, quick), (0, elsewhere), (1, others))
    ]
    assert states == ["PENDING_NEW", "PENDING_NEW", "NEW", "NEW"]
    pit.advance("3s")
    assert [row["id"] for row in pit.open_orders() if row["symbol"] == "vec-a"] == [slow, quick]
    assert pit.reported(quick, 0)["state"] == "ORDER_STATE_NEW"
