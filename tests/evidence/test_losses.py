"""A row that a stream lost is missed and a number that one surface shows otherwise is told, in what
real sessions showed; and no legal history contradicts itself, whenever its clients joined.
"""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import pytest
from msgspec import json

from sim.contract.messages import exchange_v1 as wire
from sim.core.model.refusals import Refusal
from sim.evidence.recording.reading import read_recording
from sim.evidence.witness import journal, witness_run
from sim.evidence.witness.observation import ClientObservation, observed
from sim.evidence.witness.witness import judge
from sim.read.replay import lines_leading_to, simulation_of
from sim.run.client.client import RpcError
from tests.evidence import fresh_session as fresh
from tests.evidence.crowd import Crowd, read
from tests.journeys import account, operate

Observations = list[ClientObservation]
STEPS = 25
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
    with suppress(RpcError):
        for user in (0, 1):
            name = account(crowd.clients.world, user)
            requests = (
                ("FundingAPI.GetAccountBalanceLedger", wire.GetAccountBalanceLedgerRequest),
                ("PositionAPI.GetPositionLedger", wire.GetPositionLedgerRequest),
            )
            for operation, request in requests:
                crowd.clients.rpc.call(operation, request(account=name))


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


def contradictions_of(observations: Observations) -> dict[str, list[str]]:
    """The contradictions of each check that has some."""
    return {
        name: [contradiction.sentence for contradiction in check.contradictions]
        for name, check in judge(iter(observations)).checks.items()
        if check.count
    }


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
    observation = copy.copy(observations[index])
    observation.body = copy.deepcopy(observation.body)
    change(observation.body)
    return [*observations[:index], observation, *observations[index + 1 :]]


def test_a_session_contradicts_itself_nowhere(session: Observations) -> None:
    assert contradictions_of(session) == {}


# ---- rows that are lost


class Lost(NamedTuple):
    """A row of a frame."""

    index: int
    number: int
    row: Any
    stream: int

    @property
    def at(self) -> str:
        """When it happened; "" where it does not say."""
        if self.row.get("state", "NEW")[-3:] != "NEW":
            return ""  # of a later state of a trade nothing says when it began
        times = [self.row.get(name) for name in ("transactTime", "changeTime", "updateTime")]
        times += [holder["transactTime"] for holder in within(self.row, "transactTime")]
        return next((str(time) for time in times if time), "")


def rows_of(body: Any) -> list[Any]:
    """The rows of a frame that say what had happened."""
    if not isinstance(body, dict) or "snapshot" in body:
        return []
    lists = [holder[name] for name in ROWS for holder in within(body, name)]
    return next((rows for rows in lists if isinstance(rows, list)), [])


def lossy(session: Observations, rpc: str) -> list[Lost]:
    """The rows of a stream that something else shows, too."""
    lost = [
        Lost(index, number, row, observation.stream_number)
        for index, observation in enumerate(session)
        if observation.kind == "frame" and observation.operation.rpc == rpc
        for number, row in enumerate(rows_of(observation.body))
    ]
    if isinstance(session[-1].ended, str):
        lost = [row for row in lost if _is_between(row, lost)]
    return [row for row in lost if _is_shown_elsewhere(session, row)]


def _is_between(lost: Lost, rows: list[Lost]) -> bool:
    """Whether a stream of a recording showed something earlier, and something later. A first frame
    may have come before it, and a last one may still be on its way.
    """
    times = [row.at for row in rows if row.stream == lost.stream]
    return min(times) < lost.at < max(times)


def _is_shown_elsewhere(session: Observations, lost: Lost) -> bool:
    name, state = lost.row.get("id"), lost.row.get("state", "")
    if not name:
        return True  # fills and the ledger show what makes a position
    return any(
        holder["id"] == name and holder.get("state", "") == state
        for index, observation in enumerate(session)
        if index != lost.index
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
    for lost in Random(rpc).sample(rows, min(12, len(rows))):
        rest = changed(session, lost.index, lambda body, n=lost.number: rows_of(body).pop(n))
        assert contradictions_of(rest), (rpc, lost)


@pytest.mark.parametrize("payload", ["trade", "positionSubscription", "accountBalancesUpdate"])
def test_a_frame_that_a_socket_lost_is_missed(session: Observations, payload: str) -> None:
    frames = [
        index
        for index, observation in enumerate(session)
        if observation.kind == "frame" and payload in (observation.body or ())
    ]
    if isinstance(session[-1].ended, str):
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
    ("rpc", "name"),
    [
        *(("SearchExecutions", name) for name in ("lastPx", "commissionNotionalCollected")),
        *(("CreateDropCopySubscription", name) for name in ("lastShares", "cumQty")),
        ("CreateTradeCaptureReportSubscription", "commissionNotionalCollected"),
        ("CreateOrderSubscription", "commissionNotionalTotalCollected"),
        ("SearchOrders", "avgPx"),
        ("SearchTrades", "lastPx"),
        ("ListActivities", "lastShares"),
        ("PrivateStream", "cumQuantity"),
        ("ListAccountPositions", "netPosition"),
        ("ListAccountPositions", "realized"),
        ("GetAccountBalance", "balance"),
        ("GetBalances", "currentBalance"),
        ("GetPositionLedger", "quantityChange"),
        ("GetAccountBalanceLedger", "afterBalance"),
        ("CreatePositionChangeSubscription", "netPosition"),
    ],
)
def test_a_number_that_one_surface_shows_otherwise_is_told(
    session: Observations, rpc: str, name: str
) -> None:
    numbers = list(lies(session, rpc, name))
    if rpc == "GetBalances" and isinstance(session[-1].ended, str):
        numbers = numbers[:-1]  # the next frame of a recording may be on its way
    if not numbers:
        pytest.skip("nothing of the kind happened in this session")
    for index, number in Random(name).sample(numbers, min(4, len(numbers))):
        rest = changed(session, index, lambda body, n=number: lie(name, n, body))
        assert contradictions_of(rest), (rpc, name, index)


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


def test_who_joins_after_a_bust_sees_no_contradiction(tmp_path: Path) -> None:
    crowd = Crowd(tmp_path / "crowd.ndjson", seed=1)
    clients = crowd.clients
    crowd.close()

    def trade() -> None:
        clients.order(clients.seller, "sell", 44, 5)
        clients.order(clients.buyer, "buy", 44, 3)
        clients.world.advance("1s")

    trade()
    operate(clients.world, "trade.bust", crowd.simulation.exchange.trading.trades[-1].id)
    crowd.follow()
    trade()
    money(crowd)
    operate(clients.world, "trade.bust", crowd.simulation.exchange.trading.trades[-1].id)
    trade()
    money(crowd)
    witness = witness_run(crowd.simulation)
    assert [contradiction.sentence for contradiction in witness.contradictions] == []
    assert witness.checks["position sum"].applied and witness.checks["position ledger"].applied
