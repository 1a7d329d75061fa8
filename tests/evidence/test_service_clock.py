"""The virtual times at which a replay sends requests and expects answers: the service's clock, line
by line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sim.contract.messages import exchange_v1 as wire
from sim.kernel.instants import format_instant
from tests.evidence import fresh_session as fresh
from tests.evidence.clients import BOOKS, Clients, planted
from tests.evidence.conftest import Compare, differences
from tests.evidence.lines import Line, called, edited, frames, lines
from tests.journeys import retail_order

pytestmark = pytest.mark.reading("documented")

SLOW = {"assumptions": {"engine.latency": "4s", "retail.block_time": "10s"}}


def held(clients: Clients) -> None:
    """An order whose answer is held, and calls of other clients meanwhile."""
    retail, market, world = clients.retail, clients.market, clients.world
    body = retail_order(market, "BUY_LONG", 40, 2, synchronousExecution=True)
    retail.post("/v1/orders", json=body, wait=False)
    for _ in range(3):
        world.advance("1s")
        clients.order(clients.seller, "sell", 45, 1)
    world.advance("10s")
    retail.get("/v1/orders/open")
    clients.partner.get(f"/v1/orderbook/{market.symbol}")


def variant(folder: Path, settings: dict[str, Any]) -> Path:
    """A scenario with these values."""
    planted(folder, "other", settings, parts=())
    return folder / "other.yaml"


def held_line(file: Path) -> Line:
    """The call whose answer was held."""
    return called(lines(file), "/v1/orders")


def test_a_held_call_is_sent_when_it_was_sent(tmp_path: Path, compare: Compare) -> None:
    file = planted(tmp_path, "slow", SLOW, parts=(held,))
    line, order = held_line(file), [item.get("n") for item in lines(file)]
    assert line["answer"]["at"] > line["at"]
    assert order.index(line["n"]) > 3  # it was answered after other calls
    code, result = compare(file, "--scenario", str(tmp_path / "slow.yaml"))
    assert (code, differences(result)) == (0, [])


@pytest.mark.parametrize("latency", ["0s", "1s", "9s"])
def test_another_wait_is_a_difference_of_time(
    latency: str, tmp_path: Path, compare: Compare
) -> None:
    """An answer that is immediate here may take longer over a network: that is no difference."""
    file = planted(tmp_path, "slow", SLOW, parts=(held,))
    other = variant(tmp_path, {"assumptions": {"engine.latency": latency}})
    _, result = compare(file, "--scenario", str(other))
    times = [entry for _, entry in differences(result) if entry["kind"] == "time"]
    if latency == "0s":
        assert times == []
    else:
        (item,) = times
        assert (item["n"], item["where"]) == (held_line(file)["n"], "answer.after_s")
        assert (item["recorded"], item["ours"]) == (4, float(latency.rstrip("s")))


def without_dates(line: Line) -> None:
    """Return a line of a service that never reports its time."""
    if "answer" in line:
        line["answer"].pop("now", None)
        line["answer"].get("headers", {}).pop("date", None)


@pytest.mark.parametrize("displayed", ["now and then", "never"])
def test_the_recorders_clock_stands_in_where_the_service_tells_no_time(
    displayed: str, tmp_path: Path, compare: Compare
) -> None:
    file = planted(tmp_path, "slow", SLOW, parts=(held,))
    with edited(file) as written:
        for number, line in enumerate(written):
            if displayed == "never" or number % 4:
                without_dates(line)
    code, result = compare(file, "--scenario", str(tmp_path / "slow.yaml"))
    assert (code, differences(result)) == (0, [])


def test_a_clock_that_was_moved_by_hand_is_followed(tmp_path: Path, compare: Compare) -> None:
    """The recorder's clock hardly advances while a tester moves the clock of a sandbox."""

    def act(clients: Clients) -> None:
        for wait in ("1s", "5m", "3h"):
            clients.order(clients.buyer, "buy", 40, 1)
            clients.buyer.get("/v1/trading/orders/open")
            clients.world.advance(wait)

    file = planted(tmp_path, "moved", {}, parts=(act,))
    with edited(file) as written:
        for number, line in enumerate(written[1:]):
            line["at"] = f"2026-11-01T12:00:00.{number:03}Z"
            line["answer"]["at"] = f"2026-11-01T12:00:00.{number:03}4Z"
    code, result = compare(file, "--scenario", str(tmp_path / "moved.yaml"))
    assert (code, differences(result)) == (0, [])


def test_a_held_call_that_stands_twice_is_sent_twice(tmp_path: Path, compare: Compare) -> None:
    """Concatenated recordings have duplicate line numbers."""
    file = planted(tmp_path, "slow", SLOW, parts=(held,))
    with edited(file) as written:
        written += [called(written, "/v1/orders")] * 2
    code, result = compare(file, "--scenario", str(tmp_path / "slow.yaml"))
    assert code in (0, 1)
    assert result["operations"]["RetailOrdersAPI.CreateOrder"]["seen"] == 3


def by_hand(file: Path) -> Path:
    """Return a recording of a sandbox whose clock is moved by hand: the recorder's clock advances
    by a millisecond per line, and by 20 at a line where the service's clock was moved.
    """
    at, before = 1_793_534_400_000, ""
    with edited(file) as written:
        for line in written[1:]:
            at, before = at + (1 if line["at"] == before else 20), line["at"]
            line["at"] = instant(at)
            if "answer" in line:
                before = line["answer"].get("at", before)
                line["answer"]["at"] = instant(at := at + 1)
    return file


def instant(milliseconds: int) -> str:
    return format_instant(milliseconds * 1_000_000)


@pytest.mark.long
@pytest.mark.parametrize("number", [601, 702, 703])
def test_sessions_in_a_sandbox_whose_clock_is_moved_by_hand(
    number: int, tmp_path: Path, compare: Compare
) -> None:
    """Fractions of a second, heartbeats of one jump and merged books are no differences."""
    file = by_hand(planted(tmp_path, "moved", {}, seed=number, parts=(fresh.drawn(number),)))
    for seed in (number, number + 900):
        options = ("--scenario", str(tmp_path / "moved.yaml"), "--seed", str(seed))
        code, result = compare(file, *options)
        assert (code, differences(result)) == (0, [])
    assert result["totals"]["agree"] > 100


@pytest.mark.long
def test_a_frame_that_is_missing_while_the_clock_is_moved_by_hand_is_found(
    tmp_path: Path, compare: Compare
) -> None:
    file = by_hand(planted(tmp_path, "moved", {}, seed=702, parts=(fresh.drawn(702),)))
    with edited(file) as written:
        written.remove(frames(written, "tradeTime")[0])
    code, result = compare(file, "--scenario", str(tmp_path / "moved.yaml"), "--seed", "702")
    assert code == 1
    assert [item["kind"] for _, item in differences(result)] == ["missing frame"]


def test_a_call_during_which_the_clock_jumped_is_sent_before_the_jump(
    tmp_path: Path, compare: Compare
) -> None:
    """A sandbox whose clock jumps sends the heartbeats of the wait before it answers the call."""

    def act(clients: Clients) -> None:
        clients.partner.get(f"/v1/orderbook/{clients.market.symbol}")
        request = wire.CreateMarketDataSubscriptionRequest(symbols=[clients.market.symbol])
        clients.rpc.stream(BOOKS, request)
        clients.retail.post("/v1/orders", json=order(clients))
        clients.retail.get("/v1/orders/open")

    def order(clients: Clients) -> dict[str, Any]:
        return retail_order(clients.market, "BUY_LONG", 40, 2, synchronousExecution=True)

    slow = SLOW["assumptions"] | {"stream.heartbeat": "1s"}
    file = planted(tmp_path, "slow", {"assumptions": slow}, parts=(act,))
    sent = held_line(file)["at"]
    during = [line for line in lines(file) if "frame" in line and line["at"] > sent]
    assert len(during) > 3
    with edited(by_hand(file)) as written:
        call = called(written, "/v1/orders")
        first = next(line for line in written if line.get("n") == during[0]["n"])
        call["at"] = first["at"].replace("6Z", "59Z")
        call["answer"]["headers"]["x-server-latency"] = "4"
    code, result = compare(file, "--scenario", str(tmp_path / "slow.yaml"))
    assert (code, differences(result)) == (0, [])


def test_a_session_may_begin_with_a_call_that_waits(tmp_path: Path, compare: Compare) -> None:
    """No earlier line shows the time; only the answer reports how long it took. An immediate answer
    differs in that duration.
    """

    def act(clients: Clients) -> None:
        body = retail_order(clients.market, "BUY_LONG", 40, 2, synchronousExecution=True)
        clients.retail.post("/v1/orders", json=body)
        for wait in ("3s", "1m"):
            clients.world.advance(wait)
            clients.retail.get("/v1/orders/open")

    file = by_hand(planted(tmp_path, "slow", SLOW, parts=(act,)))
    with edited(file) as written:
        call = called(written, "/v1/orders")
        call["answer"]["headers"]["x-server-latency"] = "4"
    code, result = compare(file, "--scenario", str(tmp_path / "slow.yaml"))
    assert (code, differences(result)) == (0, [])
    _, result = compare(file, "--scenario", str(variant(tmp_path, {})))
    (item,) = [entry for _, entry in differences(result) if entry["kind"] == "time"]
    assert (item["n"], item["recorded"], item["ours"]) == (call["n"], 4, 0)
