"""The exchange of the pytest fixture: addresses and credentials for the client under test, and
clock, faults and logs for the test itself.

The exchange runs in a background thread; every access to its state goes through that thread.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NoReturn, TypeVar, cast
from urllib.parse import quote, urlencode

from sim.kernel.instants import Instant, format_instant, parse_span
from sim.read.commands import sim_command
from sim.read.layout import visible
from sim.testing import fuse
from sim.testing.clock import Clock, Moment, instant_of, open_grpc_channels
from sim.testing.control import Control, Fault
from sim.testing.control import ControlError as ControlError
from sim.testing.webhook_receiver import Webhooks

__tracebackhide__ = True  # pytest shows the line of the caller

if TYPE_CHECKING:
    from sim.evidence.witness import Witness
    from sim.oracle.verdict import AuditVerdict
    from sim.read.conformance import ConformanceReport
    from sim.run.simulation import Simulation
    from sim.server.background import BackgroundInstance, BackgroundService
    from sim.server.console import Observer
    from sim.world.format.scenario import Scenario

T = TypeVar("T")

_CALLS_SHOWN = 12  # in the report of a failed test


class SymbolsByState(dict[str, list[str]]):
    """A mapping whose KeyError says which states there are."""

    def __missing__(self, state: str) -> NoReturn:
        __tracebackhide__ = True
        raise KeyError(f"no symbols in state {state!r}; states: {', '.join(self)}")


class ServedExchange:
    """An exchange on free loopback ports.

    `gateway`, `retail`, `exchange`, `auth` and `docs` are URLs, `grpc` is `host:port`, and
    `control` is a URL that can be called.
    """

    def __init__(
        self,
        scenario: Scenario,
        *,
        seed: int | None = None,
        journal: Path,
        observer: Observer | None = None,
        replayed: Simulation | None = None,
    ) -> None:
        from sim.server.background import serve_in_thread
        from sim.server.journal_file import open_journal

        fuse.arm()  # until `close`
        self._file: BinaryIO | None = open_journal(journal)
        running = serve_in_thread(
            scenario, seed=seed, journal=self._file, observer=observer, replayed=replayed
        )
        self._attach(running, journal)

    def _attach(self, running: BackgroundService | BackgroundInstance, journal: Path) -> None:
        self.running = running
        self.journal = journal
        self._forks: list[ServedExchange] = []
        at = running.addresses
        self.gateway, self.retail, self.exchange = at.gateway, at.retail, at.exchange
        self.auth, self.grpc, self.docs = at.auth, at.grpc, at.docs
        self.control = Control(at.control)
        self.clock = Clock(running)
        self.webhooks = Webhooks(self.control)

    # ---- for the client under test

    def __repr__(self) -> str:
        return f"<the exchange of this test: {self.ready['scenario']}, seed {self.ready['seed']}>"

    @cached_property
    def ready(self) -> dict[str, Any]:
        """Content of the ready file: addresses, credentials and symbols at the first use."""
        from sim.server.ready_file import ready_facts

        running, journal = self.running, str(self.journal)
        return running.call(lambda: ready_facts(running.simulation, running.addresses, journal))

    @property
    def firms(self) -> list[dict[str, Any]]:
        """Partner firms.

        Keys: firm, client_id, private_key_path, private_key_pem, audience, scopes,
        users, accounts, participants.
        """
        firms: list[dict[str, Any]] = self.ready["firms"]
        return firms

    @property
    def api_keys(self) -> list[dict[str, str]]:
        """Retail API keys: key_id, secret_key, account."""
        api_keys: list[dict[str, str]] = self.ready["api_keys"]
        return api_keys

    @property
    def symbols(self) -> dict[str, list[str]]:
        """Symbols by state at the start ("open", "pending", …), and "fractional"."""
        return SymbolsByState(self.ready["symbols"])

    # ---- for the test

    @property
    def seed(self) -> int:
        """Seed of the run; the same scenario, seed and calls give the same run."""
        return self.running.simulation.seed

    @property
    def now(self) -> datetime:
        """Virtual now, the same as `clock.now`."""
        return self.clock.now

    @property
    def digest(self) -> str:
        """Digest of the journal so far; equal digests mean equal runs."""
        return self._read(lambda simulation: simulation.digest)

    def at(self, moment: Moment, do: Callable[[], object]) -> None:
        """Call `do` when the clock reaches an instant on a move of the test.

        The moment is an RFC 3339 instant, an aware datetime, or a span from now such as "+30s".
        """
        if isinstance(moment, str) and moment.startswith("+"):
            at = self._instant() + parse_span(moment)
        else:
            at = instant_of(moment)
        self.clock.plan(at, do)

    def fault(self, operation: str = "", **rest: Any) -> Fault:
        """Inject a fault: `exchange.fault("SearchTrades", nth=3, status=503)`.

        The keys of a scenario's `match` (caller, symbol, frame, execution, attempts, nth, every,
        probability, plane, until, and `from_`) select what it matches; `times` and
        `ttl` limit its number and duration. All other keys are its `act`: status, code, message,
        delay, retry_after, reset, close, refuse, hang, half_close, slow_body, drop, duplicate,
        reorder, revoke, patch, handled. Raises ControlError for an invalid fault.
        """
        from sim.core.service.fault_spec import FaultMatch, FaultSpec

        body: dict[str, Any] = {"match": {"operation": operation} if operation else {}, "act": {}}
        for section in ("match", "act"):  # the form of a fault in a scenario
            body[section] |= rest.pop(section, {})
        for key, value in rest.items():
            name = key.rstrip("_")
            top, match = FaultSpec.__struct_fields__, FaultMatch.__struct_encode_fields__
            part = body if name in top else body["match" if name in match else "act"]
            part[name] = value
        return Fault(self.control, str(self.control("POST", "/faults", body)["id"]))

    def requests(
        self, *, operation: str = "", status: int = 0, caller: str = "", since: int = 0
    ) -> list[dict[str, Any]]:
        """Calls of clients with their answers, oldest first.

        Keys: seq, at, plane, operation, caller, status, code, explain. `since` is a position in the
        journal: earlier calls are left out.
        """
        filters: dict[str, Any] = {"operation": operation, "status": status}
        filters |= {"caller": caller, "since": since}
        return self._read(lambda simulation: simulation.requests(**filters))

    def script(self) -> list[dict[str, Any]]:
        """The steps of the scenario, as GET /_sim/v1/script shows them.

        Keys: n, name, at, where, kind, says, and state: pending, passed, failed or refused. A test
        in which a step failed or was refused fails, unless its marker says `steps="ignore"`.
        """
        from sim.run.actors.script.view import script_view

        rows = self._read(lambda simulation: script_view(simulation.script))["steps"]
        return cast(list[dict[str, Any]], rows)

    def history(
        self,
        *,
        kind: str | Sequence[str] = (),
        subject: str = "",
        caller: str = "",
        after: int = 0,
        branch: str = "",
    ) -> list[dict[str, Any]]:
        """Rows of history, one for each input, as in GET /history; all rows after `after`.

        Raises ControlError for an unknown kind, subject, caller or branch.
        """
        kinds = [kind] if isinstance(kind, str) else list(kind)
        named = {"subject": subject, "caller": caller, "branch": branch}
        query: dict[str, Any] = {name: text for name, text in named.items() if text}
        query |= {"kind": kinds, "limit": 1_000}
        rows: list[dict[str, Any]] = []
        start: int | None = after
        while start is not None:
            path = f"/history?{urlencode(query | {'after': start}, doseq=True)}"
            page = self.control("GET", path)
            rows += page["rows"]
            start = page["next"]
        return rows

    def record(self, seq: int, *, branch: str = "") -> dict[str, Any]:
        """Everything about an input, as in GET /history/{seq}: request and answer, events, frames,
        the explanation, and the rows that led to it.
        """
        record: dict[str, Any] = self.control("GET", f"/history/{seq}{_on(branch)}")
        return record

    def state_at(self, seq: int, view: str, *, branch: str = "") -> Any:
        """A view of the state right after an input; 0 is the start. The exchange
        does not change.
        """
        return self.control("GET", f"/history/{seq}/state/{view}{_on(branch)}")[view]

    def explain(self, subject: str) -> dict[str, Any] | None:
        """Why a call was refused (by its x-request-id), or why something is in its state.

        Subjects are an order id, "stream/7", an account, a symbol, "kyc/EXTERNAL_ID" and
        "webhook/EVENT_ID". None for an unknown subject.
        """
        from sim.read.explain import explain

        return self._read(lambda simulation: explain(simulation, subject))

    def conformance(self, *, caller: str = "", rules: tuple[str, ...] = ()) -> ConformanceReport:
        """Check the calls of clients so far against the documented rules for clients.

        `rules` limits the check to some of them. See `report.ok`,
        `report.broken()` and `report.lines()`.
        """
        from sim.read.conformance import check

        return self._read(lambda simulation: check(simulation, caller=caller, rules=rules))

    def witness(self) -> Witness:
        """Look for contradictions in what all clients have seen so far. The result has
        `.contradictions`, each with a sentence and the inputs that contradict each
        other, and `.checks`.
        """
        from sim.evidence.witness import witness_run

        return self._read(witness_run)

    def audit(self) -> AuditVerdict:
        """Hold everything so far against the law, as `sim audit` does.

        The result has `.disagreements`, each with a sentence, its input and its rule, and
        `.undecided`, the inputs that the law could not decide, by kind. Nothing is raised.
        """
        from sim.evidence.audit import audit_run

        return self._read(audit_run)

    def reset(self, seed: int | None = None) -> None:
        """Go back to the scenario's start. Earlier tokens are refused, and streams end."""
        self.running.run(self.running.host.reset(seed))

    # ---- snapshots, time travel, forks

    def snapshot(self, name: str) -> None:
        """Save the present moment under a name, for `restore`."""
        self.control("POST", f"/snapshots/{quote(name, safe='')}")

    def restore(self, name: str) -> None:
        """Go to a saved moment, back or forward. Streams end."""
        self.running.run(self.running.host.restore(name))

    def rewind(self, *, to: Moment | None = None, seq: int | None = None) -> str:
        """Go back to an instant, or to the moment after the input `seq`. Streams end.

        Returns the name of the new branch that begins there.
        """
        running = self.running
        return running.run(running.host.rewind(to=None if to is None else instant_of(to), seq=seq))

    def fork(self, seq: int | None = None) -> ServedExchange:
        """Serve a copy of this exchange in its present state, or in its state right after the input
        `seq`, on its own ports. Raises Refusal for an unknown input.

        The two exchanges are independent. Credentials and tokens are valid in both; open streams
        stay with this one. The copy closes with this exchange at the latest.
        """
        stem, suffix = self.journal.stem, self.journal.suffix
        journal = self.journal.with_name(f"{stem}-fork-{len(self._forks) + 1}{suffix}")
        copy = object.__new__(ServedExchange)
        copy._file = None  # the instance closes it
        copy._attach(self.running.fork(journal, seq), journal)
        self._forks.append(copy)
        return copy

    @contextmanager
    def freeze(self) -> Iterator[None]:
        """Let this process's wall clock follow virtual time inside a `with` block (freezegun).

        Raises RuntimeError while a gRPC channel is open in this process: native code measures its
        deadlines with a clock that does not move with Python's, so a deadline of one second would
        expire at once or never. Also raises RuntimeError unless the exchange's clock is manual.
        """
        if open_grpc_channels():
            raise RuntimeError(
                "freeze() would break the open gRPC channel of this process: its deadlines would"
                " fire at once or never. Close the channel first, or leave the wall clock alone:"
                " the exchange accepts clients whose clock differs from virtual now."
            )
        if self.running.host.driver.mode.mode != "manual":
            raise RuntimeError(
                "freeze() needs the manual clock; the others are paced by the wall clock that it"
                " stops"
            )
        from freezegun import freeze_time

        freezer = freeze_time(self.now, real_asyncio=True)
        frozen = freezer.start()
        self.clock._follow.append(frozen.move_to)
        try:
            yield
        finally:
            self.clock._follow.remove(frozen.move_to)
            freezer.stop()

    def close(self) -> None:
        """Stop serving, including forks. The journals remain."""
        for fork in self._forks:
            fork.close()
        self.running.stop()
        self.webhooks.close()
        if self._file is not None:
            self._file.close()
            fuse.disarm()

    def _instant(self) -> Instant:
        return self._read(lambda simulation: simulation.now)

    def _read(self, function: Callable[[Simulation], T]) -> T:
        """What a function returns of the simulation, in the thread of the exchange."""
        return self.running.call(lambda: function(self.running.simulation))

    def report(self) -> str:
        """The last calls that the exchange received; scenario, seed, instant and journal of the
        run; and the command that replays it.
        """
        from sim.read.explain.faults import idle_faults

        name, now = self.running.simulation.scenario.name, format_instant(self._instant())
        lines = (
            *self._last_calls(),
            *self._read(idle_faults),
            f"scenario {name}, seed {self.seed}, now {now}",
            f"journal {self.journal}",
            sim_command("replay", self.journal),
        )
        return "\n".join(map(visible, lines))

    def _last_calls(self) -> list[str]:
        logged_calls = self._read(lambda simulation: simulation.log.since(0))
        lines = [f"calls that the exchange saw: {len(logged_calls) or 'none'}"]
        if len(logged_calls) > _CALLS_SHOWN:
            lines[0] += f", the last {_CALLS_SHOWN} of them"
        for call in logged_calls[-_CALLS_SHOWN:]:
            status = call.code if call.plane == "grpc" else call.status
            why = f"  {sentence}" if (sentence := call.verdict.sentence) else ""
            at = format_instant(call.at)
            # The name is part of its address
            name = f"  {call.operation}" if call.plane != "grpc" else ""
            lines.append(f"  {at}  {call.plane:<8}  {call.address}  {status}{name}{why}")
        return lines


def _on(branch: str) -> str:
    return f"?{urlencode({'branch': branch})}" if branch else ""
