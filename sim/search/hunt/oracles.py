"""What must hold after every input: the invariants, and the conformance of answers with our own
contract.

Single answers are checked here. Whether answers agree with each other is checked by `relations` and
by the witness.
"""

from __future__ import annotations

from collections.abc import Iterator
from io import BytesIO
from typing import Any

from msgspec import DecodeError, json

from sim.api.pipeline.error_mapping import EDGE_BODIES
from sim.api.pipeline.inputs import Outcome, Reply, RestCall, RpcCall
from sim.api.pipeline.request_log import LoggedCall
from sim.contract.contract import load_contract
from sim.core.invariants import changes, moment, violations
from sim.evidence.validation.error_forms import form_of, misfits, plain_form
from sim.evidence.validation.shapes import shape_of
from sim.kernel.journal_reader import read_journal
from sim.read.replay import Divergence, simulation_of, verify
from sim.run.simulation import Simulation
from sim.search.hunt.troubles import Trouble, replay_trouble

WHOLE_EVERY = 16  # inputs between complete checks of orders and books
_CHUNKS_MAX = 200  # parts of a download that are read
_SHOWN_MAX = 3  # differences reported for one answer


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
        replies = self._simulation.engine.pipeline.replies
        if status >= 400 and not (replies.at_edge and body in EDGE_BODIES):
            plain = isinstance(body, str) and plain_form(plane, status) is not None
            wrong = [] if plain else misfits(body, form_of(plane, status))
        elif status >= 400:
            wrong = []
        else:
            operation = load_contract().by_name(name)
            dialect = replies.dialect(plane)
            wrong = shape_of(operation.response, dialect).check(body) or []
        for misfit in wrong[:_SHOWN_MAX]:
            difference = f"{misfit.recorded!r}, not {misfit.own!r}"
            text = f"{name} on {plane}: {status}, {misfit.where}: {difference}"
            yield Trouble("conformance", f"{name} {misfit.where}", text)


def read_download(outcome: Outcome) -> None:
    """Read the parts of a download, as a client does."""
    if outcome.reply is not None and outcome.reply.chunks is not None:
        for _ in zip(range(_CHUNKS_MAX), outcome.reply.chunks, strict=False):
            pass


def replays(journal: bytes) -> tuple[list[Trouble], bytes]:
    """Return a difference if a replay of a journal does not repeat the run, and its own journal."""
    again = BytesIO()
    header, lines = read_journal(BytesIO(journal))
    try:
        verify(simulation_of(header, journal=again), lines)
    except Divergence as difference:
        return [replay_trouble(difference)], again.getvalue()
    return [], again.getvalue()
