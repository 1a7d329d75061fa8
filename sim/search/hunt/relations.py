"""Calls that must agree with each other, wherever they come from: from a move that asks for it
(`agreement`), from a journal, from a scenario.

As long as nothing changes the exchange, its reads are questions about one state. A refused call
changes nothing, so it does not end the state.

| Relation | Must hold |
|---|---|
| same question | the same read in the same state has the same answer |
| protocols | REST and gRPC give the same answer |
| pages, directions, ranges | all reads of a list show parts of one list (`lists`) |
| undone | a trade that was busted at once leaves cash, positions and books as they were |
| new token | a token is accepted at the instant of its issue |
| replayed frames | a resumed stream repeats what a live one sent (`replayed`) |
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import json

from sim.api.pipeline.inputs import (
    Advanced,
    Controlled,
    Input,
    Outcome,
    Reply,
    RestCall,
    RpcCall,
    Stepped,
)
from sim.api.pipeline.request_log import LoggedCall
from sim.api.pipeline.verification import bearer
from sim.contract.contract import load_contract
from sim.core.catalogue.quirks import CAMEL_CASE_QUERY_IGNORED
from sim.core.model.enums import DONE_STATES, ExecutionType, TradeState
from sim.core.model.events import Executed, RuleApplied, Traded
from sim.core.model.refusals import Refusal
from sim.evidence.validation.error_forms import statuses_of
from sim.kernel.instants import Instant
from sim.read.record import facts_of
from sim.run.actors.script.step_order import STEP_TIMER
from sim.run.simulation import Simulation
from sim.search.hunt.lists import ReadLists
from sim.search.hunt.questions import READS, ClientRead
from sim.search.hunt.troubles import Trouble

_KEPT = 24  # questions of one state
# Statuses that a busy or disturbed exchange may answer to one call and not to the next.
_PASSING = frozenset((429, 500, 503, 504))
_PASSING_CODES = frozenset((4, 8, 13, 14))
# Reads of cash, positions and statistics.
_POSITIONS = "PositionAPI.ListAccountPositions"
_UNDONE = (
    _POSITIONS,
    "PositionAPI.GetAccountBalance",
    "PositionAPI.ListAccountBalances",
    "RetailAccountAPI.GetBalances",
    "ReportAPI.GetTradeStats",
)


class Relations:
    """Judges the calls of one run."""

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation
        self._asked: list[ClientRead] = []  # in the present state
        self._lists = ReadLists()
        self._undoing: Undoing | None = None
        self._now = simulation.now
        self._issued: tuple[str, Instant] = "", 0  # the latest token

    def after_input(self, input_: Input, outcome: Outcome) -> Iterator[Trouble]:
        """Yield how a call contradicts others, and note what it asked or changed."""
        before, self._now = self._now, self._simulation.now
        if before == self._now and only_of_script(input_, outcome):
            return
        if isinstance(input_, RestCall | RpcCall) and outcome.reply is not None:
            entry = self._simulation.log.last(outcome.seq)
            if entry is not None:
                yield from self._token(input_, outcome, entry)
                disturbed = _is_disturbed(outcome, entry)
                if entry.operation.rpartition(".")[2].startswith(READS):
                    if not disturbed:
                        yield from self._ask(input_, outcome.reply, entry)
                    return
                if not disturbed and _is_refused(outcome.reply):
                    return
        if isinstance(input_, Controlled) and isinstance(outcome.value, Refusal):
            return
        self._change(outcome)

    # ---- states

    def _change(self, outcome: Outcome) -> None:
        """Begin another state."""
        if self._undoing is None and any(_undoable(question) for question in self._asked):
            self._undoing = Undoing(self._asked)
        self._asked, self._lists = [], ReadLists()
        if self._undoing is not None and not self._undoing.goes_on(outcome):
            self._undoing = None

    def _ask(self, call: RestCall | RpcCall, reply: Reply, entry: LoggedCall) -> Iterator[Trouble]:
        if reply.pending_on or reply.chunks is not None or not entry.operation:
            return
        if reply.status in _PASSING or reply.code in _PASSING_CODES:
            return
        operation = load_contract().by_name(entry.operation)
        question = ClientRead(operation, call, reply, self._simulation.now)
        for earlier in self._asked:
            if earlier.operation is operation and earlier.caller == question.caller:
                yield from _compared(earlier, question)
        if question.ok:
            yield from self._lists.add(question)
        if self._undoing is not None and self._undoing.is_complete:
            yield from self._undoing.compare(question)
        self._asked.append(question)
        del self._asked[:-_KEPT]

    # ---- tokens

    def _token(
        self, call: RestCall | RpcCall, outcome: Outcome, entry: LoggedCall
    ) -> Iterator[Trouble]:
        reply, now = outcome.reply, self._simulation.now
        assert reply is not None
        refused = reply.status == 401 if isinstance(call, RestCall) else reply.code == 16
        if refused and not entry.fault and (call.credential.key, now) == self._issued:
            text = f"{entry.operation} refuses a token at the instant of its issue: {reply.message}"
            yield Trouble("agreement", "new token", text)
        if isinstance(call, RestCall) and call.plane == "auth" and reply.status == 200:
            answer = json.decode(reply.body)
            if "access_token" in answer:
                self._issued = bearer(f"Bearer {answer['access_token']}").key, now


class Undoing:
    """Trades after some questions, which busts undo. `is_complete` if all of them were."""

    def __init__(self, asked: list[ClientRead]) -> None:
        self._asked = [question for question in asked if _undoable(question)]
        self._trades: set[str] = set()
        self._open: dict[str, bool] = {}  # the new orders, and whether they still work
        self._traded = False

    @property
    def is_complete(self) -> bool:
        """Whether every trade was busted, and no order of these is left."""
        return self._traded and not self._trades and not any(self._open.values())

    def goes_on(self, outcome: Outcome) -> bool:
        """Take the next input. Return whether it still only trades or undoes trades."""
        if outcome.fired or not outcome.events:
            return False
        for event in outcome.events:
            if isinstance(event, Traded):
                self._traded = True
                change = self._trades.add if event.state is TradeState.NEW else self._trades.discard
                change(event.trade.id)
            elif isinstance(event, Executed):
                order = event.execution.order
                if event.rule == "M12":
                    return False  # a stop waits, or an earlier one was triggered
                if event.execution.type is ExecutionType.NEW:
                    self._open[order.id] = True
                elif order.id not in self._open:
                    return False  # an earlier order traded or ended
                self._open[order.id] = order.state not in DONE_STATES
        return True

    def compare(self, question: ClientRead) -> Iterator[Trouble]:
        """Yield how an answer differs from that before the trades."""
        name = question.operation.name
        for earlier in self._asked:
            if _key(earlier) == _key(question) and _held(earlier) != _held(question):
                text = f"{name}: not what it was before trades that were busted"
                yield Trouble("agreement", f"{name} undone", text)


def _held(question: ClientRead) -> Any:
    """Return what an answer says of cash, positions or statistics.

    Of positions, that is what they hold and what they took: a bust is a closing trade for the
    average cost (rules M42, P9), and bought and sold quantities only grow (P10).
    """
    if question.operation.name != _POSITIONS:
        return {name: part for name, part in question.answer.items() if name != "updateTime"}
    rows = (row for row in question.answer["positions"] if row["netPosition"] != "0")
    return [
        (row["symbol"], row["netPosition"], int(row["cost"]) - int(row["realized"])) for row in rows
    ]


def _undoable(question: ClientRead) -> bool:
    return question.ok and question.operation.name in _UNDONE


def only_of_script(input_: Input, outcome: Outcome) -> bool:
    """Return whether an input only begins a step of a scenario."""
    if isinstance(input_, Advanced):
        return not outcome.events and all(fired.timer == STEP_TIMER for fired in outcome.fired)
    return isinstance(input_, Stepped)


def _is_disturbed(outcome: Outcome, entry: LoggedCall) -> bool:
    """Return whether a fault or a quirk had an effect on a call."""
    quirks = (
        facts_of(event).get("quirk") for event in outcome.events if isinstance(event, RuleApplied)
    )
    disturbs = any(quirk not in (None, CAMEL_CASE_QUERY_IGNORED.name) for quirk in quirks)
    return bool(entry.fault or outcome.injections or disturbs)


def _is_refused(reply: Reply) -> bool:
    passing = reply.status in _PASSING or reply.code in _PASSING_CODES
    return (reply.status >= 400 or reply.code > 0) and not passing and not reply.pending_on


# ---- two answers


def _compared(earlier: ClientRead, later: ClientRead) -> Iterator[Trouble]:
    name = later.operation.name
    if _key(earlier) == _key(later):
        before, after = earlier.reply, later.reply
        same = (before.status, before.code, before.body) == (after.status, after.code, after.body)
        if not same and (not later.ok or not earlier.ok or earlier.answer != later.answer):
            text = f"{name}: the same question in the same state has two answers"
            yield Trouble("agreement", f"{name} again", text)
    elif {earlier.plane, later.plane} == {"exchange", "grpc"}:
        if earlier.request is not None and earlier.request == later.request:
            pair = (earlier, later) if earlier.over_rest else (later, earlier)
            yield from disagreement(*pair)


def _key(question: ClientRead) -> tuple[Any, ...]:
    """What is asked, as it was written."""
    call = question.call
    if isinstance(call, RpcCall):
        return question.operation.name, question.caller, call.message
    return question.caller, call.plane, call.verb, call.path, call.query, call.body, call.form


def disagreement(over_rest: ClientRead, over_grpc: ClientRead) -> Iterator[Trouble]:
    """Yield how two replies to the same read over two protocols differ."""
    name, status, code = over_rest.operation.name, over_rest.reply.status, over_grpc.reply.code
    if code:
        # The operation is not served on this date
        absent = code == 12 and status == 404
        if not absent and status not in statuses_of(code):
            text = f"{name}: REST answers {status}, gRPC code {code}"
            yield Trouble("agreement", name, text)
    elif not over_rest.ok:
        yield Trouble("agreement", name, f"{name}: REST answers {status}, gRPC OK")
    else:
        for path in differences(over_rest.answer, over_grpc.answer):
            yield Trouble("agreement", f"{name} {path}", f"{name}: REST and gRPC differ at {path}")
            return


def differences(left: Any, right: Any, path: str = "") -> Iterator[str]:
    """Yield the paths at which two JSON values differ."""
    if isinstance(left, dict) and isinstance(right, dict):
        for key in sorted({*left, *right}):
            inner = f"{path}.{key}" if path else key
            if key not in left or key not in right:
                present = left.get(key, right.get(key))
                if present not in (None, "", 0, "0", False, [], {}):
                    yield inner
            else:
                yield from differences(left[key], right[key], inner)
    elif isinstance(left, list) and isinstance(right, list) and len(left) == len(right):
        for pair in zip(left, right, strict=True):
            yield from differences(*pair, f"{path}[]")
    elif left != right:
        yield path or "the whole answer"
