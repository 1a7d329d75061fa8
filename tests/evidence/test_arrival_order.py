"""Messages on streams that a service took after a call which was sent later."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest

from sim.api.codecs.codecs import protobuf_encoder
from sim.contract.messages import exchange_v1 as wire
from sim.evidence.infer.outcome import Decisions, Setting, TrialOutcome
from sim.evidence.infer.search import Search
from sim.evidence.validation.difference import Misfit
from tests.evidence.clients import TALKS, Clients, ask, planted
from tests.evidence.conftest import Compare, Infer, differences, named
from tests.evidence.lines import Line, called, edited
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


def rewritten(file: Path, moved: Callable[[Line], bool]) -> Path:
    """A recording in which some frames of its first stream stand before the first order."""
    with edited(file) as written:
        begun = written.index(called(written, "/v1/trading/orders"))
        after = begun + 1
        while "request" not in written[after]:
            after += 1
        early = [item for item in written[begun:after] if "frame" in item and moved(item["frame"])]
        rest = [item for item in written[begun:after] if item not in early]
        written[begun:after] = early + rest
    return file


@pytest.mark.parametrize("act", [on_a_socket, on_grpc])
def test_a_message_that_was_under_way_may_have_been_taken_after_a_call(
    act: Callable[[Clients], None], tmp_path: Path, compare: Compare
) -> None:
    file = planted(tmp_path, "same", {}, parts=(act,))
    rewritten(file, lambda frame: frame["from"] == "client")
    code, result = compare(file, "--scenario", str(tmp_path / "same.yaml"))
    assert (code, differences(result)) == (0, [])


@pytest.mark.parametrize("act", [on_a_socket, on_grpc])
def test_a_message_that_was_answered_was_taken_before_the_call(
    act: Callable[[Clients], None], tmp_path: Path, compare: Compare
) -> None:
    """Its answer shows an order that nobody had placed: that is a difference."""
    file = planted(tmp_path, "same", {}, parts=(act,))
    rewritten(file, lambda frame: True)
    code, result = compare(file, "--scenario", str(tmp_path / "same.yaml"))
    assert code == 1
    assert differences(result)


@pytest.mark.long
@pytest.mark.parametrize("act", [on_a_socket, pytest.param(on_grpc, marks=pytest.mark.soak)])
def test_infer_explains_what_is_left_by_the_order_of_arrival(
    act: Callable[[Clients], None], tmp_path: Path, infer: Infer
) -> None:
    file = planted(tmp_path, "other", {"assumptions": {"stream.heartbeat": "1s"}}, parts=(act,))
    rewritten(file, lambda frame: frame["from"] == "client")
    _, result = infer(file)
    assert named(result) == {"stream.heartbeat"}
    assert result["unexplained"] == []


@pytest.mark.long
def test_an_order_taken_before_a_subscription_is_no_single_strike_of_a_quirk(
    tmp_path: Path, infer: Infer
) -> None:
    """Every frame comes twice. Without the order of arrival, most of them would, and at once."""

    def act(clients: Clients) -> None:
        markets = clients.world.web_socket(clients.key, "/v1/ws/markets")
        clients.world.advance("1s")
        clients.order(clients.seller, "sell", 47, 5)
        slugs = [clients.market.symbol]
        ask(markets, "m", "MARKET_DATA", marketSlugs=slugs, responsesDebounced=True)
        ask(markets, "t", "TRADE", marketSlugs=slugs)
        later(clients)

    file = planted(tmp_path, "other", {"quirks": {"stream_duplicates": "always"}}, parts=(act,))
    rewritten(file, lambda frame: frame["from"] == "client")
    _, result = infer(file)
    assert (named(result), result["unexplained"]) == ({"stream_duplicates"}, [])
    assert result["quirks"]["stream_duplicates"]["consistent"][0] == "always"


QUIRK = "stream_duplicates"


class Duplicated:
    """A session of five frames that came twice, and a message that was taken after an order.

    In the recorded order of arrival, the first frame looks as if it came once, and line 9 is never
    explained.
    """

    base: dict[str, Any] = {}
    odds = {QUIRK: "never"}
    entries: list[Any] = []

    def __init__(self, moves: bool) -> None:
        self.clock, self.moves = "recorded", moves
        self.setting = Setting()

    def rebase(self, setting: Setting, outcome: TrialOutcome) -> None:
        self.setting = setting

    def trial_of(self, setting: Setting, against: TrialOutcome | None = None) -> TrialOutcome:
        decisions = setting.quirks.get(QUIRK, Decisions(False))
        moved, asks = self.clock == "moved", range(10, 15)
        struck = [moved, True, True, True, True]
        differ = [n for time, n in enumerate(asks) if decisions.at(time) != struck[time]]
        lines = {n: {"frame": Misfit("frame", 1, 2, "extra frame")} for n in differ}
        if not moved:
            lines[9] = {"frame.body": Misfit("frame.body", 1, 2, "value")}
        return TrialOutcome(lines=lines, asks={QUIRK: [*asks]}, until=99)

    def find_order(self) -> TrialOutcome | None:
        always = self.setting.quirks.get(QUIRK, Decisions(False)).after
        if self.clock == "moved" or not (self.moves and always):
            return None
        self.clock = "moved"
        return self.trial_of(self.setting)


@pytest.mark.parametrize("result", [True, False])
def test_single_strikes_are_taken_only_where_no_order_of_arrival_is_simpler(result: bool) -> None:
    session = Duplicated(moves=result)
    search = Search(cast(Any, session), lambda text: None)
    search.begin()
    search.improve()
    decisions = search.setting.quirks[QUIRK]
    if result:
        assert (decisions, search.outcome.lines, session.clock) == (Decisions(True), {}, "moved")
    else:
        assert [decisions.at(time) for time in range(5)] == [False, True, True, True, True]
        assert (search.outcome.lines.keys(), session.clock) == ({9}, "recorded")
