"""Injected faults (design D6)."""

from __future__ import annotations

import msgspec
import pytest

from sim.core.model.context import Context
from sim.core.model.refusals import Code
from sim.core.service.fault_spec import fault_from
from sim.core.service.faults import Faults, FaultsState, InjectedFault
from sim.kernel.instants import parse_instant, seconds

START = parse_instant("2026-09-08T18:00:00Z")


def make(*documents: object) -> tuple[Context, Faults]:
    ctx = Context(seed=7, now=START)
    faults = Faults(ctx)
    for document in documents:
        faults.add(fault_from(document))
    return ctx, faults


def strikes(faults: Faults, count: int, operation: str = "ReportAPI.SearchTrades") -> list[int]:
    """Numbers, from 1, of the calls that were struck."""
    return [
        number for number in range(1, count + 1) if faults.pick("exchange", operation) is not None
    ]


def test_without_faults_nothing_happens_and_nothing_is_drawn() -> None:
    ctx, faults = make()
    assert not faults.armed
    assert faults.inject("exchange", "X.Y") is None
    assert ctx.entropy.save() == {}


def test_the_example_of_the_scenario_format() -> None:
    _, faults = make({"match": {"operation": "SearchTrades", "nth": "3"}, "act": {"status": "503"}})
    assert strikes(faults, 6) == [3]


MATCHES = [
    ({}, True),
    ({"operation": "SearchTrades"}, True),
    ({"operation": "ReportAPI.SearchTrades"}, True),
    ({"operation": "ReportAPI.*"}, True),
    ({"operation": "Search*"}, True),
    ({"operation": "SearchOrders"}, False),
    ({"plane": "exchange"}, True),
    ({"plane": "retail"}, False),
    ({"caller": "firms/Acme"}, True),
    ({"caller": "firms/Acme/users/*"}, True),
    ({"caller": "firms/Other"}, False),
    ({"symbol": "aec-*"}, True),
    ({"symbol": "other"}, False),
    ({"from": "+1s"}, False),
    ({"from": "2026-09-08T18:00:00Z", "until": "+1s"}, True),
    ({"until": "2026-09-08T18:00:00Z"}, False),
    ({"probability": "never"}, False),
    ({"probability": "always"}, True),
]


@pytest.mark.parametrize(("match", "struck"), MATCHES)
def test_a_call_is_struck_when_everything_matches(match: dict[str, str], struck: bool) -> None:
    _, faults = make({"match": match, "act": {"status": 500}})
    caller = ("firms/Acme/users/a", "firms/Acme")
    action = faults.pick("exchange", "ReportAPI.SearchTrades", caller) or faults.pick(
        "exchange", "ReportAPI.SearchTrades", caller, ("aec-nba",)
    )
    assert (action is not None) is struck


@pytest.mark.parametrize(
    ("fault", "struck"),
    [
        ({"match": {"every": 2}}, [2, 4, 6]),
        ({"times": 2}, [1, 2]),
        ({"match": {"every": 3}, "times": 1}, [3]),
    ],
)
def test_counting(fault: dict[str, object], struck: list[int]) -> None:
    _, faults = make({**fault, "act": {"status": 500}})
    assert strikes(faults, 7) == struck
    assert faults.armed is ("times" not in fault)


def test_chance_is_drawn_from_a_stream_of_its_own() -> None:
    half = {"match": {"probability": "1/2"}, "act": {"status": 500}}
    _, alone = make(half)
    ctx, beside = make(
        half, {"match": {"operation": "Other", "probability": "1/2"}, "act": {"status": 501}}
    )
    struck = strikes(alone, 40)
    for _ in range(25):
        beside.pick("exchange", "X.Other")
    ctx2, again = make(half)
    assert 8 < len(struck) < 32
    assert strikes(again, 40) == struck
    assert "fault.f2" in ctx.entropy.save()
    assert list(ctx2.entropy.save()) == ["fault.f1"]


def test_the_first_fault_that_strikes_acts_and_all_that_match_count() -> None:
    _, faults = make({"match": {"nth": 2}, "act": {"status": 500}}, {"act": {"status": 503}})
    results = [faults.pick("exchange", "X.Y") for _ in range(3)]
    assert [action and action.status for action in results] == [503, 500, 503]
    assert [(fault.matched, fault.affected) for fault in faults.all()] == [(3, 1), (3, 2)]


def test_a_fault_that_strikes_first_does_not_shift_the_luck_of_the_next() -> None:
    first, second = (
        {"match": {"probability": "1/2"}, "act": {"status": status}} for status in (500, 501)
    )
    _, both = make(first, second)
    observed = [action.fault if (action := both.pick("exchange", "X.Y")) else "" for _ in range(60)]
    alone = Faults(Context(seed=7, now=START))
    alone.add(fault_from(second), "f2")
    lucky = strikes(alone, 60)
    assert [number for number in lucky if observed[number - 1] != "f1"] == [
        number for number, fault in enumerate(observed, 1) if fault == "f2"
    ]
    assert 0 < observed.count("f2") < len(lucky)


def test_a_fault_ends_with_its_ttl_its_window_or_by_hand() -> None:
    ctx, faults = make(
        {"act": {"status": 500}, "ttl": "10s"},
        {"match": {"until": "+20s"}, "act": {"status": 501}},
        {"act": {"status": 502}},
    )
    observed = []
    for _ in range(3):
        action = faults.pick("exchange", "X.Y")
        observed.append(action and action.status)
        ctx.now += seconds(10)
    assert observed == [500, 501, 502]
    assert faults.remove("f3")
    assert not faults.remove("f3")
    assert not faults.armed


ACTS = [
    ({"status": 503}, 503, Code.UNAVAILABLE, "service unavailable"),
    ({"status": 504}, 504, Code.DEADLINE_EXCEEDED, "upstream timeout"),
    ({"status": 418}, 418, Code.UNKNOWN, "injected fault"),
    ({"code": "UNAVAILABLE"}, 503, Code.UNAVAILABLE, "service unavailable"),
    ({"code": 13}, 500, Code.INTERNAL, "internal error"),
    ({"code": "8", "message": "slow down"}, 429, Code.RESOURCE_EXHAUSTED, "slow down"),
    ({"status": 500, "code": "aborted"}, 500, Code.ABORTED, "internal error"),
]


@pytest.mark.parametrize(("act", "http", "code", "message"), ACTS)
def test_an_error_names_status_and_code_and_either_gives_the_other(
    act: dict[str, object], http: int, code: Code, message: str
) -> None:
    _, faults = make({"act": act})
    with pytest.raises(InjectedFault) as struck:
        faults.inject("exchange", "X.Y")
    assert (struck.value.http, struck.value.code, struck.value.message) == (http, code, message)
    assert (struck.value.rule, struck.value.facts) == ("T2", {"fault": "f1"})
    assert struck.value.connection_fault == ""


def test_a_delay_adds_to_the_time_the_answer_takes_and_does_not_refuse() -> None:
    ctx, faults = make({"act": {"delay": "250ms"}})
    action = faults.inject("retail", "X.Y")
    assert action is not None
    assert ctx.service_time == 250_000_000


@pytest.mark.parametrize("effect", ["reset", "refuse", "hang"])
def test_connection_effects_are_raised_with_what_to_do_to_the_connection(effect: str) -> None:
    _, faults = make({"act": {effect: "true"}})
    with pytest.raises(InjectedFault) as struck:
        faults.inject("retail", "X.Y")
    assert struck.value.connection_fault == effect


@pytest.mark.parametrize(
    "act",
    [
        {"half_close": True},
        {"slow_body": True},
        {"status": 504, "handled": True},
        {"reset": True, "handled": True},
    ],
)
def test_what_befalls_an_answer_lets_the_call_be_handled_first(act: dict[str, object]) -> None:
    _, faults = make({"act": act})
    action = faults.inject("retail", "X.Y")
    assert action.handled


def test_a_fault_that_asks_for_an_instrument_waits_until_the_call_names_one() -> None:
    _, faults = make({"match": {"symbol": "aec-*", "nth": 2}, "act": {"status": 503}})
    assert faults.by_symbol
    calls: list[tuple[str, ...] | None] = [
        None,
        ("aec-1",),
        None,
        ("tsc-1",),
        (),
        None,
        ("tsc-1", "aec-2"),
    ]
    assert [faults.pick("exchange", "X.Y", (), symbols) is not None for symbols in calls] == [
        False
    ] * 6 + [True]


def test_a_fault_that_is_over_stays_listed_with_its_counts() -> None:
    ctx, faults = make({"act": {"status": 500}, "times": 1}, {"act": {"status": 501}, "ttl": "10s"})
    strikes(faults, 1)
    assert ([fault.id for fault in faults.all()], [fault.id for fault in faults.over()]) == (
        ["f2"],
        ["f1"],
    )
    ctx.now += seconds(10)
    assert ([fault.id for fault in faults.all()], [fault.id for fault in faults.over()]) == (
        [],
        ["f1", "f2"],
    )
    assert strikes(faults, 1) == []
    assert [(fault.id, fault.matched, fault.affected) for fault in faults.over()] == [
        ("f1", 1, 1),
        ("f2", 1, 0),
    ]
    assert faults.remove("f1")
    assert [fault.id for fault in faults.over()] == ["f2"]


@pytest.mark.parametrize("effect", ["drop", "duplicate", "reorder", "revoke"])
def test_message_effects_are_handed_to_whoever_sends_the_message(effect: str) -> None:
    _, faults = make({"match": {"plane": "stream"}, "act": {effect: True}})
    action = faults.pick("stream", "CreateOrderSubscription")
    assert action.effect == effect
    assert faults.pick("webhook", "kyc.approved") is None


BAD = [
    ({}, "act"),
    ({"act": {}}, "act needs one of"),
    ({"act": {"status": 200}}, "400 to 599"),
    ({"act": {"stats": 503}}, "stats"),
    ({"match": {"nht": 1}, "act": {"status": 503}}, "nht"),
    ({"match": {"nth": -1}, "act": {"status": 503}}, ">= 1 "),
    ({"act": {"status": 503}, "times": -1}, "times must be at least 1"),
    ({"match": {"plane": "mars"}, "act": {"status": 503}}, "plane must be one of"),
    ({"match": {"probability": "maybe"}, "act": {"status": 503}}, "a probability is"),
    ({"match": {"from": "yesterday"}, "act": {"status": 503}}, "RFC 3339"),
    ({"act": {"status": 503}, "ttl": "0s"}, "ttl must be a positive duration"),
    ({"act": {"code": "NOPE"}}, "gRPC status"),
    ({"act": {"code": 99}}, "gRPC status"),
    ({"act": {"reset": True, "drop": True}}, "a fault has one effect, not reset and drop"),
    ({"act": {"reset": True, "status": 500}}, "an error or has the effect reset"),
    ({"act": {"delay": "1s", "handled": True}}, "handled needs a failure"),
    (
        {"match": {"plane": "retail"}, "act": {"drop": True}},
        "drop is possible on stream, webhook; this one matches retail",
    ),
    ({"match": {"plane": "grpc"}, "act": {"slow_body": True}}, "slow_body is possible on"),
    (
        {"match": {"plane": "webhook", "symbol": "x"}, "act": {"drop": True}},
        "with a symbol, which deliveries do not have",
    ),
    (
        {"match": {"plane": "webhook"}, "act": {"status": 500, "handled": True}},
        "handled is possible on gateway, retail, exchange, auth, grpc",
    ),
    ({"act": {"delay": "-1s"}}, "negative"),
    ({"match": {"plane": "stream"}, "act": {"delay": "1s", "drop": True}}, "delay goes with"),
    ({"match": {"plane": "stream"}, "act": {"delay": "1s", "status": 503}}, "delay goes with"),
    ({"act": {"reset": True, "retry_after": "2s"}}, "belong to an error"),
    ({"act": {"status": 429, "retry_after": "2\r\nx: y"}}, "one line"),
    ({"act": {"timestamp": "0s"}}, "must differ"),
    (
        {"match": {"plane": "retail"}, "act": {"timestamp": "-1m"}},
        "timestamp is possible on webhook",
    ),
    ({"act": {"patch": "unknown-enm"}}, "no ready patch"),
    ({"act": {"patch": [{"op": "move", "path": "/a"}]}}, "op is add, remove or replace"),
    ({"act": {"patch": [{"op": "add", "path": "/a"}]}}, "have a value"),
    ({"act": {"patch": [{"op": "remove", "path": "a"}]}}, "begins with /"),
    ({"act": {"patch": "extra-field", "delay": "1s"}}, "patch stands alone"),
    ({"match": {"frame": "rows"}, "act": {"drop": True}}, "frame must be one of"),
    ({"match": {"execution": "FILED"}, "act": {"drop": True}}, "execution must be one of"),
    ({"match": {"plane": "retail", "frame": "data"}, "act": {"status": 500}}, "only streams have"),
]


@pytest.mark.parametrize(("document", "text"), BAD)
def test_a_fault_that_means_nothing_is_refused(document: object, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        fault_from(document)


def test_a_saved_state_goes_on_where_it_stopped() -> None:
    _, faults = make({"match": {"nth": 3}, "act": {"status": 503}, "times": 1})
    strikes(faults, 2)
    _, other = make()
    other.load(msgspec.msgpack.decode(msgspec.msgpack.encode(faults.save()), type=FaultsState))
    assert strikes(other, 3) == [1]
    assert not other.armed
