"""The retail WebSockets: what clients send, what they get, and what is refused without ending the
socket.
"""

from __future__ import annotations

import json
from itertools import islice

import pytest

from sim.api.codecs.codecs import dialect_at, json_encoder
from sim.api.pipeline.inputs import Send
from sim.api.rendering.retail_books import book_message
from sim.contract.messages import retail_v1 as wire
from sim.core.model.enums import InstrumentState
from sim.core.model.instrument import Instrument
from sim.run.client.client import RpcError, Stream
from tests.journeys import key, retail_order
from tests.kit import Desk, begin
from tests.kit.streams import MARKETS, PRIVATE, ask, socket, subscribe


@pytest.fixture
def markets(world: Desk) -> Stream:
    return socket(world, MARKETS)


@pytest.fixture
def private(world: Desk) -> Stream:
    return socket(world, PRIVATE)


def buy(
    world: Desk, instrument: Instrument, cents: int = 40, contracts: int = 2, *, index: int = 0
) -> str:
    answer = world.retail(key(world.simulation, index)).post(
        "/v1/orders", json=retail_order(instrument, "BUY_LONG", cents, contracts)
    )
    assert answer.status == 200, answer
    return str(answer.json()["id"])


# ---- markets


@pytest.mark.spec("S4.2-15")
def test_a_book_comes_at_once_and_whole_again_on_each_change(
    world: Desk, markets: Stream, instrument: Instrument
) -> None:
    (first,) = subscribe(markets, "r1", "MARKET_DATA", [instrument.symbol])
    assert (first["requestId"], first["subscriptionType"]) == (
        "r1",
        "SUBSCRIPTION_TYPE_MARKET_DATA",
    )
    assert first["marketData"]["bids"] == []
    world.place(instrument, "buy", 30, 2)
    world.place(instrument, "buy", 31, 1)
    _, last = markets.take()
    assert [(level["px"]["value"], level["qty"]) for level in last["marketData"]["bids"]] == [
        ("0.3100", "1.0000"),
        ("0.3000", "2.0000"),
    ]


@pytest.mark.spec("S4.2-15")
def test_the_lite_form_says_what_each_side_costs_now(
    world: Desk, markets: Stream, instrument: Instrument
) -> None:
    world.place(instrument, "buy", 30)
    world.place(instrument, "sell", 40, user=1)
    (frame,) = subscribe(markets, "r1", "MARKET_DATA_LITE", [instrument.symbol])
    lite = frame["marketDataLite"]
    assert (lite["longQuote"]["value"], lite["shortQuote"]["value"]) == ("0.4000", "0.7")
    assert (lite["bidShares"], lite["askShares"]) == ("1", "1")
    assert "marketData" not in frame


@pytest.mark.spec("S4.2-19")
def test_trades_come_one_by_one_without_names(
    world: Desk, markets: Stream, instrument: Instrument
) -> None:
    assert subscribe(markets, "r1", "TRADE", [instrument.symbol]) == []
    world.trade(instrument, 40, 3)
    world.advance("1m")
    (frame,) = [frame for frame in markets.take() if "trade" in frame]
    assert set(frame["trade"]) == {"marketSlug", "price", "quantity", "tradeTime", "maker", "taker"}
    assert (frame["trade"]["price"]["value"], frame["trade"]["quantity"]["value"]) == ("0.40", "3")
    assert frame["trade"]["maker"] == {
        "side": "ORDER_SIDE_SELL",
        "intent": "ORDER_INTENT_SELL_LONG",
    }


@pytest.mark.reading("documented")
def test_a_frame_put_together_from_parts_is_what_the_contract_writes(
    world: Desk, markets: Stream, instrument: Instrument
) -> None:
    tricky = 'quotes " and \\ and é and \u2028'
    request = {
        "subscribe": {
            "requestId": tricky,
            "subscriptionType": 1,
            "marketSlugs": [instrument.symbol],
        }
    }
    (sent,) = world.simulation.frame(markets.number, json.dumps(request).encode()).effects
    assert isinstance(sent, Send)
    markets_frame = wire.MarketsFrame(
        request_id=tricky,
        subscription_type=1,
        market_data=book_message(world.core, instrument.symbol),
    )
    assert sent.frame == json_encoder(wire.MarketsFrame, dialect_at("retail", world.now))(
        markets_frame
    )


def test_both_request_styles_are_understood_and_answered_alike(
    world: Desk, instrument: Instrument
) -> None:
    """S17."""
    numbers, names = socket(world, MARKETS), socket(world, MARKETS)
    snake = ask(
        numbers,
        {
            "subscribe": {
                "request_id": "a",
                "subscription_type": 2,
                "market_slugs": [instrument.symbol],
                "responses_debounced": False,
            }
        },
    )
    assert snake == subscribe(names, "a", "MARKET_DATA_LITE", [instrument.symbol])
    assert len(snake) == 1


def test_unsubscribing_silences_without_an_answer_and_frees_the_id(
    world: Desk, markets: Stream, instrument: Instrument
) -> None:
    subscribe(markets, "r1", "MARKET_DATA", [instrument.symbol])
    assert ask(markets, {"unsubscribe": {"requestId": "r1"}}) == [
        {"requestId": "r1", "unsubscribed": True}
    ]
    world.place(instrument, "buy", 30)
    assert markets.take() == []
    assert "marketData" in subscribe(markets, "r1", "MARKET_DATA", [instrument.symbol])[0]


def test_subscriptions_of_one_socket_and_of_others_all_get_their_own_id(
    world: Desk, instrument: Instrument
) -> None:
    sockets = [socket(world, MARKETS, index) for index in (0, 1)]
    for number, stream in enumerate(sockets):
        subscribe(stream, f"book-{number}", "MARKET_DATA", [instrument.symbol])
        subscribe(stream, "lite", "MARKET_DATA_LITE", [instrument.symbol])
    world.place(instrument, "buy", 30)
    assert [[frame["requestId"] for frame in stream.take()] for stream in sockets] == [
        ["book-0", "lite"],
        ["book-1", "lite"],
    ]


@pytest.mark.parametrize(
    ("frame", "answer"),
    [
        (b"no json", None),
        (b"[]", None),
        (b"\xff", None),
        (b"{}", {"requestId": "", "error": "a frame must hold subscribe or unsubscribe"}),
        (
            {"subscribe": {"requestId": "", "subscriptionType": 1}},
            {"requestId": "", "error": "requestId is required"},
        ),
        (
            {"subscribe": {"requestId": "r", "marketSlugs": ["x"]}},
            {"requestId": "r", "error": "invalid subscriptionType"},
        ),
        (
            {
                "subscribe": {
                    "requestId": "r",
                    "subscriptionType": "SUBSCRIPTION_TYPE_ORDER",
                    "marketSlugs": ["x"],
                }
            },
            None,
        ),
        (
            {"subscribe": {"requestId": "r", "subscriptionType": 1, "marketSlugs": ["nobody"]}},
            {"requestId": "r", "error": "unknown market: nobody"},
        ),
        ({"subscribe": {"requestId": "r", "subscriptionType": 1, "marketSlugs": "x"}}, None),
        (
            {"unsubscribe": {"requestId": "gone"}},
            {"requestId": "gone", "error": "unknown requestId"},
        ),
    ],
)
def test_a_bad_frame_gets_an_error_frame_and_the_socket_stays(
    world: Desk,
    markets: Stream,
    instrument: Instrument,
    frame: object,
    answer: dict[str, str] | None,
) -> None:
    (result,) = ask(markets, frame)
    assert set(result) == {"requestId", "error"}
    assert result["error"]
    assert answer is None or result == answer
    assert subscribe(markets, "good", "MARKET_DATA", [instrument.symbol])[0]["requestId"] == "good"


def test_a_lone_surrogate_in_a_request_id_ends_nothing(markets: Stream) -> None:
    (result,) = ask(markets, rb'{"unsubscribe": {"requestId": "\ud800"}}')
    assert result["error"]


@pytest.mark.observed("sockets.bounds")
def test_ten_subscriptions_are_allowed_and_the_eleventh_is_refused(
    world: Desk, private: Stream
) -> None:
    """S16."""
    exchange = world.core
    for number, result in enumerate(islice(exchange.instruments, 10)):
        assert subscribe(private, f"r{number}", "ORDER", [result.symbol]) == []
    assert subscribe(private, "r10", "POSITION") == [
        {"requestId": "r10", "error": "max subscriptions per connection reached"}
    ]
    ask(private, {"unsubscribe": {"requestId": "r0"}})
    assert subscribe(private, "r10", "POSITION") == []


def test_a_market_may_be_subscribed_once_per_type_and_a_repeat_rejects_the_whole_request(
    world: Desk, markets: Stream, instrument: Instrument
) -> None:
    other = next(
        result.symbol for result in world.core.instruments if result.symbol != instrument.symbol
    )
    subscribe(markets, "r1", "MARKET_DATA", [instrument.symbol])
    assert subscribe(markets, "r2", "MARKET_DATA", [other, instrument.symbol]) == [
        {"requestId": "r2", "error": f"already subscribed: {instrument.symbol}"}
    ]
    assert "error" not in subscribe(markets, "r2", "MARKET_DATA_LITE", [instrument.symbol])[0]
    assert subscribe(markets, "r1", "TRADE", [instrument.symbol]) == [
        {"requestId": "r1", "error": "requestId is in use"}
    ]


@pytest.mark.observed("sockets.bounds")
def test_a_hundred_slugs_are_allowed_and_more_are_refused(world: Desk, markets: Stream) -> None:
    """S16."""
    slugs = [f"m{number}" for number in range(101)]
    (answer,) = subscribe(markets, "r", "MARKET_DATA", slugs)
    assert answer["error"] == "at most 100 market slugs per subscription"
    listed = list(world.core.instruments.symbols())
    frames = subscribe(markets, "r", "TRADE", listed[:100])
    assert (len(listed) >= 100, frames) == (True, [])


def test_merged_responses_come_once_a_quarter_of_a_second(
    world: Desk, markets: Stream, instrument: Instrument
) -> None:
    (first,) = subscribe(
        markets, "slow", "MARKET_DATA", [instrument.symbol], responsesDebounced=True
    )
    assert first["marketData"]["bids"] == []
    for cents in (30, 31, 32):
        world.place(instrument, "buy", cents)
    assert markets.take() == []
    world.advance("250ms")
    (merged,) = markets.take()
    assert [level["px"]["value"] for level in merged["marketData"]["bids"]] == [
        "0.3200",
        "0.3100",
        "0.3000",
    ]
    world.advance("1s")
    assert markets.take() == []
    for cents in (33, 34):
        world.place(instrument, "buy", cents)
    world.advance("249ms")
    assert markets.take() == []
    world.advance("1ms")
    (again,) = markets.take()
    assert again["marketData"]["bids"][0]["px"]["value"] == "0.3400"


def test_pending_markets_are_silent_until_they_open(world: Desk, markets: Stream) -> None:
    pending = next(world.in_state(InstrumentState.PENDING))
    assert subscribe(markets, "r", "MARKET_DATA", [pending.symbol]) == []
    world.move(pending, "OPEN")
    assert [frame["marketData"]["state"] for frame in markets.take()] == ["MARKET_STATE_OPEN"]


def test_terminated_markets_say_so_once(world: Desk, markets: Stream) -> None:
    expired = next(world.in_state(InstrumentState.EXPIRED))
    subscribe(markets, "r", "MARKET_DATA", [expired.symbol])
    world.move(expired, "TERMINATED")
    assert [frame["marketData"]["state"] for frame in markets.take()] == ["MARKET_STATE_TERMINATED"]
    assert subscribe(markets, "r2", "MARKET_DATA_LITE", [expired.symbol]) == []


@pytest.mark.reading("documented")
@pytest.mark.spec("S4.2-18", "S9-3")
def test_the_last_price_sample_leaves_both_types_on_its_date_while_the_socket_is_open() -> None:
    """S18."""
    world = begin(start="2026-07-02T20:00:00Z")
    stream = socket(world, MARKETS)
    slug = next(iter(world.core.instruments)).symbol
    if world.trading.state(slug) is InstrumentState.PENDING:
        world.operate("instrument.state", slug, state="OPEN")
    sampled = []
    for instant in ("2026-07-03T03:59:59Z", "2026-07-03T04:00:00Z"):
        world.advance_to(instant)
        stream.take()
        frames = [
            *subscribe(stream, "b", "MARKET_DATA", [slug]),
            *subscribe(stream, "l", "MARKET_DATA_LITE", [slug]),
        ]
        sampled += [
            "lastPriceSample" in frame.get("marketData", frame.get("marketDataLite"))
            for frame in frames
        ]
        for request_id in ("b", "l"):
            ask(stream, {"unsubscribe": {"requestId": request_id}})
    assert sampled == [True, True, False, False]


# ---- private


@pytest.mark.spec("S4.2-14", "S6.2-8")
def test_orders_are_silent_at_first_and_then_told_execution_by_execution(
    world: Desk, private: Stream, instrument: Instrument
) -> None:
    """S16."""
    buy(world, instrument, 30)
    assert subscribe(private, "o", "ORDER") == []
    placed = buy(world, instrument, 40, 2)
    world.place(instrument, "sell", 40, 2)
    first, second = private.take()
    executions = [frame["orderSubscriptionUpdate"]["execution"] for frame in (first, second)]
    assert [execution["type"] for execution in executions] == [
        "EXECUTION_TYPE_NEW",
        "EXECUTION_TYPE_FILL",
    ]
    assert [execution["order"]["id"] for execution in executions] == [placed, placed]
    assert executions[1]["order"]["cumQuantity"] == 2
    assert (first["requestId"], first["subscriptionType"]) == ("o", "SUBSCRIPTION_TYPE_ORDER")


def test_only_the_keys_own_account_and_the_asked_markets_are_told(
    world: Desk, private: Stream, instrument: Instrument
) -> None:
    exchange = world.core
    elsewhere = next(
        result
        for result in exchange.instruments
        if result.symbol != instrument.symbol
        and exchange.trading.state(result.symbol) is InstrumentState.OPEN
    )
    subscribe(private, "o", "ORDER", [instrument.symbol])
    buy(world, instrument, index=2)
    buy(world, elsewhere, 10)
    assert private.take() == []
    buy(world, instrument)
    assert len(private.take()) == 1


@pytest.mark.spec("S6.2-8")
def test_an_order_snapshot_is_given_once_and_ends_with_eof(
    world: Desk, private: Stream, instrument: Instrument
) -> None:
    assert subscribe(private, "none", "ORDER_SNAPSHOT") == [
        {
            "requestId": "none",
            "subscriptionType": "SUBSCRIPTION_TYPE_ORDER_SNAPSHOT",
            "orderSubscriptionSnapshot": {"orders": [], "eof": True},
        }
    ]
    placed = [buy(world, instrument, 1 + number % 20, 1) for number in range(3)]
    (frame,) = subscribe(private, "some", "ORDER_SNAPSHOT")
    assert [order["id"] for order in frame["orderSubscriptionSnapshot"]["orders"]] == placed
    buy(world, instrument)
    assert private.take() == []
    assert subscribe(private, "some", "ORDER_SNAPSHOT") != []


@pytest.mark.spec("S4.2-14")
def test_a_position_is_told_before_and_after_each_change(
    world: Desk, private: Stream, instrument: Instrument
) -> None:
    assert subscribe(private, "p", "POSITION") == []
    for _ in range(2):
        buy(world, instrument, 40, 2)
        world.place(instrument, "sell", 40, 2)
    first, second = (frame["positionSubscription"] for frame in private.take())
    assert first["beforePosition"] is None
    assert (first["afterPosition"]["netPositionDecimal"], first["entryType"]) == (
        "2.0000",
        "LEDGER_ENTRY_TYPE_ORDER_EXECUTION",
    )
    assert (
        second["beforePosition"]["netPositionDecimal"],
        second["afterPosition"]["netPositionDecimal"],
    ) == ("2.0000", "4.0000")
    assert first["tradeId"]
    assert first["updateTradeDate"] == "2026-09-08T00:00:00Z"


def test_a_position_frame_says_why_the_position_changed(
    world: Desk, private: Stream, instrument: Instrument
) -> None:
    subscribe(private, "p", "POSITION")

    def changes() -> list[tuple[str, str]]:
        position_subscriptions = [frame["positionSubscription"] for frame in private.take()]
        return [
            (
                change["entryType"].removeprefix("LEDGER_ENTRY_TYPE_"),
                change["afterPosition"]["netPositionDecimal"],
            )
            for change in position_subscriptions
        ]

    world.place(instrument, "sell", 40, 5)
    buy(world, instrument, 40, 3)
    last = world.trading.execution_log.trades[-1]
    buy(world, instrument, 40, 2)
    assert changes() == [("ORDER_EXECUTION", "3.0000"), ("ORDER_EXECUTION", "5.0000")]
    world.operate("trade.bust", last.id)
    assert changes() == [("CORRECTION", "2.0000")]
    for price in ("1", "0"):
        world.settle(instrument, price)
    paid, corrected = (frame["positionSubscription"] for frame in private.take())
    for change, kind, before in ((paid, "RESOLUTION", False), (corrected, "CORRECTION", True)):
        assert change["entryType"] == f"LEDGER_ENTRY_TYPE_{kind}"
        assert change["afterPosition"]["netPositionDecimal"] == "0.0000"
        # what was held expires with the payment, and not before it
        reported = (change["beforePosition"]["expired"], change["afterPosition"]["expired"])
        assert reported == (before, True)


@pytest.mark.parametrize("side", ["LONG", "SHORT"])
def test_a_position_whose_only_trade_was_busted_keeps_its_side(
    world: Desk, private: Stream, instrument: Instrument, side: str
) -> None:
    subscribe(private, "p", "POSITION")
    world.place(instrument, "sell" if side == "LONG" else "buy", 40)
    reader = world.customer()
    reader.post("/v1/orders", json=retail_order(instrument, f"BUY_{side}", 40, 1))
    last = world.trading.execution_log.trades[-1]
    world.operate("trade.bust", last.id)
    held = [frame["positionSubscription"]["afterPosition"] for frame in private.take()]
    assert [position["netPosition"] for position in held] == ["1" if side == "LONG" else "-1", "0"]
    assert {position["positionId"].split(":")[1] for position in held} == {side}


@pytest.mark.spec("S4.2-14", "S2.8-3")
def test_every_field_of_a_position_frame_is_what_the_positions_then_say(
    world: Desk, private: Stream, instrument: Instrument
) -> None:
    subscribe(private, "p", "POSITION")
    reader = world.customer()
    buy(world, instrument, 40, 5)
    output: list[dict[str, object]] = []
    for step in range(3):
        world.place(instrument, "sell", 40, 1 + step % 2)
        (frame,) = (item for item in private.take() if "heartbeat" not in item)
        change = frame["positionSubscription"]
        (held,) = reader.read(
            "/v1/portfolio/positions", "positions", market=instrument.symbol
        ).values()
        assert change["afterPosition"] == held
        if output:
            untimed = {"updateTime", "qtyAvailable", "qtyAvailableDecimal", "cashValue"}
            assert {
                name: value
                for name, value in change["beforePosition"].items()
                if name not in untimed
            } == {name: value for name, value in output[-1].items() if name not in untimed}
        output.append(held)
        world.advance("1h")
    assert [item["qtyBoughtDecimal"] for item in output] == ["1.0000", "3.0000", "4.0000"]
    assert output[-1]["fees"] == {"value": "-0.0100", "currency": "USD"}  # a maker's rebate


@pytest.mark.spec("S4.2-14", "S2.8-3")
@pytest.mark.parametrize("intent", ["BUY_LONG", "BUY_SHORT"])
def test_a_corrected_settlement_leaves_the_position_that_the_frame_shows(
    world: Desk, private: Stream, instrument: Instrument, intent: str
) -> None:
    subscribe(private, "p", "POSITION")
    reader = world.customer()
    world.place(instrument, "sell" if intent == "BUY_LONG" else "buy", 40, 5)
    answer = reader.post("/v1/orders", json=retail_order(instrument, intent, 40, 5))
    assert answer.status == 200
    private.take()
    held = None
    for price in ("1", "0", "0.5", "1"):
        world.advance("1s")
        world.settle(instrument, price)
        (frame,) = (item for item in private.take() if "heartbeat" not in item)
        before, after = (
            frame["positionSubscription"][name] for name in ("beforePosition", "afterPosition")
        )
        if held is not None:
            untimed = {"updateTime"}
            assert {**before, **dict.fromkeys(untimed)} == {**held, **dict.fromkeys(untimed)}
        (held,) = reader.read("/v1/portfolio/positions", "positions").values()
        assert after == held
    assert held is not None
    assert (held["qtyBought"], held["qtySold"], held["expired"]) == ("5", "5", True)


@pytest.mark.spec("S4.2-14")
def test_balances_begin_with_a_snapshot_and_go_on_with_changes(
    world: Desk, private: Stream, instrument: Instrument
) -> None:
    (snapshot,) = subscribe(private, "b", "ACCOUNT_BALANCE")
    (balance,) = snapshot["accountBalancesSnapshot"]["balances"]
    buy(world, instrument, 40, 2)
    world.place(instrument, "sell", 40, 2)
    (frame,) = private.take()
    change = frame["accountBalancesUpdate"]["balanceChange"]
    assert change["beforeBalance"]["currentBalance"] == balance["currentBalance"]
    assert change["afterBalance"]["currentBalance"] < balance["currentBalance"]
    assert change["entryType"] == "LEDGER_ENTRY_TYPE_ORDER_EXECUTION"
    assert (frame["requestId"], frame["subscriptionType"]) == (
        "b",
        "SUBSCRIPTION_TYPE_ACCOUNT_BALANCE",
    )


def test_who_unsubscribes_is_told_nothing_more_and_others_go_on(
    world: Desk, private: Stream, instrument: Instrument
) -> None:
    other = socket(world, PRIVATE)
    for item in (private, other):
        for kind in ("ORDER", "POSITION", "ACCOUNT_BALANCE"):
            subscribe(item, kind, kind)

    def trade() -> list[set[str]]:
        """The subscriptions of each socket that say something about a trade."""
        buy(world, instrument, 40, 1)
        world.place(instrument, "sell", 40, 1)
        return [{frame["requestId"] for frame in entry.take()} for entry in (private, other)]

    everything = {"ORDER", "POSITION", "ACCOUNT_BALANCE"}
    assert trade() == [everything, everything]
    left = set(everything)
    for kind in ("ACCOUNT_BALANCE", "POSITION", "ORDER"):
        ask(private, {"unsubscribe": {"requestId": kind}})
        left.remove(kind)
        assert trade() == [left, everything]
    subscribe(private, "again", "ACCOUNT_BALANCE")
    other.close()
    buy(world, instrument, 40, 1)
    private.take()
    world.place(instrument, "sell", 40, 1)
    (frame,) = private.take()
    assert frame["requestId"] == "again"
    change = frame["accountBalancesUpdate"]["balanceChange"]
    before, after = change["beforeBalance"], change["afterBalance"]
    assert (before["openOrders"], after["openOrders"]) == (0.4, 0)


def test_quotes_are_accepted_and_silent(private: Stream) -> None:
    assert subscribe(private, "q", "RFQ") == []
    assert subscribe(private, "q2", "RFQ") == [{"requestId": "q2", "error": "already subscribed"}]


def test_the_numbers_of_the_older_style_mean_the_same_types(private: Stream) -> None:
    for number, name in (
        (1, "ORDER"),
        (2, "ORDER_SNAPSHOT"),
        (3, "POSITION"),
        (4, "ACCOUNT_BALANCE"),
    ):
        ask(private, {"subscribe": {"request_id": f"n{number}", "subscription_type": number}})
        if name != "ORDER_SNAPSHOT":
            assert subscribe(private, f"again-{number}", name) == [
                {"requestId": f"again-{number}", "error": "already subscribed"}
            ]


def test_data_frames_never_hold_the_keys_clients_tell_frames_apart_by(
    world: Desk, instrument: Instrument
) -> None:
    market, private = socket(world, MARKETS), socket(world, PRIVATE)
    for type in ("MARKET_DATA", "MARKET_DATA_LITE", "TRADE"):
        subscribe(market, type, type, [instrument.symbol])
    for type in ("ORDER", "POSITION", "ACCOUNT_BALANCE"):
        subscribe(private, type, type)
    buy(world, instrument)
    world.place(instrument, "sell", 40, 2)
    frames = [*market.take(), *private.take()]
    assert len(frames) > 6
    assert all(
        "heartbeat" not in frame and "error" not in frame and len(frame) == 3 for frame in frames
    )


# ---- how many


@pytest.mark.spec("S8-1", "S7.1-8")
def test_a_key_may_have_five_sockets_where_that_is_its_limit(world: Desk) -> None:
    """§8 knows no such limit, so it is off by default; an independent client met it (retail facts
    4).
    """
    many = [socket(world, path) for path in (MARKETS, PRIVATE) * 4]
    for stream in many[5:]:
        stream.close()
    world.assume("retail.sockets_per_key", 5)
    refused = world.simulation.open(
        MARKETS, world.retail_headers(key(world.simulation), "GET", MARKETS), b"", web_socket=True
    ).reply
    assert refused is not None
    assert (refused.status, json.loads(refused.body)) == (
        429,
        {"status": 429, "message": "Too Many Requests"},
    )
    assert ("Retry-After", "1") in refused.headers
    assert socket(world, MARKETS, index=2).end is None
    many[0].close()
    assert socket(world, PRIVATE).end is None


@pytest.mark.parametrize("most", [1, 3])
def test_a_key_has_as_many_sockets_as_it_may_have(world: Desk, most: int) -> None:
    world.assume("retail.sockets_per_key", most)
    first, second = (key(world.simulation, number) for number in (0, 1))
    opened = [world.web_socket(first, "/v1/ws/private") for _ in range(most)]
    with pytest.raises(RpcError, match="too many WebSockets"):
        world.web_socket(first, "/v1/ws/markets")
    world.web_socket(second, "/v1/ws/markets")  # another key has a pool of its own
    opened[0].close()
    world.web_socket(first, "/v1/ws/markets")
