"""The pytest fixture, used as a partner's own test suite would use it: over sockets, with blocking
clients.
"""

from __future__ import annotations

import sys
from datetime import UTC, datetime, timedelta

import pytest

from sim.core.model.refusals import InvalidRequest
from sim.testing.clock import open_grpc_channels
from sim.testing.control import ControlError
from tests.kit.http import call
from tests.report_file import ReportFile

pytest_plugins = ["pytester"]


def get(url):
    """(status, decoded body) of a GET."""
    answer = call(url)
    return answer.status, answer.json()


def test_it_serves_the_quickstart_on_ports_of_its_own(exchange):
    assert exchange.ready["scenario"] == "quickstart"
    assert get(f"{exchange.gateway}/v2/leagues")[0] == 200
    assert get(f"{exchange.exchange}/v1/orders")[0] in (401, 404)
    assert len(exchange.firms) >= 2 and len(exchange.api_keys) >= 2
    assert exchange.symbols["open"] and exchange.symbols["pending"]


def test_the_clock_moves_only_when_told(exchange):
    assert exchange.now == datetime(2026, 9, 8, 18, tzinfo=UTC)
    exchange.clock.advance("5m")
    exchange.clock.advance(timedelta(seconds=30))
    assert exchange.now == datetime(2026, 9, 8, 18, 5, 30, tzinfo=UTC)
    exchange.clock.to("2026-09-09T00:00:00-04:00")
    assert exchange.now == datetime(2026, 9, 9, 4, tzinfo=UTC)
    exchange.clock.to(datetime(2026, 9, 9, 5, tzinfo=UTC))
    with pytest.raises(Exception, match="only moves forward"):
        exchange.clock.to("2026-09-09T04:00:00Z")


def test_plans_are_carried_out_on_the_way_in_order_of_time(exchange):
    observed = []
    exchange.at("+2m", lambda: observed.append(("second", exchange.now)))
    exchange.at("2026-09-08T18:01:00Z", lambda: observed.append(("first", exchange.now)))
    exchange.at("+2m", lambda: exchange.at("+1m", lambda: observed.append(("third", exchange.now))))
    exchange.clock.advance("150s")
    assert [(name, at.minute) for name, at in observed] == [("first", 1), ("second", 2)]
    exchange.clock.advance("1m")
    assert [name for name, _ in observed] == ["first", "second", "third"]


def test_the_clock_moves_until_something_happens(exchange):
    fired = exchange.clock.until({"maintenance": True}, within="7d")
    assert exchange.now == datetime(2026, 9, 10, 6, tzinfo=UTC)  # Thursday, 02:00 Eastern
    assert fired[-1] == "maintenance.begin weekly"
    exchange.clock.until({"maintenance": False})
    assert exchange.now == datetime(2026, 9, 10, 10, tzinfo=UTC)
    with pytest.raises(TimeoutError, match=r"'maintenance': True.* within 1h: now .*T11:00:00Z"):
        exchange.clock.until({"maintenance": True}, within="1h")
    with pytest.raises(InvalidRequest, match="maintenence"):
        exchange.clock.until({"maintenence": True})
    with pytest.raises(InvalidRequest, match="exactly one"):
        exchange.clock.until({})


def test_what_a_plan_causes_ends_the_wait_for_it_and_later_plans_stay(exchange):
    symbol, observed = exchange.symbols["open"][0], []

    def halt():
        observed.append("halted")
        exchange.control("POST", f"/instruments/{symbol}/state", {"state": "HALTED"})

    exchange.at("+2m", halt)
    exchange.at("+3m", lambda: observed.append("later"))
    exchange.clock.until({"instrument": {"symbol": symbol, "state": "HALTED"}})
    assert exchange.now == datetime(2026, 9, 8, 18, 2, tzinfo=UTC) and observed == ["halted"]
    exchange.clock.advance("1m")
    assert observed == ["halted", "later"]


def test_the_request_log_shows_what_a_client_sent_and_explains_refusals(exchange):
    status, _ = get(f"{exchange.gateway}/v9/nothing")
    assert status == 404
    last = exchange.requests(status=404)[-1]
    assert last["address"] == "GET /v9/nothing"
    assert exchange.explain(last["explain"])["status"] == 404


def test_a_fault_lasts_as_long_as_its_block(exchange):
    url = f"{exchange.gateway}/v2/leagues"
    with exchange.fault("ListLeagues", status=503):
        assert get(url)[0] == 503
    assert get(url)[0] == 200


def test_a_fault_may_strike_a_chosen_call_only(exchange):
    url = f"{exchange.gateway}/v2/leagues"
    exchange.fault("ListLeagues", nth=2, status=500)
    assert [get(url)[0] for _ in range(3)] == [200, 500, 200]


def test_the_control_plane_is_called_by_its_own_name(exchange):
    symbol = exchange.symbols["open"][0]
    suspended = exchange.control("POST", f"/instruments/{symbol}/state", {"state": "SUSPENDED"})
    assert suspended["was"] == "OPEN"
    with pytest.raises(ControlError, match="404"):
        exchange.control("POST", "/instruments/nothing/state", {"state": "OPEN"})
    assert "sim_inputs_total" in exchange.control("GET", "/metrics")


def test_a_reset_gives_the_digest_of_a_fresh_start(exchange):
    fresh = exchange.digest
    get(f"{exchange.gateway}/v2/leagues")
    exchange.clock.advance("1h")
    assert exchange.digest != fresh
    exchange.reset()
    assert exchange.digest == fresh


def test_a_frozen_process_follows_the_virtual_clock(exchange):
    with exchange.freeze():
        assert datetime.now(UTC) == exchange.now
        exchange.clock.advance("3h")
        assert datetime.now(UTC) == exchange.now
        assert get(f"{exchange.gateway}/v2/leagues")[0] == 200
    assert datetime.now(UTC) != exchange.now


@pytest.mark.spec("S1-3")
def test_the_health_of_grpc_follows_the_maintenance_window(exchange, channel):
    check = channel.unary_unary("/grpc.health.v1.Health/Check")
    service = b"polymarket.v1.OrderBookAPI"
    watch = channel.unary_stream("/grpc.health.v1.Health/Watch")(
        bytes((10, len(service))) + service, timeout=10
    )
    assert check(b"") == next(watch) == b"\x08\x01"
    exchange.control("POST", "/maintenance", {"length": "10m", "lead": "0s"})
    exchange.clock.advance("1s")
    assert check(b"") == next(watch) == b"\x08\x02"
    exchange.clock.advance("10m")
    assert check(b"") == next(watch) == b"\x08\x01"
    watch.cancel()


def test_freezing_is_refused_while_a_grpc_channel_is_open(exchange):
    import grpc

    with grpc.insecure_channel(exchange.grpc) as channel:
        assert channel.unary_unary("/grpc.health.v1.Health/Check")(b"") == b"\x08\x01"
        assert open_grpc_channels() >= 1
        with pytest.raises(RuntimeError, match="gRPC channel"), exchange.freeze():
            pass
    assert open_grpc_channels() == 0


def test_another_freezer_is_noticed(exchange):
    from freezegun import freeze_time

    with (
        freeze_time("2030-01-01"),
        pytest.warns(UserWarning, match="freezegun holds this process's clock"),
    ):
        exchange.clock.advance("1m")


def test_webhooks_have_a_receiver_that_listens_when_asked_for(exchange):
    assert exchange.webhooks.deliveries == []
    assert call(exchange.webhooks.url, {"event_id": "1"}).status == 200
    assert exchange.webhooks.received[0].payload == {"event_id": "1"}


AROUND = """
import pytest
import urllib.request

@pytest.fixture
def fails_before(exchange):
    urllib.request.urlopen(exchange.gateway + "/v2/sports").read()
    raise AssertionError("before")

@pytest.fixture
def fails_after(exchange):
    yield
    urllib.request.urlopen(exchange.gateway + "/v2/leagues").read()
    raise AssertionError("after")

def test_is_never_begun(fails_before):
    pass

def test_passes_first(fails_after):
    pass

def test_fails_twice(fails_after):
    raise AssertionError("during")
"""


@pytest.mark.long
def test_a_failure_of_another_fixture_shows_the_calls_too_and_once(pytester):
    pytester.makepyfile(test_around=AROUND)
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider", "--junitxml=junit.xml")
    result.assert_outcomes(passed=1, failed=1, errors=3)
    lines = [line.split()[2:] for line in result.outlines if "  gateway " in line]
    assert lines == [
        ["GET", "/v2/sports", "200", "GatewaySportsAPI.ListSports"],
        ["GET", "/v2/leagues", "200", "GatewayLeaguesAPI.ListLeagues"],
    ]
    observed = [line for line in result.outlines if line.startswith("calls that the exchange saw")]
    assert len(observed) == 3  # test_fails_twice: with its own failure
    xml = (pytester.path / "junit.xml").read_text()
    assert xml.count('name="exchange.seed"') == 4  # pytest writes the last test twice


SUITE = """
import pytest

@pytest.mark.scenario("beside.yaml", seed=99)
def test_fails(exchange):
    assert exchange.ready["scenario"] == "beside" and exchange.seed == 99
    raise AssertionError("on purpose")

@pytest.mark.scenario("quickstart")
def test_passes(exchange):
    assert exchange.ready["scenario"] == "quickstart"

@pytest.mark.scenario("brokn.yaml")
def test_has_no_scenario(exchange):
    pass

@pytest.mark.scenario(sed=3)
def test_is_marked_wrongly(exchange):
    pass

@pytest.mark.scenario("steps.yaml")
def test_has_steps_that_do_not_hold(exchange):
    exchange.clock.advance("2m")
    assert [row["state"] for row in exchange.script()] == ["passed", "failed", "refused"]

@pytest.mark.scenario("steps.yaml", steps="ignore")
def test_does_not_mind(exchange):
    exchange.clock.advance("2m")

@pytest.mark.scenario("steps.yaml")
def test_ends_before_the_steps(exchange):
    assert {row["state"] for row in exchange.script()} == {"pending"}
"""

STEPS = """
name: steps
extends: quickstart
world: {instruments: [{symbol: mine, tick_size: "0.01", state: OPEN}]}
steps:
  - {at: +1m, order: {as: maker, symbol: mine, side: buy, price: "0.40", qty: "5"}}
  - {name: books, call: {plane: exchange, as: firms/atlas, get: /v1/orderbook/mine}, expect: {status: 503}}
  - {name: fine, cancel: {as: maker, order: nobody-knows}}
"""


@pytest.mark.long
def test_a_failure_says_how_to_see_it_again_and_mistakes_are_plain(pytester):
    pytester.makepyfile(test_suite=SUITE)
    pytester.makefile(".yaml", beside="name: beside\nextends: quickstart\n", steps=STEPS)
    result = pytester.runpytest_subprocess(
        *("-p", "no:cacheprovider", "--junitxml=junit.xml"),
        *("--exchange-keep=kept", "--exchange-report=pages"),
    )
    result.assert_outcomes(passed=3, failed=2, errors=2)
    pages = {page.name: ReportFile(page) for page in (pytester.path / "pages").iterdir()}
    assert len(pages) == 2  # one of each test that failed
    steps = next(page for name, page in pages.items() if "steps" in name)
    states = [row["state"] for row in steps.index["script"]["steps"]]
    assert states == ["passed", "failed", "refused"]
    result.stdout.fnmatch_lines(["report */pages/test_suite.py-test_fails.html"])
    result.stdout.fnmatch_lines(
        [
            "*sandbox exchange*",
            "calls that the exchange saw: none",
            "scenario beside, seed 99, now *",
            "journal *test_fails.ndjson",
            "*sim replay *test_fails.ndjson",
        ]
    )
    result.stdout.fnmatch_lines(
        [
            "*the scenario of this test does not hold:",
            "*steps.yaml:6: step 2 'books' failed: status is 200, not 503: *",
            "*steps.yaml:7: step 3 'fine' refused: *",
            "calls that the exchange saw: 1",
            "  2026-*  exchange  GET /v1/orderbook/mine  200  OrderBookAPI.GetOrderBook",
        ]
    )
    kept = sorted(file.name for file in (pytester.path / "kept").iterdir())
    assert "test_suite.py-test_passes.ndjson" in kept and len(kept) == 5
    junit = (pytester.path / "junit.xml").read_text()
    for name in ("seed", "digest", "journal"):
        assert f'<property name="exchange.{name}"' in junit
    result.stdout.fnmatch_lines(
        ["*the scenario of this test cannot be used*", "*write @pytest.mark.scenario*"]
    )
    result.stdout.no_fnmatch_line("*INTERNALERROR*")
    result.stdout.no_fnmatch_line("*During handling of the above exception*")


@pytest.mark.long
def test_slips_in_options_and_markers_are_plain(pytester):
    pytester.makepyfile(
        test_suite=(
            'import pytest\n\n@pytest.mark.scenario("quickstart", seed="7")\ndef'
            " test_seed(exchange):\n    pass\n\n"
            '@pytest.mark.scenario("quickstart", start="yesterday")\ndef'
            " test_start(exchange):\n    pass\n"
        )
    )
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider")
    result.assert_outcomes(errors=2)
    result.stdout.fnmatch_lines(["*write @pytest.mark.scenario*", "*start: *yesterday*"])
    result = pytester.runpytest_subprocess(
        "-p", "no:cacheprovider", "--exchange-fault", "{status: 503}"
    )
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: --exchange-fault is the JSON of a scenario's fault*"])


JUNE = "2026-06-30T16:00:00Z"


@pytest.fixture
def started_in_june(monkeypatch):
    """The environment of a run of `sim calendar`."""
    monkeypatch.setenv("SIM_START", JUNE)


def test_the_environment_says_when_an_exchange_begins(started_in_june, exchange):
    assert exchange.ready["now"] == JUNE


@pytest.mark.scenario("quickstart", start="2026-04-07T12:00:00-04:00")
def test_the_marker_of_a_test_wins(started_in_june, exchange):
    assert exchange.ready["now"] == "2026-04-07T16:00:00Z"


def test_time_moves_to_the_next_due_instant_or_until_something_happens(exchange):
    def advance(**how):
        return exchange.control("POST", "/clock/advance", how)

    due = exchange.control("GET", "/clock")["next_due"]
    assert advance(next=1)["now"] == due
    assert advance(next=2, fired="none").keys() == {"now"}
    fired = advance(by="1h", fired="counts")["fired"]
    assert fired["instruments.edge"] > 1 and list(fired) == sorted(fired)

    missed = advance(until={"maintenance": True}, within="1h", fired="none")
    assert missed == {"now": "2026-09-08T20:00:00Z", "happened": False} | {"now": missed["now"]}
    result = advance(until={"maintenance": True}, within="7d", fired="none")
    assert result == {"now": "2026-09-10T06:00:00Z", "happened": True}

    for wrong in ({}, {"next": 0}, {"by": "1s", "next": 1}, {"until": {"weather": 1}}):
        with pytest.raises(ControlError) as refused:
            advance(**wrong)
        assert refused.value.status == 400


@pytest.mark.parametrize(
    ("until", "status", "text"),
    [
        ({}, 400, "until must name exactly one of order, instrument, trade, call, "),
        ({"maintenance": True, "trade": {"symbol": "x"}}, 400, "until must name exactly one of"),
        ({"trade": {"symbol": "no-such"}}, 404, "unknown symbol: no-such"),
        ({"instrument": {"symbol": "no-such", "state": "OPEN"}}, 404, "unknown symbol: no-such"),
        ({"call": {"operation": "InsertOder"}}, 400, "unknown operation 'InsertOder'; did you "),
    ],
)
def test_nobody_waits_for_what_cannot_happen(exchange, until, status, text):
    before = exchange.now
    with pytest.raises(ControlError) as refused:
        exchange.control("POST", "/clock/advance", {"until": until, "within": "1h"})
    assert refused.value.status == status and text in str(refused.value)
    assert exchange.now == before


def test_an_exchange_for_a_module_or_a_session(pytester):
    """Its reports, its marker, hypothesis; warnings are errors."""
    pytester.makepyfile(
        """
        import pytest
        from hypothesis import given, settings
        from hypothesis import strategies as st

        pytestmark = pytest.mark.scenario("maintenance-window", seed=9)

        @pytest.fixture(scope="module")
        def client(module_exchange):
            return module_exchange

        @settings(max_examples=3, deadline=None)
        @given(minutes=st.integers(1, 9))
        def test_given(module_exchange, minutes):
            module_exchange.control("POST", "/reset", {})
            begin = module_exchange.now
            module_exchange.clock.advance(f"{minutes}m")
            assert (module_exchange.now - begin).seconds == 60 * minutes

        def test_shared(client, module_exchange, session_exchange):
            assert client is module_exchange is not session_exchange
            assert (client.seed, session_exchange.ready["scenario"]) == (9, "quickstart")
            assert not client.gateway
        """
    )
    result = pytester.runpytest_subprocess("-p", "no:asyncio", "-p", "no:xdist", "-W", "error")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*assert not *", "scenario maintenance-window, seed 9*"])


@pytest.mark.parametrize("shadow", ["sim.py", "sim/__init__.py", "tests/sim/__init__.py"])
def test_a_users_own_sim_fails_only_the_tests_that_need_the_exchange(pytester, monkeypatch, shadow):
    """A file, a package, and a package of tests."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    own = pytester.path / shadow
    own.parent.mkdir(parents=True, exist_ok=True)
    own.write_text("mine = 7\n")
    test = "def test_plain():\n    from sim import mine\ndef test_other(exchange):\n    pass\n"
    (own.parent / "test_own.py").write_text(test)
    result = pytester.run(sys.executable, "-m", "pytest", "-p", "sandbox_exchange_pytest")
    result.assert_outcomes(passed=1, errors=1)
    shadowing = own if own.name == "sim.py" else own.parent
    result.stdout.fnmatch_lines([f"the exchange of this test needs*{shadowing} stands in front*"])
