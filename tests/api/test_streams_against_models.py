"""Streams against naive models: what a fault does to frames, and when funding changes are told."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from sim.contract.messages import exchange_v1 as wire
from sim.core.model.instrument import Instrument
from sim.kernel.instants import format_span, parse_span
from sim.run.client.client import Stream
from tests.journeys import firm
from tests.kit import Desk, begin
from tests.kit.streams import orders
from tests.sessions import SESSIONS

SCENARIO = """
name: streams
world:
  base: empty
  instruments: [{symbol: one, state: OPEN}, {symbol: two, state: OPEN}]
  firms:
    - name: firms/atlas
      key: atlas
      users: [{name: ann, balance: "1000"}, {name: bob, balance: "1000"}, {name: cid, balance: "1000"}]
limits: {exchange_rest: "off"}
quirks: {stream_duplicates: never, session_revocation: always}
maintenance: []
"""
REVOKED = (13, "Subscription manager revoked session")
SECOND = 10**9


def assuming(**assumptions: str) -> Desk:
    world = begin(SCENARIO)
    for name, value in assumptions.items():
        world.assume(name.replace("__", "."), value)
    return world


def instrument(world: Desk, symbol: str = "one") -> Instrument:
    return world.instrument(symbol)


# ---- faults


@dataclass
class Faulted:
    """The numbers of the frames that arrive, those that are delayed with their instants, and the
    frame that the next one overtakes.
    """

    arrived: list[int] = field(default_factory=list)
    waiting: list[tuple[int, int]] = field(default_factory=list)
    overtaken: list[int] = field(default_factory=list)
    end: tuple[int, str] | None = None

    def send(self, number: int, now: int, effect: str, delay: int) -> None:
        if effect == "drop":
            return
        if effect == "reorder" and not self.overtaken:
            self.overtaken.append(number)
            return
        sent = [number, *([number] if effect == "duplicate" else []), *self.overtaken]
        self.overtaken.clear()
        if not self.waiting and not delay:
            self.arrived += sent
            return
        due = max([now + delay, *(at for at, _ in self.waiting)])
        self.waiting += [(due, item) for item in sent]

    def finish(self, number: int, code: int, message: str) -> None:
        """End the stream, after the frames that are delayed or overtaken have arrived."""
        self.arrived += [item for _, item in self.waiting] + self.overtaken
        self.waiting, self.overtaken, self.end = [], [], (code, message)

    def pass_to(self, now: int) -> None:
        self.arrived += [item for at, item in self.waiting if at <= now]
        self.waiting = [(at, item) for at, item in self.waiting if at > now]


ENDS = {"revoke": REVOKED, "reset": (14, "connection reset by peer"), "code": (8, "enough")}


@SESSIONS
@given(seed=st.integers(0, 2**32))
def test_frames_fare_under_faults_as_in_the_model(seed: int) -> None:
    rng = Random(seed)
    world = assuming(stream__heartbeat="0s")
    streams = [orders(world, user=user) for user in (0, 1)]
    for stream in streams:
        stream.take()
    models, placed = (Faulted(), Faulted()), list[str]()
    for number in range(25):
        effect = rng.choice(("", "", "drop", "duplicate", "reorder", "delay", "delay", "wait"))
        if number > 15 and rng.random() < 0.1:
            effect = rng.choice(tuple(ENDS))
        span = rng.choice((1, 2, 5)) * SECOND
        if effect == "wait":
            world.advance_to(world.now + span)
            for model in models:
                model.pass_to(world.now)
        else:
            user = rng.randrange(2)
            struck = strike(world, effect, span)
            placed.append(world.place(instrument(world), "buy", 10, user=user))
            model, at = models[user], len(placed) - 1
            if model.end is None and effect in ENDS:
                model.finish(at, *ENDS[effect])
            elif model.end is None:
                delay = span if effect == "delay" else 0
                model.send(at, world.now, effect, delay)
            for fault in struck:
                world.operate("fault.remove", fault)
        for model, stream in zip(models, streams, strict=True):
            numbers = [
                placed.index(execution.order.id)
                for frame in stream.frames
                for execution in frame.update.executions
            ]
            assert (numbers, stream.end) == (model.arrived, model.end), effect


def strike(world: Desk, effect: str, span: int) -> list[str]:
    """Inject a fault into the next frame of any order stream; return its id, if there is one."""
    if not effect:
        return []
    acts: dict[str, dict[str, object]] = {
        "delay": {"delay": format_span(span)},
        "code": {"code": 8, "message": "enough"},
    }
    act = acts.get(effect, {effect: True})
    match = {"plane": "stream", "operation": "CreateOrderSubscription"}
    body = {"match": match, "act": act, "times": 1}
    return [world.simulation.control("fault.add", "", body).value["id"]]


def rpc_of(world: Desk, user: int) -> Any:
    result = firm(world.simulation, 1)
    return world.rpc(result, result.users[user].name)


# ---- funding changes


@dataclass
class Look:
    """A funding stream: the accounts and types that it follows, and the changes it has read."""

    stream: Stream
    accounts: frozenset[str]
    types: frozenset[str]
    read: int
    expected: list[tuple[list[int], int]] = field(default_factory=list)

    def look(self, record: list[dict[str, Any]], now: int) -> None:
        """Expect one message with all changes since the last call that concern the stream."""
        new = range(self.read, len(record))
        self.read = len(record)
        numbers = [number for number in new if self.concerns(record[number])]
        if numbers:
            self.expected.append((numbers, now))

    def concerns(self, change: dict[str, Any]) -> bool:
        follows = change["account"] in self.accounts
        return follows and (not self.types or change["type"] in self.types)


class Funds:
    """An exchange in which money moves, the changes that the model recorded, and the streams."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.period = parse_span(poll := rng.choice(("15s", "4s")))
        self.world = assuming(funding__stream_poll=poll, stream__heartbeat="0s")
        self.accounts = [user.account for user in firm(self.world.simulation, 1).users]
        self.record: list[dict[str, Any]] = [
            {
                "id": change.transaction.id,
                "account": change.transaction.account,
                "type": "DEPOSIT",
                "at": change.at,
            }
            for change in self.world.core.funding.changes
        ]
        self.looks: list[Look] = []
        self.next_look = 0

    def move(self) -> None:
        account, amount = self.rng.choice(self.accounts), self.rng.choice(("5", "0.01", "-1"))
        control = self.world.operate("account.fund", account, amount=amount)
        transaction = self.world.absorb(control).value["transaction"]
        kind = "WITHDRAWAL" if amount == "-1" else "DEPOSIT"
        change = {"id": transaction, "account": account, "type": kind, "at": self.world.now}
        self.record.append(change)

    def follow(self) -> None:
        """Open a stream for a new participant, from now or from an instant on."""
        user = len(self.looks)
        types = self.rng.choice(((), (), ("DEPOSIT",), ("WITHDRAWAL", "DEPOSIT"), ("WITHDRAWAL",)))
        request = wire.CreateFundingTransactionSubscriptionRequest(
            transaction_types=[wire.FundingTransactionType[f"TRANSACTION_TYPE_{t}"] for t in types]
        )
        if self.rng.random() < 0.3:
            request.transaction_types.append(0)
        if self.rng.random() < 0.4:
            request.account_ids = [self.accounts[user]]
        now, read = self.world.now, len(self.record)
        if self.rng.random() < 0.5:
            moments = [change["at"] for change in self.record]
            request.resume_time = since = self.rng.choice((*moments, now)) + self.rng.choice((0, 1))
            read = next((n for n, item in enumerate(self.record) if item["at"] >= since), read)
        client = rpc_of(self.world, user)
        stream = client.stream("FundingAPI.CreateFundingTransactionSubscription", request)
        look = Look(stream, frozenset((self.accounts[user],)), frozenset(types), read)
        look.look(self.record, now)
        if not self.looks:
            self.next_look = now + self.period
        self.looks.append(look)

    def wait(self, span: int) -> None:
        target = self.world.now + span
        while self.looks and self.next_look <= target:
            for look in self.looks:
                look.look(self.record, self.next_look)
            self.next_look += self.period
        self.world.advance_to(target)

    def check(self) -> None:
        for look in self.looks:
            reported = [
                ([change.transaction.transaction_id for change in frame.changes], frame.server_time)
                for frame in look.stream.frames
            ]
            expected = [
                ([self.record[number]["id"] for number in numbers], at)
                for numbers, at in look.expected
            ]
            assert reported == expected
            times = [change.change_time for frame in look.stream.frames for change in frame.changes]
            numbers = [number for numbers, _ in look.expected for number in numbers]
            assert times == [self.record[number]["at"] for number in numbers]


@SESSIONS
@given(seed=st.integers(0, 2**32))
def test_changes_of_funding_are_told_at_the_next_look_as_in_the_model(seed: int) -> None:
    rng = Random(seed)
    funds = Funds(rng)
    for _ in range(20):
        if len(funds.looks) < 3 and rng.random() < 0.25:
            funds.follow()
        for _ in range(rng.choice((0, 1, 1, 2))):
            funds.move()
        funds.wait(rng.choice((0, 1, SECOND, 5 * SECOND, 16 * SECOND)))
        funds.check()


def test_a_long_funding_message_is_split_and_each_part_tells_from_where_to_resume() -> None:
    """The server time of a full part is that of its last change; that of the last part is now."""
    world = assuming(stream__heartbeat="0s")
    account = firm(world.simulation, 1).users[0].account
    since = world.now + 1
    world.advance_to(since)
    for number in range(502):
        world.operate("account.fund", account, amount="1")
        if number == 250:
            world.advance_to(since + SECOND)
    world.advance_to(since + 2 * SECOND)
    request = wire.CreateFundingTransactionSubscriptionRequest(resume_time=since)
    stream = rpc_of(world, 0).stream("FundingAPI.CreateFundingTransactionSubscription", request)
    reported = [(len(frame.changes), frame.server_time) for frame in stream.take()]
    assert reported == [(500, since + SECOND), (2, since + 2 * SECOND)]


def test_a_funding_heartbeat_tells_from_where_to_resume() -> None:
    """It is the instant of the first change that was not sent yet, or now if there is none."""
    world = assuming(stream__heartbeat="6s", funding__stream_poll="20s")
    account = firm(world.simulation, 1).users[0].account
    request = wire.CreateFundingTransactionSubscriptionRequest()
    stream = rpc_of(world, 0).stream("FundingAPI.CreateFundingTransactionSubscription", request)
    opened = world.now
    world.advance("6s")
    for wait in ("1s", "2s"):
        world.advance(wait)
        world.operate("account.fund", account, amount="1")
    world.advance("10s")
    times = [frame.server_time - opened for frame in stream.take() if not frame.changes]
    assert times == [6 * SECOND, 7 * SECOND, 7 * SECOND]


def test_a_stream_opened_after_the_period_became_shorter_keeps_to_the_shorter_one() -> None:
    world = assuming(stream__heartbeat="30s")
    first = orders(world)
    world.assume("stream.heartbeat", "4s")
    second = orders(world, user=1)
    first.take(), second.take()
    world.advance("4s")
    assert (len(first.frames), len(second.frames)) == (0, 1)
    world.advance("26s")
    assert (len(first.frames), len(second.frames)) == (1, 7)
