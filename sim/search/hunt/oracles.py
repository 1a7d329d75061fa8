"""What must hold after every input: the invariants, and the conformance of answers with our own
contract.

Single answers are checked here. Whether answers are consistent is checked by the witness at the end
of an episode.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import DecodeError, Struct, json

from sim.api.pipeline.inputs import Outcome, Reply, RestCall, RpcCall
from sim.api.pipeline.request_log import LoggedCall
from sim.contract.contract import load_contract
from sim.core.invariants import changes, moment, violations
from sim.evidence.validation.error_forms import form_of, misfits, plain_form
from sim.evidence.validation.shapes import shape_of
from sim.read.replay import Divergence, lines_leading_to, simulation_of, verify
from sim.run.simulation import Simulation

WHOLE_EVERY = 16  # inputs between complete checks of orders and books
KINDS = (
    *("invariant", "contradiction", "conformance", "internal error"),
    *("agreement", "twin", "replay"),
)
_SHOWN_MAX = 3  # differences reported for one answer


class Trouble(Struct, frozen=True):
    """Something that must not be: its kind, and a sentence.

    `subject` is what it is about: two troubles of the same kind and subject are one finding.
    """

    kind: str
    subject: str
    text: str

    def is_like(self, other: Trouble) -> bool:
        """Return whether both are the same finding."""
        return (self.kind, self.subject) == (other.kind, other.subject)


class Oracles:
    """Checks one simulation after each input."""

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation
        self._before = moment(simulation.exchange.trading)
        self._inputs = 0

    def after_input(self, input_: Any, outcome: Outcome) -> Iterator[Trouble]:
        """Yield what is wrong after an input."""
        yield from self._invariants()
        if isinstance(input_, RestCall | RpcCall) and outcome.reply is not None:
            entry = self._simulation.log.last(outcome.seq)
            if entry is not None and entry.seq == outcome.seq:
                yield from self._answer(input_, outcome.reply, entry, bool(outcome.injections))

    def at_the_end(self) -> Iterator[Trouble]:
        """Yield what is wrong at the end of an episode."""
        for broken in violations(self._simulation.exchange.trading):
            yield Trouble("invariant", broken.invariant, str(broken))

    def _invariants(self) -> Iterator[Trouble]:
        trading = self._simulation.exchange.trading
        self._inputs += 1
        changed = changes(trading, self._before) if self._inputs % WHOLE_EVERY else None
        self._before = moment(trading)
        for broken in violations(trading, changed):
            yield Trouble("invariant", broken.invariant, str(broken))

    def _answer(
        self, call: RestCall | RpcCall, reply: Reply, entry: LoggedCall, faulty: bool
    ) -> Iterator[Trouble]:
        name = entry.operation or "unknown path"
        why = entry.why
        failed = reply.status >= 500 if isinstance(call, RestCall) else reply.code in (2, 13)
        if failed and not faulty and not entry.fault and (why is None or not why.rule):
            yield Trouble("internal error", name, f"{name}: {entry.status} {reply.message}")
        if isinstance(call, RestCall) and not (faulty or entry.fault or reply.pending_on):
            yield from self._conformance(call, reply, name)

    def _conformance(self, call: RestCall, reply: Reply, name: str) -> Iterator[Trouble]:
        """Yield everything in an answer over HTTP that our contract does not describe."""
        plane, status = call.plane, reply.status
        if reply.chunks is not None or reply.content_type.startswith("text/csv"):
            return
        try:
            body = json.decode(reply.body) if reply.content_type == "application/json" else ""
        except DecodeError:
            yield Trouble("conformance", name, f"{name} on {plane}: {status} is not JSON")
            return
        if status >= 400:
            plain = isinstance(body, str) and plain_form(plane, status) is not None
            wrong = [] if plain else misfits(body, form_of(plane, status))
        else:
            operation = load_contract().by_name(name)
            dialect = self._simulation.engine.pipeline.replies.dialect(plane)
            wrong = shape_of(operation.response, dialect).check(body) or []
        for misfit in wrong[:_SHOWN_MAX]:
            difference = f"{misfit.recorded!r}, not {misfit.own!r}"
            text = f"{name} on {plane}: {status}, {misfit.where}: {difference}"
            yield Trouble("conformance", f"{name} {misfit.where}", text)


def replays(simulation: Simulation) -> Iterator[Trouble]:
    """Yield a difference if a replay of the journal, including forks, does not repeat the run."""
    try:
        header, lines = lines_leading_to(simulation)
        verify(simulation_of(header), lines)
    except Divergence as difference:
        text = f"input {difference.number - 1}: {'; '.join(difference.lines())}"
        yield Trouble("replay", difference.part, text)
