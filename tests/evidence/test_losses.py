"""A row that a stream lost is missed and a number that one surface shows otherwise is told, in what
real sessions showed; and no legal history contradicts itself, whenever its clients joined.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import suppress
from copy import deepcopy
from decimal import Decimal
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pytest
from msgspec import json
from msgspec.structs import replace

from sim.contract.messages import exchange_v1 as wire
from sim.core.model.refusals import Refusal
from sim.evidence.recording.reading import read_recording
from sim.evidence.witness import journal, witness_run
from sim.evidence.witness.check import Contradiction
from sim.evidence.witness.observation import ClientObservation, observed
from sim.evidence.witness.witness import judge
from sim.read.replay import lines_leading_to, simulation_of
from sim.run.client.client import RpcError
from tests.evidence import fresh_session as fresh
from tests.evidence.crowd import Crowd, read
from tests.journeys import account, operate

Observations = list[ClientObservation]
STEPS = 25
TIMES = ("transactTime", "changeTime", "updateTime")
ROWS = ("executions", "tradeCaptureReports", "positionChanges", "positions", "entries")


class Still(Crowd):
    """A crowd whose clock stands: everything happens at one instant."""

    def wait(self, *spans: str) -> None:
        """Let no time pass."""


def money(crowd: fresh.Fresh) -> None:
    """Reads of balances, positions and ledgers, as both kinds of client have them."""
    fresh.money(crowd)
    crowd.wait("1s")
    read(crowd)
    call = crowd.clients.rpc.call
    with suppress(RpcError):
        for user in (0, 1):
            name = account(crowd.clients.world, user)
            call(
                "FundingAPI.GetAccountBalanceLedger",
                wire.GetAccountBalanceLedgerRequest(account=name),
            )
            call("PositionAPI.GetPositionLedger", wire.GetPositionLedgerRequest(account=name))


@pytest.fixture(scope="module", params=["run", "still run", "recording"])
def session(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Observations:
    """What clients saw of a session in which everything is read at the end too."""
    file = tmp_path_factory.mktemp("losses") / "crowd.ndjson"
    crowd = (Still if request.param == "still run" else Crowd)(file, seed=4)
    for steps in (0, STEPS, 5):
        crowd.go(steps)
        money(crowd)
    if request.param == "recording":
        return list(observed(read_recording(file).entries))
    header, lines = lines_leading_to(crowd.simulation)
    run = journal.observed(simulation_of(header), lines)
    return [observation for observation in run if isinstance(observation, ClientObservation)]


def is_recording(session: Observations) -> bool:
    """Whether it was seen over a network, where frames are on their way."""
    return isinstance(session[-1].ended, str)


def contradictions_of(observations: Observations) -> list[Contradiction]:
    """What contradicts itself in what clients saw."""
    return judge(observations).contradictions


def within(body: Any, name: str) -> Iterator[Any]:
    """What holds a member of a name in a message, at any depth."""
    if isinstance(body, dict):
        if name in body:
            yield body
        for value in body.values():
            yield from within(value, name)
    elif isinstance(body, list):
        for value in body:
            yield from within(value, name)


def changed(
    observations: Observations, index: int, change: Callable[[Any], object]
) -> Observations:
    """What clients saw, with one message changed."""
    body = deepcopy(observations[index].body)
    change(body)
    observation = replace(observations[index], body=body)
    return [*observations[:index], observation, *observations[index + 1 :]]


def test_a_session_contradicts_itself_nowhere(session: Observations) -> None:
    assert contradictions_of(session) == []


# ---- rows that are lost


def rows_of(body: Any) -> list[Any]:
    """The rows of a frame that say what had happened."""
    if not isinstance(body, dict) or "snapshot" in body:
        return []
    lists = [holder[name] for name in ROWS for holder in within(body, name)]
    return next((rows for rows in lists if isinstance(rows, list)), [])


def lose(number: int, body: Any) -> None:
    """Take a row out of a frame."""
    rows_of(body).pop(number)


def instant(row: Any) -> str:
    """When a row happened; "" of a later state of a trade, which does not say."""
    if not row.get("state", "NEW").endswith("NEW"):
        return ""
    times = [holder[name] for name in TIMES for holder in within(row, name)]
    return next((str(time) for time in times if time), "")


def lossy(session: Observations, rpc: str) -> list[tuple[int, int]]:
    """The rows of a stream that something else shows, too: message, and number in it. Those of a
    recording lie between others, since the first may have come before the stream, and the last may
    be on its way.
    """
    rows, times = [], defaultdict[int, list[str]](list)
    for index, observation in enumerate(session):
        if observation.kind == "frame" and observation.operation.rpc == rpc:
            for number, row in enumerate(rows_of(observation.body)):
                times[observation.stream_number].append(instant(row))
                rows.append((index, number, row, times[observation.stream_number]))
    return [
        (index, number)
        for index, number, row, others in rows
        if not is_recording(session) or min(others) < instant(row) < max(others)
        if _is_shown_elsewhere(session, index, row)
    ]


def _is_shown_elsewhere(session: Observations, index: int, row: Any) -> bool:
    return "id" not in row or any(  # fills and the ledger show what makes a position
        holder["id"] == row["id"] and holder.get("state") == row.get("state")
        for other, observation in enumerate(session)
        if other != index
        for holder in within(observation.body, "id")
    )


@pytest.mark.parametrize(
    "rpc",
    [
        "CreateDropCopySubscription",
        "CreateOrderSubscription",
        "CreateTradeCaptureReportSubscription",
        "CreatePositionChangeSubscription",
    ],
)
def test_a_row_that_a_stream_lost_is_missed_if_something_else_shows_it(
    session: Observations, rpc: str
) -> None:
    rows = lossy(session, rpc)
    assert rows
    for index, number in Random(rpc).sample(rows, min(12, len(rows))):
        rest = changed(session, index, partial(lose, number))
        assert contradictions_of(rest), (rpc, index, number)


@pytest.mark.parametrize("payload", ["trade", "positionSubscription", "accountBalancesUpdate"])
def test_a_frame_that_a_socket_lost_is_missed(session: Observations, payload: str) -> None:
    frames = [
        index
        for index, observation in enumerate(session)
        if observation.kind == "frame" and payload in (observation.body or ())
    ]
    if is_recording(session):
        frames = frames[1:-1]
    missed = [
        bool(contradictions_of([*session[:index], *session[index + 1 :]]))
        for index in Random(payload).sample(frames, min(8, len(frames)))
    ]
    assert sum(missed) >= len(missed) - 1, missed


# ---- numbers that one surface shows otherwise


def another(value: Any) -> Any:
    """A number of the same form, one greater."""
    if isinstance(value, dict):
        name = "value" if "value" in value else "currentBalance"
        return {**value, name: another(value[name])}
    return str(Decimal(value) + 1) if isinstance(value, str) else value + 1


def lies(session: Observations, rpc: str, name: str) -> Iterator[tuple[int, int]]:
    """The numbers of a name in the messages of an operation: message, and number in it. Those of
    executions and orders only if something else shows them, and those of fills.
    """
    counts = Counter(
        holder["id"] for item in session for holder in within(item.body, "id") if holder["id"]
    )
    for index, observation in enumerate(session):
        if observation.operation.rpc == rpc:
            for number, holder in enumerate(within(observation.body, name)):
                once = counts[holder["id"]] == 1 if holder.get("id") else False
                if not once and _amount(holder[name]) and holder.get("lastShares") != "0":
                    yield index, number


def _amount(value: Any) -> Any:
    value = value.get("value", value.get("currentBalance")) if isinstance(value, dict) else value
    return Decimal(value) if value else 0


def lie(name: str, number: int, body: Any) -> None:
    """Change a number of a name in a message."""
    holder = list(within(body, name))[number]
    holder[name] = another(holder[name])


@pytest.mark.parametrize(
    "number",
    [
        *("SearchExecutions lastPx", "SearchExecutions commissionNotionalCollected"),
        *("CreateDropCopySubscription lastShares", "CreateDropCopySubscription cumQty"),
        "CreateTradeCaptureReportSubscription commissionNotionalCollected",
        "CreateOrderSubscription commissionNotionalTotalCollected",
        *("SearchOrders avgPx", "SearchTrades lastPx", "ListActivities lastShares"),
        *("PrivateStream cumQuantity", "ListAccountPositions netPosition"),
        *("ListAccountPositions realized", "GetAccountBalance balance"),
        *("GetBalances currentBalance", "GetPositionLedger quantityChange"),
        "GetAccountBalanceLedger afterBalance",
        "CreatePositionChangeSubscription netPosition",
    ],
)
def test_a_number_that_one_surface_shows_otherwise_is_told(
    session: Observations, number: str
) -> None:
    rpc, name = number.split()
    numbers = list(lies(session, rpc, name))
    if rpc == "GetBalances" and is_recording(session):
        numbers = numbers[:-1]  # the next frame of a recording may be on its way
    if not numbers:
        pytest.skip("nothing of the kind happened in this session")
    for index, which in Random(name).sample(numbers, min(4, len(numbers))):
        rest = changed(session, index, partial(lie, name, which))
        assert contradictions_of(rest), index


# ---- legal histories


class MarketDay(Crowd):
    """A crowd whose clients join at random moments, and an exchange that busts trades, settles and
    corrects, halts, and goes into maintenance.
    """

    def follow(self) -> None:
        """Open a stream of each kind with a chance."""
        if self.draw.random() < 0.5:
            super().follow()

    def operated(self) -> None:
        """Do what operators do."""
        world, symbol = self.clients.world, self.clients.market.symbol
        trades = self.simulation.exchange.trading.trades
        act = self.draw.choice(
            ("bust", "bust", "bust", "join", "leave", "unsubscribe", "halt", "settle", "window")
        )
        if act == "bust" and len(trades):
            operate(world, "trade.bust", self.draw.choice(list(trades)[-4:]).id)
        elif act == "join":
            super().follow()
        elif act == "leave":
            self.close()
            self.sockets.clear()
        elif act == "unsubscribe":
            for socket in self.sockets:
                if socket.end is None:
                    kind = self.draw.choice(("ACCOUNT_BALANCE", "ORDER", "POSITION", "TRADE"))
                    socket.send(json.encode({"unsubscribe": {"requestId": kind}}))
        elif act == "halt":
            operate(world, "instrument.state", symbol, state="HALTED")
            operate(world, "instrument.state", symbol, state="OPEN")
        elif act == "settle" and self.draw.random() < 0.3:
            operate(world, "instrument.settle", symbol, price=self.draw.choice(("0", "1")))
        elif act == "window":
            operate(world, "maintenance.add", begins="+1s", lead="0s", length="5s")

    def day(self, steps: int) -> None:
        """Random actions of clients and of operators."""
        for _ in range(steps):
            self.go(2)
            for act in (money, MarketDay.operated):
                if self.draw.random() < 0.4:
                    with suppress(RpcError, Refusal):
                        act(self)
            if self.draw.random() < 0.05:
                self.simulation.rewind(seq=self.simulation.seq - 3)
                self.streams.clear()
                self.sockets.clear()
                self.copy = None


@pytest.mark.parametrize("seed", range(1, 9))
def test_a_legal_history_contradicts_itself_nowhere(seed: int, tmp_path: Path) -> None:
    crowd = MarketDay(tmp_path / "day.ndjson", seed)
    crowd.day(12)
    witness = witness_run(crowd.simulation)
    assert [contradiction.sentence for contradiction in witness.contradictions] == []
    assert not witness.illegible
