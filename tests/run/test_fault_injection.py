"""If anything fails between the arrival of a call and its answer, the run ends, and its journal
replays exactly the answers that clients received. No input is half processed.

The places of failure come from the tables in the code (stages, feeds, timers, finishers, hooks of
extensions, kinds of inputs), so new ones are covered as soon as they are declared.
"""

from __future__ import annotations

import errno
import io
from collections.abc import Callable
from functools import cache
from itertools import cycle
from typing import Any, NamedTuple, NoReturn, get_args

import pytest
from msgspec.structs import replace

from sim import Simulation, load_scenario
from sim.api.pipeline import inputs, pipeline
from sim.api.pipeline.pipeline import Path
from sim.api.registry import FINISHERS
from sim.api.streams.hub import FEEDS
from sim.contract.contract import load_contract
from sim.contract.messages import exchange_v1 as wire
from sim.kernel.instants import HOUR
from sim.kernel.journal import JournalLost, RunEnded
from sim.kernel.journal_reader import read_journal
from sim.read.replay import simulation_of, verify
from sim.run.client.client import Connection, connect
from sim.run.engine import engine as engine_module
from sim.run.engine import time_travel
from sim.run.engine.engine import Engine
from sim.run.loader.load import load_submitted
from tests.journeys import enter, firm, key, order, quiet, retail_order, rpc_trader, trader


class Injected(Exception):
    """The exception that simulates an internal error."""


MISTAKES: tuple[Callable[[], BaseException], ...] = (
    Injected,
    MemoryError,
    RecursionError,
    lambda: OSError(errno.EMFILE, "Too many open files"),
    lambda: UnicodeEncodeError("utf-8", "\udcff", 0, 1, "surrogates not allowed"),
)
mistakes = cycle(MISTAKES)


class Failing:
    """Replaces a function: raises instead of calling it, or right after the call."""

    def __init__(self, function: Callable[..., object], *, late: bool) -> None:
        self._function, self._late = function, late
        self.error = next(mistakes)()
        self.__name__ = getattr(function, "__name__", "")

    def __call__(self, *value: Any, **named: Any) -> NoReturn:
        if self._late:
            self._function(*value, **named)
        raise self.error


# ---- the run in which something fails


@cache
def base() -> tuple[Connection, Simulation, int]:
    """Return a run with some history, its replay, and the number of journal lines replayed."""
    file = io.BytesIO()
    steps = [{"at": "+1h", "call": {"plane": "gateway", "get": "/v1/health"}}]
    document = {"name": "broken", "extends": "quickstart", "steps": steps}
    sim = Simulation(load_submitted(document, None), journal=file)
    world = connect(sim)
    answer = enter(world, quiet(sim), "buy", 20, 3)
    assert answer.status == 200
    world.advance("1s")
    header, lines = read_journal(io.BytesIO(file.getvalue()))
    replayed = simulation_of(header)
    verify(replayed, lines)
    return world, replayed, file.getvalue().count(b"\n")


class Run:
    """A copy of that run, with clients, in which one failure is injected."""

    def __init__(self) -> None:
        origin, self._replayed, self._lines = base()
        self.file = io.BytesIO()
        self.sim = origin.simulation.fork(journal=self.file)
        self.world = connect(self.sim)
        self.world._tokens, self.world._assertions = dict(origin._tokens), 1_000
        self.instrument = quiet(self.sim)
        actual = order(self.instrument, "buy", 10, 1)
        answer = trader(self.world).post("/v1/trading/orders", json=actual)
        self.answered = {answer.json()["orderId"]}
        self.before = (self.sim.seq, self.sim.digest)

    def fails(self, call: Callable[[], object], error: BaseException) -> None:
        """Check that a call fails with this error."""
        self.before = (self.sim.seq, self.sim.digest)
        with pytest.raises(type(error)) as raised:
            call()
        assert raised.value is error

    def has_ended(self, cause: BaseException) -> None:
        """Check that no further call is answered and that no answered input is lost."""
        assert self.sim.ended is cause
        with pytest.raises(RunEnded):
            self.sim.hangup(1)
        with pytest.raises(RunEnded):
            self.sim.advance_to(self.sim.now + 1)
        self.replays()

    def replays(self) -> None:
        """Check that the journal replays up to the last answer before the failure."""
        _, lines = read_journal(io.BytesIO(self.file.getvalue()))
        again = self._replayed.fork()
        verify(again, (line for line in lines if line[0] > self._lines))
        assert (again.seq, again.digest) == self.before
        assert {order.id for order in again.exchange.trading.orders.open()} >= self.answered


# ---- what a client, the clock and an operator can do


class Call(NamedTuple):
    """A call that passes every stage of its path, after some preparation."""

    act: Callable[[Run, Any], object]
    prepare: Callable[[Run], object] = lambda run: None


def gateway(run: Run, _: object) -> object:
    return run.world.gateway.get(f"/v1/markets/{run.instrument.symbol}/book")


def retail(run: Run, _: object) -> object:
    body = retail_order(run.instrument, "BUY_LONG", 15, 1)
    return run.world.retail(key(run.sim)).post("/v1/orders", json=body)


def exchange(run: Run, _: object) -> object:
    body = order(run.instrument, "buy", 15, 1)
    return trader(run.world).post("/v1/trading/orders", json=body)


def rpc(run: Run, _: object) -> object:
    instrument = run.instrument
    insert_order_request = wire.InsertOrderRequest(
        type=2,
        side=1,
        symbol=instrument.symbol,
        order_qty=instrument.qty_scale,
        price=15 * instrument.price_scale // 100,
        time_in_force=2,
    )
    return rpc_trader(run.world).call("OrderEntryAPI.InsertOrder", insert_order_request)


def download(run: Run, _: object) -> object:
    client = rpc_trader(run.world)
    request = wire.DownloadPositionLedgerRequest(account=firm(run.sim).users[0].account)
    return list(client.download("PositionAPI.DownloadPositionLedger", request))


def subscription(operation: str) -> Call:
    result = load_contract().by_name(operation)

    def act(run: Run, _: object) -> object:
        if result.content == "web_socket":
            return run.world.web_socket(key(run.sim), result.bindings[0][1])
        value = {"account": firm(run.sim).users[0].account, "symbols": [run.instrument.symbol]}
        fields = {name: value[name] for name in result.request.__struct_fields__ if name in value}
        request = result.request(**fields) if result.kind == "server" else None
        return rpc_trader(run.world).stream(operation, request)

    return Call(act)


def socket(run: Run) -> int:
    return run.world.web_socket(key(run.sim), "/v1/ws/markets").number


def frame(run: Run, stream: Any) -> object:
    asked = '{"subscribe":{"requestId":"r","subscriptionType":1,"marketSlugs":["%s"]}}'
    return run.sim.frame(stream, (asked % run.instrument.symbol).encode())


def operator(run: Run, _: object) -> object:
    return run.sim.control(
        "order.place",
        "",
        {
            "as": "maker",
            "symbol": run.instrument.symbol,
            "side": "sell",
            "price": "0.20",
            "qty": "1",
        },
    )


def due_step(run: Run) -> None:
    """Advance until the step of the scenario is the next input."""
    run.sim.handle(inputs.Advanced(run.sim.scenario.clock.start + HOUR))


CALLS = {
    "rest gateway": Call(gateway),
    "rest retail": Call(retail),
    "rest exchange": Call(exchange),
    "rest auth": Call(lambda run, _: run.world.token(firm(run.sim))),
    "rpc": Call(rpc),
    "open download": Call(download),
    **{f"open {name}": subscription(name) for name in FEEDS},
    "frame": Call(frame, socket),
    "hangup": Call(lambda run, stream: run.sim.hangup(stream), socket),
    "advance": Call(lambda run, _: run.world.advance("1s")),
    "step": Call(lambda run, _: run.sim.hangup(999), due_step),
    "control": Call(operator),
    "answer": Call(lambda run, _: run.sim.answer("nobody asked", 200)),
    "answer_due": Call(lambda run, _: run.sim.answer_due("nobody asked")),
}
TRAVELS: tuple[Callable[[Simulation], object], ...] = (
    lambda sim: sim.snapshot("here"),
    lambda sim: sim.restore("here"),
    lambda sim: sim.reset(),
    lambda sim: sim.rewind(seq=0),
)


def test_every_kind_of_input_has_a_call() -> None:
    tags = {kind.__struct_config__.tag for kind in get_args(inputs.Input)}
    assert {name.partition(" ")[0] for name in CALLS} == tags


def test_a_run_that_has_ended_takes_no_input_and_goes_nowhere(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = Run()
    stream = socket(run)
    run.sim.snapshot("here")
    broken = Failing(run.sim.engine.input_effects.publish, late=True)
    with monkeypatch.context() as patch:
        patch.setattr(run.sim.engine.input_effects, "publish", broken)
        run.fails(lambda: exchange(run, None), broken.error)
    for call in CALLS.values():
        with pytest.raises(RunEnded):
            call.act(run, stream)
    for travel in TRAVELS:
        with pytest.raises(RunEnded):
            travel(run.sim)
    run.has_ended(broken.error)


# ---- stages

PATHS = {name: result for name, result in vars(pipeline).items() if isinstance(result, Path)}
feeds = cycle(FEEDS)
WALKED: dict[str, Callable[[], list[str]]] = {
    "_REST": lambda: [name for name in CALLS if name.startswith("rest ")],
    "_RPC": lambda: ["rpc"],
    "_DOWNLOAD": lambda: ["open download"],
    # Three feeds for each stage, so that every feed is used.
    "_SUBSCRIPTION": lambda: [f"open {next(feeds)}" for _ in range(3)],
}
STAGES = [
    (name, walked, stage)
    for name, path in PATHS.items()
    for walked in ("stages", "closing")
    for stage in getattr(path, walked)
]


@pytest.mark.parametrize("late", [False, True], ids=["at once", "half done"])
@pytest.mark.parametrize(
    ("name", "walked", "stage"),
    STAGES,
    ids=[f"{name} {stage.__name__}" for name, _, stage in STAGES],
)
def test_a_stage_that_fails_ends_the_run(
    name: str, walked: str, stage: Any, late: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for call in (CALLS[each] for each in WALKED[name]()):
        run, broken = Run(), Failing(stage, late=late)
        with monkeypatch.context() as patch:
            path = PATHS[name]
            replaced = tuple(broken if each is stage else each for each in getattr(path, walked))
            patch.setattr(pipeline, name, path._replace(**{walked: replaced}))
            run.fails(lambda run=run, call=call: call.act(run, None), broken.error)
        run.has_ended(broken.error)


# ---- processing of an input in the engine

# Functions that process every input, by name, in an engine component or its module.
STEPS: dict[str, Callable[[Engine], object]] = {
    "_dispatch": lambda engine: engine,
    "finish": lambda engine: engine.input_effects,
    "record_of": lambda engine: engine_module,
}


@pytest.mark.parametrize("late", [False, True], ids=["at once", "half done"])
@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("name", CALLS)
def test_a_step_of_the_engine_that_fails_ends_the_run(
    name: str, step: str, late: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, call = Run(), CALLS[name]
    value = call.prepare(run)
    owner = STEPS[step](run.sim.engine)
    broken = Failing(getattr(owner, step), late=late)
    with monkeypatch.context() as patch:
        patch.setattr(owner, step, broken)
        run.fails(lambda: call.act(run, value), broken.error)
    run.has_ended(broken.error)


@pytest.mark.parametrize("name", CALLS)
def test_an_input_that_cannot_be_encoded_changes_nothing_and_the_run_goes_on(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, call = Run(), CALLS[name]
    argument = call.prepare(run)
    run.before = (run.sim.seq, run.sim.digest)
    broken = Failing(engine_module._encode, late=False)
    with monkeypatch.context() as patch:
        patch.setattr(engine_module, "_encode", broken)
        with pytest.raises(BaseException) as raised:
            call.act(run, argument)
    assert raised.value is broken.error
    assert run.sim.ended is None
    run.replays()
    call.act(run, argument)
    run.before = (run.sim.seq, run.sim.digest)
    run.replays()


@pytest.mark.parametrize("name", CALLS)
def test_an_outcome_that_cannot_be_encoded_ends_the_run(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, call = Run(), CALLS[name]
    argument = call.prepare(run)
    encode, error = engine_module._encode, OverflowError("out of range")

    def only_inputs(value: object) -> bytes:
        if isinstance(value, get_args(inputs.Input)):
            return encode(value)
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(engine_module, "_encode", only_inputs)
        run.fails(lambda: call.act(run, argument), error)
    run.has_ended(error)


NO_ROOM = cycle((errno.ENOSPC, errno.EIO, errno.EMFILE, errno.EFBIG))


@pytest.mark.parametrize("written", [0, 20], ids=["nothing", "a part"])
@pytest.mark.parametrize("name", CALLS)
def test_a_journal_that_takes_no_line_ends_the_run(name: str, written: int) -> None:
    run, call = Run(), CALLS[name]
    argument = call.prepare(run)
    run.before = (run.sim.seq, run.sim.digest)
    file, number = run.sim.journal._file, next(NO_ROOM)

    class Full(io.BytesIO):
        def write(self, line: Any, /) -> int:
            file.write(line[:written])
            raise OSError(number, "no")

    run.sim.journal._file = Full()
    with pytest.raises(JournalLost) as raised:
        call.act(run, argument)
    assert raised.value.errno == number
    run.has_ended(raised.value)


class Interrupted(io.BytesIO):
    """A file of which one operation fails after it was partly done."""

    fails = ""

    def _maybe(self, operation: str) -> None:
        if self.fails == operation:
            self.fails = ""
            raise MemoryError

    def seek(self, *position: int) -> int:
        result = super().seek(*position)
        self._maybe("seek")
        return result

    def read(self, size: int | None = -1) -> bytes:
        super().read((size or 0) // 2)
        self._maybe("read")
        super().seek(-((size or 0) // 2), io.SEEK_CUR)
        return super().read(size)

    def write(self, line: Any) -> int:
        if self.fails == "write":
            super().write(line[: len(line) // 2])
        self._maybe("write")
        return super().write(line)


@pytest.mark.parametrize("fails", ["seek", "read", "write"])
def test_a_journal_whose_file_fails_amid_a_reading_keeps_every_line(fails: str) -> None:
    """Reading the journal back, for a fork or a page of history, moves the file position. If the
    read fails, the next line written must not overwrite earlier ones.
    """
    file = Interrupted()
    sim = Simulation(load_scenario("quickstart"), journal=file)
    client = trader(connect(sim))
    asked = order(quiet(sim), "buy", 20, 3)
    assert client.post("/v1/trading/orders", json=asked).status == 200
    before = file.getvalue()
    file.fails = fails
    with pytest.raises(MemoryError):
        list(sim.journal.lines()) if fails != "write" else sim.snapshot("here")
    if fails == "write":
        with pytest.raises(RunEnded):
            client.post("/v1/trading/orders", json=asked)
    else:
        assert client.post("/v1/trading/orders", json=asked).status == 200
        file.seek(0)
        header, lines = read_journal(file)
        verify(simulation_of(header), lines)
    assert file.getvalue().startswith(before)


# ---- consequences of an input

HOOKS = ("on_events", "on_call", "on_answer", "on_done", "next_input")


def overridden() -> list[tuple[str, str]]:
    """Return (extension, hook) for each hook that an extension implements."""
    return [
        (name, hook)
        for name, extension in base()[0].simulation.engine.extensions.items()
        for hook in HOOKS
        if extension.overrides(hook)
    ]


def synchronous_order(run: Run) -> None:
    """Send an order whose answer waits until the order is done."""
    run.sim.control("assumption.set", "engine.latency", {"value": "50ms"})
    body = retail_order(run.instrument, "BUY_LONG", 12, 1, synchronousExecution=True)
    run.world.retail(key(run.sim)).post("/v1/orders", json=body)


def webhook(run: Run) -> None:
    """Register a webhook; the answer waits for the receiver."""
    body = {"webhook_url": "http://127.0.0.1:9/hook"}
    run.world.exchange(firm(run.sim)).post("/v1/kyc/webhook", json=body)


REACHES = {
    "on_answer": synchronous_order,
    "on_effects": lambda run: subscription(next(iter(FEEDS))),
}
FINISHED = {"synchronous order": synchronous_order, "webhook registration": webhook}


@pytest.mark.parametrize("late", [False, True], ids=["at once", "half done"])
def test_a_hook_of_an_extension_that_fails_ends_the_run(late: bool) -> None:
    assert {hook for _, hook in overridden()} == set(HOOKS)
    for name, hook in overridden():
        the_hook_fails(name, hook, late)


def the_hook_fails(name: str, hook: str, late: bool) -> None:
    run = Run()
    engine = run.sim.engine
    owner = engine.input_effects if hasattr(engine.input_effects, f"_{hook}") else engine
    hooks = engine._requesters if hook == "next_input" else getattr(owner, f"_{hook}")
    position = next(i for i, each in enumerate(hooks) if each.__self__ is engine.extensions[name])
    hooks[position] = broken = Failing(hooks[position], late=late)
    with pytest.raises(type(broken.error)) as raised:
        synchronous_order(run)
    assert raised.value is broken.error
    run.before = (run.sim.seq, run.sim.digest)
    run.has_ended(broken.error)


@pytest.mark.parametrize("late", [False, True], ids=["at once", "half done"])
@pytest.mark.parametrize("kind", FINISHERS)
def test_a_deferred_answer_that_cannot_be_built_ends_the_run(kind: str, late: bool) -> None:
    run = Run()
    finisher = FINISHERS[kind]
    broken = Failing(finisher.build, late=late)
    run.sim.engine.input_effects._finishers = {**FINISHERS, kind: replace(finisher, build=broken)}
    # The call is accepted, but its answer waits for another input. That input fails.
    with pytest.raises(BaseException) as raised:
        FINISHED[kind](run)
    assert raised.value is broken.error
    run.before = (run.sim.seq, run.sim.digest)
    run.has_ended(raised.value)


def asked(run: Run, stream: Any) -> None:
    stream.send(b"{}")


# A method of a feed, and an action that makes the exchange call it.
REACHES: dict[str, tuple[bool, Callable[[Run, Any], object]]] = {
    "accept": (False, lambda run, stream: None),
    "begin": (False, lambda run, stream: None),
    "frame": (True, asked),
    "flush": (True, exchange),
    "forget": (True, lambda run, stream: stream.close()),
}


@pytest.mark.parametrize("late", [False, True], ids=["at once", "half done"])
@pytest.mark.parametrize("method", REACHES)
@pytest.mark.parametrize("operation", FEEDS)
def test_a_feed_that_fails_ends_the_run(
    operation: str, method: str, late: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if method == "frame" and load_contract().by_name(operation).kind != "bidi":
        return  # its clients send none
    run = Run()
    begin = CALLS[f"open {operation}"].act
    is_open, reach = REACHES[method]
    stream: Any = begin(run, None) if is_open else None
    feed = run.sim.engine.hub._by_operation[operation]
    broken = Failing(getattr(feed, method), late=late)
    with monkeypatch.context() as patch:
        patch.setattr(feed, method, broken)
        run.fails(lambda: reach(run, stream) if is_open else begin(run, None), broken.error)
    run.has_ended(broken.error)


def test_a_timer_of_any_kind_that_fails_ends_the_run() -> None:
    for kind in sorted(base()[0].simulation.engine._timers):
        run = Run()
        engine = run.sim.engine
        broken = Failing(engine._timers[kind], late=False)
        engine._timers = {**engine._timers, kind: broken}
        engine.exchange.ctx.timers.schedule(run.sim.now + 1, kind, "x")
        run.fails(lambda run=run: run.sim.advance_to(run.sim.now + 1), broken.error)
        run.has_ended(broken.error)


# ---- time travel


@pytest.mark.parametrize("step", ["load", "close_streams", "_repeat"])
def test_a_journey_that_fails_on_the_way_ends_the_run(
    step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for travel in (
        lambda sim: sim.restore("here"),
        lambda sim: sim.reset(),
        lambda sim: sim.rewind(seq=1),
    ):
        run = Run()
        run.sim.snapshot("here")
        broken = Failing(getattr(time_travel, step), late=True)
        with monkeypatch.context() as patch:
            patch.setattr(time_travel, step, broken)
            try:
                travel(run.sim)
            except BaseException as error:
                assert error is broken.error
                assert run.sim.ended is error
                with pytest.raises(RunEnded):
                    gateway(run, None)
            else:
                assert step == "_repeat"  # only a rewind processes inputs again
