"""Rows of history, through the control plane: what happened, why, on which branch, and never an
empty list where the question was wrong.
"""

from __future__ import annotations

import urllib.error
import urllib.request
from typing import Any
from urllib.parse import urlencode

import pytest

from sim.read.history import pages
from sim.read.history.history import History
from sim.testing.control import ControlError
from tests.api.test_synchronous_orders import slow, synchronous
from tests.journeys import key, quiet
from tests.kit import Desk
from tests.kit.streams import orders

MINE = {"symbol": "mine", "tick_size": "0.01", "state": "OPEN"}


def history(exchange: Any, **query: Any) -> dict[str, Any]:
    result: dict[str, Any] = exchange.control("GET", f"/history?{urlencode(query, doseq=True)}")
    return result


def rows(exchange: Any, **query: Any) -> list[dict[str, Any]]:
    """Every row, page by page."""
    results: list[dict[str, Any]] = []
    page = history(exchange, **query)
    while True:
        results += page["rows"]
        if page["next"] is None:
            return results
        page = history(exchange, **query | {"after": page["next"]})


def refused(exchange: Any, **query: Any) -> str:
    with pytest.raises(ControlError) as error:
        history(exchange, **query)
    assert error.value.status == 400
    return f"{error.value.body['message']} ({error.value.body.get('remedy', '')})"


def tick(exchange: Any, price: int | str, asset: str = "btc") -> None:
    exchange.control("POST", f"/prices/crypto:{asset}", {"price": str(price)})


def test_a_clearing_comes_of_the_trade_that_clears(exchange):
    """One timer serves all trades; each advance names the last of those that it cleared."""
    exchange.control("POST", "/instruments", MINE)
    for clord_id in ("a", "b"):
        for user, side in (("jon-adeyemi", "SELL"), ("mara-voss", "BUY")):
            order = {"side": side, "qty": "1", "price": "0.50", "clord_id": f"{clord_id}{side}"}
            participant = f"firms/atlas/users/{user}"
            exchange.control("POST", "/orders", {"symbol": "mine", "as": participant} | order)
        exchange.clock.advance("2s")
    exchange.clock.advance("10m")
    titles = {row["seq"]: row["title"] for row in rows(exchange)}
    clearings = [row for row in rows(exchange) if row["title"] == "trade.clearing"]
    causes = [titles[row["caused_by"]] for row in clearings]
    assert ["aBUY" in causes[0], "bBUY" in causes[1], len(causes)] == [True, True, 2]


@pytest.mark.scenario("../told.yaml")
def test_there_is_a_row_for_each_input_and_each_names_the_one_that_it_comes_of(exchange):
    exchange.clock.advance("3m")
    result = rows(exchange)
    assert [row["seq"] for row in result] == list(range(1, history(exchange)["last"] + 1))
    named = {(row["kind"], row["title"]): row for row in result}
    by_seq = {row["seq"]: row for row in result}
    order = next(row for row in result if row["title"].startswith("order.place"))
    step = by_seq[order["caused_by"]]
    assert (step["kind"], step["title"]) == ("step", "step 1 quotes (told.yaml:5)")
    timer = by_seq[step["caused_by"]]
    assert (timer["kind"], timer["title"], timer["caused_by"]) == ("timer", "script.step 1", None)
    call = named["request", "GET /v1/orderbook/mine"]
    assert (call["subject"], call["status"], call["ok"]) == ("mine", 200, True)
    assert by_seq[call["caused_by"]]["title"].startswith("step 2 book")
    opened = next(row for row in result if row["kind"] == "stream")
    assert (opened["subject"], opened["caller"]) == ("stream/1", "firms/atlas")
    beats = [row for row in result if "stream.heartbeat" in row["title"]]
    assert beats[0]["caused_by"] == opened["seq"]  # the opening set the first
    assert beats[1]["caused_by"] == beats[0]["seq"]  # and each beat the next


def test_a_refusal_in_plain_text_has_a_row_like_any_other(exchange):
    with pytest.raises(urllib.error.HTTPError) as refusal:
        urllib.request.urlopen(f"{exchange.retail}/v1/account/balances")
    assert refusal.value.headers.get_content_type() == "text/plain"
    (row,) = rows(exchange)
    assert row["result"] == "401 Missing required API key headers"
    assert (row["status"], row["ok"]) == (401, False)


def test_pages_are_cut_where_one_asks_and_go_on_where_they_ended(exchange):
    for number in range(7):
        tick(exchange, f"6{number}000")
    first = history(exchange, limit=3)
    assert [row["seq"] for row in first["rows"]] == [1, 2, 3]
    assert (first["next"], first["last"]) == (3, 7)
    assert [row["seq"] for row in history(exchange, after=first["next"])["rows"]] == [4, 5, 6, 7]
    assert history(exchange, after=7) == {"rows": [], "next": None, "last": 7}
    assert [row["seq"] for row in rows(exchange, limit=2)] == [1, 2, 3, 4, 5, 6, 7]
    assert history(exchange, limit=7)["next"] is None


def test_filters_are_exact_and_kinds_may_repeat(exchange):
    symbol = exchange.symbols["open"][0]
    exchange.control("POST", f"/instruments/{symbol}/state", {"state": "SUSPENDED"})
    exchange.control("POST", "/instruments", MINE)
    exchange.clock.advance("1m")
    every = rows(exchange)
    for kinds in (["control"], ["timer", "clock"], ["control", "timer"]):
        result = rows(exchange, kind=kinds)
        assert result == [row for row in every if row["kind"] in kinds]
        assert result
    (row,) = rows(exchange, subject=symbol)
    assert row["title"].split()[0] == "instrument.state"
    assert rows(exchange, subject=symbol, kind="request") == []  # nobody has asked for it
    assert rows(exchange, caller=exchange.firms[0]["firm"]) == []  # a firm that has not called


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ({"kind": "requst"}, "unknown kind 'requst'; did you mean 'request'?"),
        ({"kind": ["control", "jump"]}, "known: clock, timer, request, stream, frame, step"),
        ({"branch": "mian"}, "unknown branch 'mian'; did you mean 'main'? (known: main"),
        ({"limit": 0}, "limit is a number of rows from 1 to 1000"),
        ({"limit": 1001}, "limit is a number of rows from 1 to 1000"),
        ({"limit": "many"}, "limit must be an integer"),
        ({"after": 99}, "main has the inputs 1..1: there is nothing after 99"),
        ({"after": -1}, "after must be an integer from 0"),
        ({"folow": 1}, "unknown parameter 'folow'"),
        ({"after": [1, 1]}, "the parameter after is given twice"),
        ({"caller": "firms/atlos"}, "unknown caller 'firms/atlos'; did you mean 'firms/atlas'?"),
        ({"subject": "crypto:bct"}, "unknown subject 'crypto:bct'; did you mean 'crypto:btc'?"),
    ],
)
def test_a_mistake_in_the_query_is_refused_and_never_an_empty_list(exchange, query, text):
    tick(exchange, 61000)
    assert text in refused(exchange, **query)


def test_a_filter_that_finds_little_ends_its_page_and_goes_on(exchange, monkeypatch):
    monkeypatch.setattr(pages, "LINES_MAX", 5)
    monkeypatch.setattr(pages, "BLOCK", 2)
    tick(exchange, 61000)
    for number in range(12):
        tick(exchange, 2_000 + number, "eth")
    tick(exchange, 62000)
    first = history(exchange, kind="request")
    assert first["rows"] == [] and 5 <= first["next"] < first["last"]
    assert rows(exchange, kind="request") == []
    every = rows(exchange)
    results = [row for row in every if row["subject"] == "crypto:btc"]
    assert len(results) == 2 and rows(exchange, subject="crypto:btc") == results
    assert "unknown subject 'crypto:bct'" in refused(exchange, subject="crypto:bct", after=10)


def test_the_tree_of_branches_lasts_and_each_has_the_rows_it_came_from(exchange):
    def prices(branch: str) -> list[str]:
        return [row["title"].split('"')[3][:2] for row in rows(exchange, branch=branch)]

    for price in (61000, 62000, 63000):
        tick(exchange, price)
    exchange.control("POST", "/snapshots/three", {})
    assert exchange.control("POST", "/rewind", {"seq": 1})["branch"] == "branch-1"
    tick(exchange, 64000)
    exchange.control("POST", "/snapshots/three/restore", {})
    tick(exchange, 65000)
    exchange.control("POST", "/reset", {"seed": 9})
    tick(exchange, 66000)
    tree = exchange.control("GET", "/branches")["branches"]
    keys = ("name", "parent", "from_seq", "last_seq", "current", "begun", "seed")
    assert [tuple(branch[key] for key in keys) for branch in tree] == [
        ("main", None, 0, 3, False, "start", 7),
        ("branch-1", "main", 1, 2, False, "rewind", 7),
        ("branch-2", "main", 3, 4, False, "restore", 7),
        ("branch-3", None, 0, 1, True, "reset", 9),
    ]
    assert prices("main") == ["61", "62", "63"]
    assert prices("branch-1") == ["61", "64"]
    assert prices("branch-2") == ["61", "62", "63", "65"]
    assert prices("branch-3") == ["66"]
    for branch, holders in (
        ("branch-1", ["main", "branch-1"]),
        ("branch-2", ["main"] * 3 + ["branch-2"]),
        ("", ["branch-3"]),
    ):
        assert [row["branch"] for row in rows(exchange, branch=branch)] == holders


@pytest.mark.scenario("../told.yaml")
def test_a_record_has_what_was_asked_answered_and_sent_and_the_chain_that_led_to_it(exchange):
    exchange.clock.advance("3m")
    sale = {"as": "taker", "symbol": "mine", "side": "sell", "price": "0.40", "qty": "2"}
    exchange.control("POST", "/orders", sale)
    seq = history(exchange)["last"]
    while history(exchange, after=seq - 1)["rows"][0]["kind"] != "control":
        seq -= 1
    fill = exchange.control("GET", f"/history/{seq}")
    assert fill["input"]["arguments"]["price"] == "0.40"
    assert fill["answer"]["body"]["filled"] == "2"
    assert "Executed" in {event["event"] for event in fill["events"]}
    (frame,) = fill["frames"]
    assert frame["rpc"] == "CreateMarketDataSubscription"
    assert frame["body"]["update"]["bids"][0]["qty"] == "3"
    assert fill["why"]["kind"] == "order"
    assert (fill["causes"], fill["digest"]) == ([], exchange.digest)

    call = next(row for row in rows(exchange) if row["kind"] == "request")
    record = exchange.control("GET", f"/history/{call['seq']}")
    assert [row["kind"] for row in record["causes"]] == ["timer", "step"]
    assert record["answer"]["body"]["symbol"] == "mine"

    opened = next(row for row in rows(exchange) if row["kind"] == "stream")
    record = exchange.control("GET", f"/history/{opened['seq']}")
    assert record["input"]["message"]["symbols"] == ["mine"]
    assert record["frames"][0]["body"]["update"]["bids"][0]["qty"] == "5"


def test_the_past_is_read_without_moving_the_present(exchange):
    def books(of: str) -> Any:
        return exchange.control("GET", f"{of}/state/books")["books"]

    exchange.control("POST", "/instruments", MINE)
    order = {"as": "maker", "symbol": "mine", "side": "buy", "qty": "1"}
    reported = [books("")]
    for price in ("0.30", "0.31", "0.32"):
        exchange.control("POST", "/orders", order | {"price": price})
        reported.append(books(""))
    digest, journal = exchange.digest, exchange.control("GET", "/journal?since=0")
    for seq in (4, 1, 3, 2, 2):
        assert books(f"/history/{seq}") == reported[seq - 1]
    exchange.control("POST", "/rewind", {"seq": 2})
    assert exchange.control("GET", "/history/4/state/books?branch=main")["books"] == reported[3]
    exchange.control("POST", "/orders", order | {"price": "0.39"})
    assert books("/history/3") == books("")
    exchange.control("POST", "/rewind", {"seq": 0})
    assert (digest, journal) != (exchange.digest, exchange.control("GET", "/journal?since=0"))
    for path, text in (
        ("/history/1/state/books", "branch-2 has the inputs 0..0, not 1"),
        ("/history/0", "branch-2 has no inputs yet"),
        ("/history/9?branch=main", "main has the inputs 1..4, not 9"),
        ("/history/0/state/bookz", "there is no view 'bookz'"),
        ("/history/one", "seq must be an integer from 0"),
        ("/history/1?branch=trunk", "unknown branch 'trunk'"),
    ):
        with pytest.raises(ControlError) as error:
            exchange.control("GET", path)
        assert error.value.status in (400, 404)
        assert text in error.value.body["message"]


def test_the_fixture_reads_history(exchange):
    for price in (61000, 62000):
        tick(exchange, price)
    exchange.clock.advance("1h")
    exchange.rewind(seq=2)
    assert [row["seq"] for row in exchange.history(kind="control")] == [1, 2]
    assert exchange.history(after=2, branch="main") == rows(exchange, after=2, branch="main")
    assert exchange.history(subject="crypto:btc") == rows(exchange)
    assert exchange.record(2)["digest"] == exchange.digest
    first = exchange.state_at(0, "timers")
    assert exchange.state_at(3, "timers", branch="main") != first
    assert exchange.control("GET", "/state/timers")["timers"] == first
    with pytest.raises(ControlError, match="did you mean 'timer'"):
        exchange.history(kind=["control", "timers"])


def test_a_hang_up_comes_of_the_opening_and_of_nothing_once_the_stream_is_over(quickstart) -> None:
    stream = orders(Desk(quickstart))
    opened = quickstart.seq
    for caused_by in (opened, None):  # the second finds no stream of this number
        quickstart.hangup(stream.number)
        result = History(quickstart).row(quickstart.journal.branch, quickstart.seq)
        assert result["caused_by"] == caused_by


def test_an_answer_that_has_to_leave_comes_of_the_call_that_it_answers(quickstart) -> None:
    world = Desk(quickstart)
    slow(world, "2s")
    client = world.retail(key(quickstart))
    parked = client.post("/v1/orders", json=synchronous(quiet(quickstart)), wait=False)
    called = quickstart.seq
    for caused_by in (called, None):  # the second finds nobody who waits
        world.absorb(quickstart.answer_due(parked.reply.pending_on))
        result = History(quickstart).row(quickstart.journal.branch, quickstart.seq)
        assert result["caused_by"] == caused_by
