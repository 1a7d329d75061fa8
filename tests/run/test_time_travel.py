"""Rewinds, resets, snapshots and forks through the public surface: the resulting state, the streams
that end, the refusals, and the state of a run after a rewind that failed.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import pytest
from msgspec import Struct, json

from sim import Simulation, load_scenario
from sim.api.pipeline.inputs import Advanced, Close, Controlled, RestCall, StreamHungUp
from sim.api.pipeline.settings import Settings
from sim.core.model.refusals import Conflict, InvalidRequest, NotFound, Refusal
from sim.kernel.instants import BEYOND, MINUTE, NS_PER_S, format_instant
from sim.kernel.journal import Journal, RunEnded
from sim.kernel.journal_reader import read_journal, read_line
from sim.run.client.client import Connection, connect
from sim.run.engine import snapshots, time_travel
from sim.run.engine.extension import Extension
from tests.journeys import FEW_GAMES, enter, firm, key, operate, order, quiet, rpc_trader, trader

DROP_COPY = "DropCopyAPI.CreateDropCopySubscription"
ORDERS = "OrderEntryAPI.CreateOrderSubscription"


@pytest.fixture
def journal() -> io.BytesIO:
    return io.BytesIO()


@pytest.fixture
def few(journal: io.BytesIO) -> Connection:
    """Return a simulation with few games that writes its journal."""
    return connect(Simulation(load_scenario(FEW_GAMES), journal=journal))


def tick(world: Connection, price: int = 61_000) -> None:
    operate(world, "price.tick", "crypto:btc", price=str(price))


def marks(file: io.BytesIO) -> list[tuple[str, str]]:
    lines = [read_line(line) for _, line in read_journal(io.BytesIO(file.getvalue()))[1]]
    return [(line.mark, line.argument) for line in lines if line.mark]


def branches(sim: Simulation) -> list[tuple[str, str, int, int]]:
    return [
        (branch.name, branch.begun, branch.from_seq, branch.seed)
        for branch in sim.journal.branches.values()
    ]


# ---- rewinds and resets


def test_each_journey_has_its_mark_and_its_branch(few: Connection, journal: io.BytesIO) -> None:
    sim = few.simulation
    digests = {0: sim.digest}
    for price in (61_000, 62_000, 63_000):
        tick(few, price)
        digests[sim.seq] = sim.digest
    assert (sim.seq, sim.epoch, sim.branch) == (3, 0, "main")
    sim.snapshot("three")
    assert sim.rewind(seq=1)[0] == "branch-1"
    assert (sim.seq, sim.digest) == (1, digests[1])
    epochs = [sim.epoch]
    sim.restore("three")
    assert (sim.seq, sim.digest, sim.branch) == (3, digests[3], "branch-2")
    epochs.append(sim.epoch)
    sim.reset()
    assert (sim.seq, sim.digest, sim.branch, sim.seed) == (0, digests[0], "branch-3", 7)
    epochs.append(sim.epoch)
    sim.reset(9)
    assert (sim.seq, sim.branch, sim.seed) == (0, "branch-4", 9)
    assert sim.digest != digests[0]
    epochs.append(sim.epoch)
    assert epochs == sorted(set(epochs)) and epochs[0] > 0
    sim.fork()
    assert marks(journal) == [
        ("snapshot", "three"),
        ("rewind", "1"),
        ("restore", "three"),
        ("reset", "7"),
        ("reset", "9"),
    ]
    assert branches(sim) == [
        ("main", "start", 0, 7),
        ("branch-1", "rewind", 1, 7),
        ("branch-2", "restore", 3, 7),
        ("branch-3", "reset", 0, 7),
        ("branch-4", "reset", 0, 9),
    ]


def test_a_rewind_writes_no_input_again_and_leaves_the_branch_on_which_it_was(
    few: Connection, journal: io.BytesIO
) -> None:
    """Also a rewind to the start, which all branches with one seed share."""
    sim = few.simulation
    for price in (61_000, 62_000, 63_000):
        tick(few, price)
    sim.rewind(seq=2)
    sim.reset()
    tick(few)
    sim.rewind(seq=0)
    sim.rewind(seq=0)
    lines = [read_line(line) for _, line in read_journal(io.BytesIO(journal.getvalue()))[1]]
    assert [line.seq for line in lines if not line.mark] == [1, 2, 3, 1]
    parents = [
        branch.parent.name if branch.parent is not None else ""
        for branch in sim.journal.branches.values()
    ]
    assert parents == ["", "main", "", "branch-2", "branch-2"]
    assert sim.journal.shadow is False


def test_a_rewind_to_an_instant_keeps_every_input_at_it_and_moves_on_to_it(few: Connection) -> None:
    sim = few.simulation
    few.advance("1m")
    tick(few)
    there = (sim.now, sim.digest, sim.seq)
    few.advance("1m")
    late = sim.now
    sim.rewind(to=there[0])
    assert (sim.now, sim.digest, sim.seq) == there
    few.advance("1m")
    sim.rewind(to=there[0] + 7)
    assert (sim.now, sim.seq) == (there[0] + 7, there[2] + 1), "the clock was moved on to it"
    assert sim.now < late
    sim.rewind(to=sim.now)
    assert sim.seq == there[2] + 1
    sim.rewind(to=sim.start)
    assert (sim.now, sim.seq) == (sim.start, 0)


@pytest.mark.parametrize(
    ("where", "text"),
    [
        ({"seq": 3}, "this branch has inputs 0..2"),
        ({"seq": -1}, "this branch has inputs 0..2"),
        ({}, 'send {"to": instant} or {"seq": n}'),
        ({"to": -1}, "this branch runs from {start} to {now}"),
        ({"to": 1}, "this branch runs from {start} to {now}"),
    ],
)
def test_a_rewind_says_where_it_can_go(few: Connection, where: dict[str, int], text: str) -> None:
    sim = few.simulation
    few.advance("1s")
    tick(few)
    while sim.seq > 2:
        sim.rewind(seq=2)
    if "to" in where:
        where = {"to": sim.start - 1 if where["to"] < 0 else sim.now + 1}
    before = (sim.branch, sim.epoch, sim.digest)
    with pytest.raises(Conflict) as error:
        sim.rewind(**where)
    bounds = {"start": format_instant(sim.start), "now": format_instant(sim.now)}
    assert error.value.message == (text.format(**bounds) if "start" in text else text)
    assert (sim.branch, sim.epoch, sim.digest) == before
    sim.rewind(seq=sim.seq)
    sim.rewind(seq=0)


def test_an_unknown_snapshot_is_not_found_and_changes_nothing(few: Connection) -> None:
    sim = few.simulation
    with pytest.raises(NotFound) as error:
        sim.restore("nowhere")
    assert error.value.message == "no snapshot is called 'nowhere'"
    assert error.value.remedy == "POST /_sim/v1/snapshots/{name} takes one"
    assert (sim.epoch, sim.branch) == (0, "main")
    tick(few)


@pytest.mark.parametrize(
    ("journey", "why"),
    [
        (lambda sim: sim.rewind(seq=sim.seq)[1], "the simulation was rewound"),
        (lambda sim: sim.restore("here"), "a snapshot was restored"),
        (lambda sim: sim.reset(), "the simulation was reset"),
        (lambda sim: sim.reset(3), "the simulation was reset"),
    ],
)
def test_every_stream_ends_with_unavailable_and_the_reason(
    few: Connection, journey: Callable[[Simulation], Any], why: str
) -> None:
    sim = few.simulation
    streams = [rpc_trader(few).stream(name) for name in (DROP_COPY, ORDERS)]
    sim.snapshot("here")
    assert len(sim.streams()) == 2
    ends = [effect for effect in journey(sim) if isinstance(effect, Close)]
    assert [(end.stream, end.code, end.message) for end in ends] == [
        (stream.number, 14, why) for stream in streams
    ]
    assert sim.streams() == []
    due = [timer.kind for timer in sim.exchange.ctx.timers.pending()]
    assert not any(kind.startswith("stream.") for kind in due)
    few.advance("5m")


def test_a_rewind_over_streams_repeats_their_frames_and_leaves_none_open(
    few: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also if the path crosses branches that had their own streams."""
    sim = few.simulation
    digests = {}
    rpc_trader(few).stream(DROP_COPY)
    for _ in range(3):
        few.advance("20s")
        digests[sim.seq] = sim.digest
    middle = sorted(digests)[1]
    sim.rewind(seq=middle)
    few.advance("30s")
    rpc_trader(few).stream(DROP_COPY)
    few.advance("30s")
    there = (sim.seq, sim.digest, sim.now)
    few.advance("30s")
    sim.rewind(seq=there[0])
    assert (sim.seq, sim.digest, sim.now, sim.streams()) == (*there, [])
    sim.rewind(seq=middle)
    assert (sim.digest, sim.streams()) == (digests[middle], [])
    sim.rewind(seq=middle - 1)
    assert sim.streams() == []


# ---- automatic snapshots


def test_snapshots_are_taken_at_a_distance_and_shorten_a_rewind(
    few: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    sim = few.simulation
    monkeypatch.setattr(snapshots, "_BYTES_PER_INPUT", 1 << 40)  # however large they are
    shelf = sim.engine.snapshots
    shelf._next = shelf._distance = 5
    for _ in range(17):
        few.gateway.get("/v1/health")
    assert next(kept.checkpoint.seq for kept in shelf.every) == 0
    seqs = [kept.checkpoint.seq for kept in shelf.every][1:]
    assert seqs == [5, 10, 15]
    handled: list[int] = []
    handle = type(sim.engine).handle
    monkeypatch.setattr(
        type(sim.engine), "handle", lambda self, input_: handled.append(1) or handle(self, input_)
    )
    digest = [read_line(line).digest for line in sim.journal.lines()][6]
    sim.rewind(seq=7)
    assert sim.digest.startswith(digest)
    assert len(handled) == 7 - seqs[0]
    assert [kept.checkpoint.seq for kept in shelf._kept] == [0, 5], "the others are set aside"
    few.gateway.get("/v1/markets")
    for _ in range(5):
        few.gateway.get("/v1/health")
    there = sim.digest
    few.gateway.get("/v1/health")
    sim.rewind(seq=13)
    assert sim.digest == there, "no snapshot of the branch that was left is taken for it"


def test_no_snapshot_is_taken_while_a_rewind_repeats_inputs(few: Connection) -> None:
    sim = few.simulation
    for _ in range(9):
        few.gateway.get("/v1/health")
    shelf = sim.engine.snapshots
    shelf._distance = 2
    sim.rewind(seq=8)
    assert [kept.checkpoint.seq for kept in shelf.every] == [0]
    few.gateway.get("/v1/health")
    assert shelf.due(sim.seq + 1) is False or len(shelf.every) <= 2


def test_a_state_that_cannot_be_saved_is_a_warning_and_postpones_the_next(
    few: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    sim = few.simulation
    shelf = sim.engine.snapshots
    shelf._next, shelf._distance = 1, 3

    def fails(self: object, **options: object) -> None:
        raise OverflowError("too large")

    call = RestCall("gateway", "GET", "/v1/health")
    with monkeypatch.context() as patch:
        patch.setattr(type(sim.engine), "snapshot", fails)
        outcome = sim.enter(call)
        why = "this state cannot be saved (OverflowError: too large)"
        assert outcome.warning == f"no snapshot after input 1: {why}"
        assert [sim.enter(call).warning for _ in range(2)] == ["", ""]
        assert sim.enter(call).warning == f"no snapshot after input 4: {why}"
        for refused in (lambda: sim.snapshot("here"), lambda: sim.fork()):
            with pytest.raises(Conflict) as error:
                refused()
            assert error.value.message == why
            assert error.value.remedy == "rewind to a moment before it, or reset"
            assert error.value.rule == "T1"
    assert sim.ended is None
    sim.snapshot("here")
    digest = sim.digest
    sim.rewind(seq=sim.seq - 1)
    sim.restore("here")
    assert sim.digest == digest


# ---- forks


def test_a_fork_begins_without_streams_where_its_origin_goes_on(
    few: Connection, journal: io.BytesIO
) -> None:
    sim = few.simulation
    rpc_trader(few).stream(DROP_COPY)
    sim.snapshot("here")
    file = io.BytesIO()
    fork = sim.fork(journal=file)
    assert (fork.streams(), len(sim.streams()), fork.digest) == ([], 1, sim.digest)
    assert (fork.branch, sim.branch) == ("branch-1", "main")
    assert marks(file)[-1] == ("fork", "main") and marks(journal) == marks(file)[:-1]
    assert (fork.epoch, sim.epoch) == (0, 0)
    connect(fork).gateway.get("/v1/health")
    assert (fork.seq, sim.seq) == (sim.seq + 1, sim.seq)
    fork.restore("here")
    fork.rewind(seq=0)
    tick(few)
    sim.restore("here")


def test_a_fork_keeps_the_settings_of_the_header(few: Connection) -> None:
    sim = few.simulation
    with pytest.raises(ValueError) as error:
        sim.fork(settings=Settings(max_body=99))
    assert str(error.value) == "a fork keeps the settings that stand in the journal's header"
    elsewhere = Settings(token_url="http://127.0.0.1:1/oauth/token")
    assert sim.fork(settings=elsewhere).settings == elsewhere
    assert sim.fork().settings == sim.settings


def test_a_fork_has_secrets_of_its_own(few: Connection) -> None:
    sim = few.simulation
    fork = sim.fork()
    fork.engine.signing_secrets["x"] = b"secret"
    assert (fork.secret_for("x"), sim.secret_for("x"), sim.secret_for("y")) == (
        b"secret",
        None,
        None,
    )


# ---- a rewind that fails ends the run


def broken(*of: object, **named: object) -> None:
    raise RuntimeError("broken")


@pytest.mark.parametrize(
    "journey",
    [
        lambda sim: sim.snapshot("there"),
        lambda sim: sim.restore("here"),
        lambda sim: sim.rewind(seq=0),
        lambda sim: sim.reset(),
        lambda sim: sim.reset(4),
    ],
)
def test_a_journey_that_fails_half_way_ends_the_run(
    few: Connection, journey: Callable[[Simulation], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    sim = few.simulation
    tick(few)
    sim.snapshot("here")
    with monkeypatch.context() as patch:
        patch.setattr(Journal, "mark", broken)
        with pytest.raises(RuntimeError, match="broken"):
            journey(sim)
    assert isinstance(sim.ended, RuntimeError)
    for attempt in (
        lambda: sim.control("price.tick", "crypto:btc", {"price": "1"}),
        lambda: sim.advance_to(sim.now + MINUTE),
        lambda: sim.snapshot("now"),
        lambda: sim.restore("here"),
        lambda: sim.rewind(seq=0),
        lambda: sim.reset(),
    ):
        with pytest.raises(RunEnded):
            attempt()


def test_a_refused_journey_does_not_end_the_run(few: Connection) -> None:
    sim = few.simulation
    for refused in (lambda: sim.restore("x"), lambda: sim.rewind(seq=9), lambda: sim.rewind()):
        with pytest.raises(Refusal):
            refused()
    assert sim.ended is None
    tick(few)
    assert sim.seq == 1


# ---- the clock


def test_time_moves_forward_within_the_calendar(few: Connection) -> None:
    sim = few.simulation
    with pytest.raises(Conflict) as error:
        sim.advance_to(sim.now - 1)
    assert error.value.message == f"time only moves forward: now is {format_instant(sim.now)}"
    assert error.value.remedy == "rewind to go back"
    with pytest.raises(InvalidRequest) as beyond:
        sim.advance_to(BEYOND)
    assert beyond.value.message == "the calendar of this exchange ends with the year 2199"
    assert sim.seq == 0
    sim.advance_to(sim.now)
    assert sim.seq == 1, "an advance to now is an input, too"


def test_each_due_instant_on_the_way_is_an_input_of_its_own(few: Connection) -> None:
    sim = few.simulation
    dues = []
    to = sim.now + 4 * 3600 * NS_PER_S
    twin = sim.fork()
    while (due := twin.next_due()) is not None and due <= to:
        assert due >= twin.now
        dues.append(due)
        twin.advance_to(due)
        assert twin.now == due
    outcome = sim.advance_to(to)
    advanced = [json.decode(read_line(line).input) for line in sim.journal.lines()]
    assert [item["to"] for item in advanced] == [*dues, *([to] if to not in dues else [])]
    assert sim.now == to
    assert [fired.at for fired in outcome.fired] == sorted(fired.at for fired in outcome.fired)
    assert {fired.at for fired in outcome.fired} <= set(dues)
    assert len({fired.at for fired in outcome.fired}) > 1, "the timers of every one of them"
    nothing = sim.advance_to(sim.now + 1)
    assert (nothing.fired, nothing.cause) == ([], 0)


def test_timers_beyond_the_calendar_never_fire(few: Connection) -> None:
    sim = few.simulation
    timers = sim.exchange.ctx.timers
    timers.load((timers.scheduled, [], []))
    assert sim.next_due() is None
    kind = next(iter(sim.engine._timers))
    for due, expected in ((BEYOND, None), (BEYOND - 1, BEYOND - 1), (sim.now - 5, sim.now)):
        timers.schedule(due, kind)
        assert sim.next_due() == expected
    assert timers.next_due() == sim.now - 5


# ---- reading a run


def test_a_run_tells_what_it_is(few: Connection) -> None:
    sim = few.simulation
    assert (sim.scenario.name, sim.seed, sim.start, sim.seq) == (
        "few-games",
        7,
        sim.scenario.clock.start,
        0,
    )
    assert (sim.settings, sim.world, sim.contract) == (
        sim.engine.settings,
        sim.engine.world,
        sim.engine.contract,
    )
    assert (sim.exchange, sim.journal, sim.log) == (
        sim.engine.exchange,
        sim.engine.journal,
        sim.engine.log,
    )
    assert (sim.ended, sim.epoch, sim.branch, len(sim.digest)) == (None, 0, "main", 64)
    assert sim.stream_buffer > 0
    assert sim.rpc_serves("") is True
    assert sim.rpc_serves("no.such.Service") is None
    method = next(iter(next(op for op in sim.contract.operations if op.grpc).full_methods))
    assert sim.rpc_kind(method if method.startswith("/") else f"/{method}") == "unary"
    assert sim.rpc_kind("/no.such.Service/Call") is None
    few.gateway.get("/v1/health")
    assert len(list(sim.journal_lines())) == 1 and list(sim.journal_lines(1)) == []
    first = json.decode(next(iter(sim.journal_lines())))
    assert (first["seq"], first["input"]["path"]) == (1, "/v1/health")


def test_calls_are_selected_by_each_of_their_columns(few: Connection) -> None:
    sim = few.simulation
    few.gateway.get("/v1/health")
    few.gateway.get("/v1/markets/none/book")
    trader(few).get("/v1/trading/orders/open")
    every = sim.requests()
    assert [row["seq"] for row in every] == [1, 2, 3, 4]
    assert [row["seq"] for row in sim.requests(status=404)] == [2]
    assert [row["seq"] for row in sim.requests(operation=every[0]["operation"])] == [1]
    assert [row["seq"] for row in sim.requests(since=2)] == [3, 4]
    caller = every[3]["caller"]
    assert caller and all(row["caller"] == caller for row in sim.requests(caller=caller))
    assert sim.requests(caller=caller)


def test_accounts_are_found_by_their_own_names_and_by_those_of_users(few: Connection) -> None:
    sim = few.simulation
    user = firm(sim).users[0]
    assert sim.account_named(user.name) == sim.account_named(user.account) == user.account
    with pytest.raises(NotFound) as error:
        sim.account_named("nobody")
    assert (error.value.message, error.value.rule, error.value.remedy) == (
        "no account is called nobody",
        "T1",
        "GET /_sim/v1/state/accounts lists them",
    )


# ---- inputs


def test_the_refusal_of_an_action_is_raised_after_it_was_written(few: Connection) -> None:
    sim = few.simulation
    with pytest.raises(Refusal) as error:
        sim.control("instrument.state", "nothing", {"state": "OPEN"})
    assert sim.seq == 1
    line = json.decode(next(iter(sim.journal_lines())))
    assert line["out"]["message"] == error.value.message
    assert line["input"]["arguments"] == '{"state":"OPEN"}'
    sim.control("quirk.set", "camel_case_query_ignored", {"value": "never"})
    assert sim.seq == 2


def test_calls_have_trace_ids_by_their_number_and_no_time_of_the_call_before(
    few: Connection,
) -> None:
    sim = few.simulation
    for number in (1, 2):
        few.gateway.get("/v1/health")
        assert sim.exchange.ctx.trace_id == f"{number:016x}"
    sim.exchange.ctx.service_time = 5
    few.gateway.get("/v1/health")
    assert sim.exchange.ctx.service_time != 5


# ---- extensions


class Count(Struct):
    done: int = 0


class Requester(Extension):
    """An extension that requests a given number of inputs."""

    name = "requester"
    state_type = Count

    def __init__(self, engine: object) -> None:
        self.state, self.requested = Count(), 0
        self.fails = False
        self.request: Any = Controlled("price.tick", "crypto:btc", '{"price":"5"}')
        self.observed: list[str] = []

    def next_input(self) -> Any:
        if self.fails:
            raise RuntimeError("broken")
        return self.request if self.requested else None

    def cause_of(self, input_: object) -> int:
        return 0

    def on_done(self, input_: Any, outcome: Any) -> None:
        self.observed.append(type(input_).__name__)
        if input_ is self.request and self.requested:
            self.requested -= 1

    def save(self) -> Count:
        return self.state

    def load(self, state: Count) -> None:
        self.state = state


def with_requester() -> tuple[Simulation, Requester]:
    from sim.run import simulation

    created = simulation.Behaviour

    def more(*of: Any) -> Any:
        behaviour = created(*of)
        return behaviour._replace(extensions=(*behaviour.extensions, Requester))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(simulation, "Behaviour", more)
        patch.setattr(simulation, "PREPARED", simulation.PreparedStarts(0))
        sim = Simulation(load_scenario(FEW_GAMES))
    requester: Any = sim.engine.extensions["requester"]
    return sim, requester


def test_what_an_extension_requests_follows_its_cause_and_comes_before_anything_else() -> None:
    sim, requester = with_requester()
    requester.requested = 2
    outcome = sim.enter(RestCall("gateway", "GET", "/v1/health"))
    assert requester.observed == ["Controlled", "Controlled", "RestCall"], "requested at the start"
    assert outcome.seq == 3 and outcome.reply is not None
    requester.observed.clear()
    on_done = requester.on_done

    def wants(input_: Any, outcome: Any) -> None:
        on_done(input_, outcome)
        if isinstance(input_, RestCall):
            requester.requested = 1

    requester.on_done = wants  # type: ignore[method-assign]
    sim.engine.input_effects._on_done[:] = [wants]
    sim.enter(RestCall("gateway", "GET", "/v1/health"))
    assert requester.observed == ["RestCall", "Controlled"]
    requester.observed.clear()
    requester.requested = 1
    assert sim.next_due() == sim.now
    sim.advance_to(sim.now)
    assert requester.observed[0] == "Controlled"
    sim.rewind(seq=sim.seq)
    requester.requested = 1
    requester.observed.clear()
    sim.hangup(5)
    assert requester.observed == ["Controlled", "StreamHungUp"], "after a journey, too"


def test_an_outcome_has_the_timers_of_the_inputs_that_were_requested_with_it() -> None:
    sim, requester = with_requester()
    sim.enter(RestCall("gateway", "GET", "/v1/health"))
    due = sim.next_due()
    assert due is not None
    requester.request = Advanced(due)
    travelled = sim.engine.travelled
    for early in (True, False):
        sim.engine.travelled = early
        requester.requested = 1
        requester.request = Advanced(max(due, sim.next_due() or 0))
        outcome = sim.enter(RestCall("gateway", "GET", "/v1/health"))
        assert outcome.fired and outcome.reply is not None
        assert requester.observed[-2:] == (
            ["Advanced", "RestCall"] if early else ["RestCall", "Advanced"]
        )
    assert travelled is False


def test_an_extension_that_fails_to_say_what_it_wants_ends_the_run() -> None:
    sim, requester = with_requester()
    requester.fails = True
    with pytest.raises(RuntimeError, match="broken"):
        sim.enter(RestCall("gateway", "GET", "/v1/health"))
    assert isinstance(sim.ended, RuntimeError)


def test_an_input_that_fails_after_requested_ones_ends_the_run() -> None:
    sim, requester = with_requester()
    requester.requested = 1
    bad: Any = RestCall("gateway", "GET", "/v1/health", query=object())  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        sim.enter(bad)
    assert isinstance(sim.ended, TypeError), "the outcome of the requested one is lost"


def test_hooks_that_a_class_does_not_have_are_never_called() -> None:
    class Silent(Extension):
        name = "silent"
        state_type = Count

    silent = Silent()
    hooks = ("next_input", "on_call", "on_events", "on_answer", "on_done")
    assert not any(silent.overrides(hook) for hook in hooks)
    assert Requester(None).overrides("next_input") and not Requester(None).overrides("on_call")
    assert (silent.next_input(), silent.cause_of(StreamHungUp(1)), silent.save_streams()) == (
        None,
        0,
        None,
    )
    assert (silent.timers, silent.inputs) == ({}, {})
    for missing in (silent.save, lambda: silent.load(None)):
        with pytest.raises(NotImplementedError):
            missing()


def test_streams_of_extensions_are_saved_by_name(few: Connection) -> None:
    class Own(Extension):
        name = "own"
        state_type = Count

        def save_streams(self) -> object:
            return {"stream": 5}

    saved = snapshots.save_streams(few.simulation.engine.hub, {"own": Own()})
    import pickle

    assert pickle.loads(saved.extensions) == {"own": {"stream": 5}}
    assert snapshots.unsavable(TypeError("x")) == "this state cannot be saved (TypeError: x)"
    assert time_travel.replica(few.simulation.engine).journal.shadow


# ---- rewinds and orders in progress


def test_orders_calls_and_games_are_those_of_the_moment(few: Connection) -> None:
    sim = few.simulation
    instrument = quiet(sim)
    client = trader(few)
    client.post("/v1/trading/orders", json=order(instrument, "buy", 40, 2))
    client.post("/v1/trading/orders", json=order(instrument, "buy", 41, 2))
    there, calls = sim.seq, sim.requests()
    few.retail(key(sim)).get("/v1/portfolio/positions")
    sim.snapshot("later")
    many = sim.requests()
    sim.rewind(seq=there)
    assert sim.requests() == calls != many
    sim.restore("later")
    assert sim.requests() == many
    sim.rewind(seq=there - 1)
    assert sim.requests() == calls[:-1]
    sim.reset()
    assert sim.requests() == []


# ---- objects that a snapshot shares, and objects that it copies


def test_a_snapshot_shares_rows_and_equal_copies_and_never_a_live_order(few: Connection) -> None:
    sim = few.simulation
    instrument = quiet(sim)
    enter(few, instrument, "buy", 40, 5)
    (mine,) = (
        order for order in sim.exchange.trading.orders.live() if order.symbol == instrument.symbol
    )
    first = sim.engine.snapshot()
    copied = first.history.live[mine.seq]
    assert copied == mine and copied is not mine
    assert first.history.live_bytes == 512 * len(first.history.live)
    assert first.size == len(first.state) + first.history.live_bytes
    second = sim.engine.snapshot(copies=first.history.live)
    assert second.history.live[mine.seq] is copied
    assert second.history.executions.rows is sim.exchange.trading.executions.rows
    assert second.history.executions.number == len(sim.exchange.trading.executions)
    assert second.history.trades is not first.history.trades
    assert (first.log, second.streams is None) == (None, False)
    left = mine.leaves_qty
    enter(few, instrument, "sell", 40, 2, user=1)
    third = sim.engine.snapshot(copies=first.history.live, log=True)
    assert third.history.live[mine.seq] == mine and third.history.live[mine.seq] is not copied
    assert (copied.leaves_qty, first.history.live[mine.seq].leaves_qty) == (left, left)
    assert third.log is not None and third.log is not sim.log
    assert len(third.history.trades) == len(first.history.trades) + 1
    rows = first.history.executions
    assert len(rows.own()) == rows.number < len(rows.rows)
    sim.snapshot("third")
    enter(few, instrument, "sell", 40, 3, user=1)
    assert sim.engine.snapshots.named["third"].history.live[mine.seq].leaves_qty > 0
    sim.restore("third")
    (again,) = (
        order for order in sim.exchange.trading.orders.live() if order.symbol == instrument.symbol
    )
    assert again == sim.engine.snapshots.named["third"].history.live[mine.seq]
    assert again is not sim.engine.snapshots.named["third"].history.live[mine.seq]


# ---- causes of an advance


def expiring(few: Connection, instrument: Any, cents: int, until: str) -> int:
    """Return the input that places an order which expires at an instant."""
    body = order(instrument, "buy", cents, 1, timeInForce="TIME_IN_FORCE_GOOD_TILL_TIME")
    answer = trader(few).post("/v1/trading/orders", json=body | {"goodTillTime": until})
    assert answer.status == 200, answer.body
    return few.simulation.seq


def test_an_advance_comes_of_the_input_that_scheduled_the_last_of_its_timers(
    few: Connection,
) -> None:
    sim = few.simulation
    instrument = quiet(sim)
    until = format_instant(sim.now + 10 * MINUTE)
    inputs = [expiring(few, instrument, cents, until) for cents in (30, 31)]
    later = expiring(few, instrument, 32, format_instant(sim.now + 20 * MINUTE))
    outcomes = []
    while sim.now < sim.start + 20 * MINUTE:
        outcomes.append(sim.advance_to(min(sim.next_due() or 0, sim.start + 20 * MINUTE)))
    causes = {
        fired.at: outcome.cause
        for outcome in outcomes
        for fired in outcome.fired
        if fired.timer.startswith("order.")
    }
    assert list(causes.values()) == [inputs[1], later]
    assert sim.now == sim.start + 20 * MINUTE
    assert all(order.symbol != instrument.symbol for order in sim.exchange.trading.orders.live())


@pytest.mark.parametrize("seeds", [(), (None,), (5,), (5, None)], ids=str)
def test_an_advance_to_a_date_of_the_world_comes_of_no_input(seeds: tuple[int | None, ...]) -> None:
    """At the start, and after resets with the same seed or another."""
    scenario = load_scenario(
        "name: dates\nworld: {base: empty, instruments: [{symbol: ends, expiration: 2026-09-08T18:05:00Z}]}"
    )
    sim = Simulation(scenario)
    for seed in seeds:
        sim.rest("gateway", "GET", "/v1/health", "", {}, b"")
        sim.reset(seed)
    for _ in range(3):
        sim.rest("gateway", "GET", "/v1/health", "", {}, b"")
    outcome = sim.advance_to(sim.start + 5 * MINUTE)
    assert [fired.at - sim.start for fired in outcome.fired] == [5 * MINUTE]
    assert outcome.cause == 0


def test_a_jump_fires_the_same_timers_at_the_same_instants_as_small_steps(few: Connection) -> None:
    sim = few.simulation
    expiring(few, quiet(sim), 30, format_instant(sim.now + 90 * NS_PER_S))
    twin, to = sim.fork(), sim.now + 30 * MINUTE
    jumped = sim.advance_to(to).fired
    stepped = []
    while twin.now < to:
        stepped += twin.advance_to(min(to, twin.now + 7 * NS_PER_S)).fired
    assert jumped == stepped and jumped
    assert (twin.now, sim.now) == (to, to)
