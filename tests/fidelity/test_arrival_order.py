"""Messages on streams that a service took after a call which was sent later."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sim.api.codecs.codecs import protobuf_encoder
from sim.messages import exchange_v1 as wire
from tests.fidelity.conftest import Compare, Infer, differences
from tests.fidelity.in_process import lines
from tests.fidelity.wide_session import TALKS, Clients, ask, planted
from tests.journeys import firm

pytestmark = pytest.mark.reading("documented")


def on_a_socket(clients: Clients) -> None:
    """An order, and a subscription to its book that the service takes after it."""
    markets = clients.world.web_socket(clients.key, "/v1/ws/markets")
    clients.world.advance("1s")
    clients.order(clients.seller, "sell", 47, 5)
    ask(markets, "m", "MARKET_DATA", marketSlugs=[clients.market.symbol])
    ask(markets, "t", "TRADE", marketSlugs=[clients.market.symbol])
    later(clients)


def on_grpc(clients: Clients) -> None:
    """The same over gRPC."""
    talk = clients.world.rpc(firm(clients.world.simulation)).stream(TALKS)
    clients.world.advance("1s")
    clients.order(clients.seller, "sell", 47, 5)
    subscribe = wire.SubscribeCommand(symbols=[clients.market.symbol])
    command = wire.BiDirectionalStreamMarketDataRequest(subscribe=subscribe)
    talk.send(protobuf_encoder(type(command))(command))
    later(clients)


def later(clients: Clients) -> None:
    clients.world.advance("1s")
    clients.order(clients.buyer, "buy", 47, 2)
    clients.world.advance("2s")
    clients.buyer.get("/v1/trading/orders/open")


def rewritten(file: Path, moved: Callable[[dict[str, Any]], bool]) -> Path:
    """A recording in which some lines of its first stream stand before the first order."""
    first, *written = lines(file)
    order = next(
        one
        for one in written
        if one.get("request", {}).get("method") == "POST"
        and one["request"]["path"] == "/v1/trading/orders"
    )
    begun = written.index(order)
    after = next(
        number for number in range(begun + 1, len(written)) if "request" in written[number]
    )
    early = [one for one in written[begun:after] if "frame" in one and moved(one["frame"])]
    rest = [one for one in written[begun:after] if one not in early]
    written[begun:after] = early + rest
    file.write_text("".join(json.dumps(line) + "\n" for line in (first, *written)))
    return file


@pytest.mark.parametrize("act", [on_a_socket, on_grpc])
def test_a_message_that_was_under_way_may_have_been_taken_after_a_call(
    act: Callable[[Clients], None], tmp_path: Path, compare: Compare
) -> None:
    file = planted(tmp_path, "same", {}, parts=(act,))
    rewritten(file, lambda frame: frame["from"] == "client")
    code, found = compare(file, "--scenario", str(tmp_path / "same.yaml"))
    assert (code, differences(found)) == (0, [])


@pytest.mark.parametrize("act", [on_a_socket, on_grpc])
def test_a_message_that_was_answered_was_taken_before_the_call(
    act: Callable[[Clients], None], tmp_path: Path, compare: Compare
) -> None:
    """Its answer shows an order that nobody had placed: that is a difference."""
    file = planted(tmp_path, "same", {}, parts=(act,))
    rewritten(file, lambda frame: True)
    code, found = compare(file, "--scenario", str(tmp_path / "same.yaml"))
    assert code == 1
    assert differences(found)


@pytest.mark.parametrize("act", [on_a_socket, on_grpc])
def test_infer_explains_what_is_left_by_the_order_of_arrival(
    act: Callable[[Clients], None], tmp_path: Path, infer: Infer
) -> None:
    file = planted(tmp_path, "other", {"assumptions": {"stream.heartbeat": "1s"}}, parts=(act,))
    rewritten(file, lambda frame: frame["from"] == "client")
    _, found = infer(file)
    verdicts = found["assumptions"]
    refuted = [name for name, one in verdicts.items() if one["verdict"] == "refuted"]
    assert refuted == ["stream.heartbeat"]
    assert found["unexplained"] == []
