"""A served exchange as a test holds it: addresses and credentials for the client under test; clock,
faults and other people's activity for the test itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from functools import cached_property
from http.client import HTTPConnection
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO
from urllib.parse import quote, urlsplit

from msgspec import json

from sim.kernel.instants import (
    Instant,
    format_instant,
    from_datetime,
    parse_instant,
    parse_span,
    to_datetime,
)
from sim.testing.wall_clock import open_grpc_channels, warn_of_patched_time
from sim.testing.webhook_receiver import Received, WebhookReceiver

if TYPE_CHECKING:
    from sim.analysis.conformance import Report
    from sim.scenario.scenario import Scenario
    from sim.server.background import BackgroundInstance, BackgroundService

Moment = str | datetime
Length = str | timedelta

_MATCH = ("plane", "operation", "caller", "symbol", "nth", "every", "probability", "from", "until")
_WHOLE = ("times", "ttl")


class ControlError(Exception):
    """The control plane said no: HTTP status and the body it came with."""

    def __init__(self, status: int, body: Any) -> None:
        message = body.get("message", "") if isinstance(body, dict) else body
        remedy = body.get("remedy", "") if isinstance(body, dict) else ""
        super().__init__(f"{status}: {message}" + (f" ({remedy})" if remedy else ""))
        self.status = status
        self.body = body


class Control(str):
    """Address of the control plane; called, it makes a call there: `exchange.control("POST",
    "/instruments/x/settle", {"price": "1"})`.
    """

    def __call__(self, verb: str, path: str, body: dict[str, Any] | None = None) -> Any:
        """The decoded answer (text where it is no JSON). Raises ControlError on any status but 200."""
        connection = HTTPConnection(urlsplit(self).netloc)
        try:
            connection.request(
                verb, f"/_sim/v1{path}", json.encode(body) if body is not None else None
            )
            answer = connection.getresponse()
            content = answer.read()
        finally:
            connection.close()
        found = (
            json.decode(content)
            if answer.headers.get_content_type() == "application/json"
            else content.decode()
        )
        if answer.status != 200:
            raise ControlError(answer.status, found)
        return found


class Clock:
    """Virtual time. It stands still until told; every move answers once all that was due has fired
    and webhooks were answered.
    """

    def __init__(self, exchange: ServedExchange) -> None:
        self._exchange = exchange
        self._planned: list[tuple[Instant, int, Callable[[], object]]] = []
        self._number = count()
        self._follow: list[Callable[[datetime], None]] = []

    @property
    def now(self) -> datetime:
        """Virtual now, to the microsecond."""
        return to_datetime(self._exchange._instant())

    def advance(self, by: Length) -> list[str]:
        """Move by "5m", "PT5M" or a timedelta. Answers what fired, as "timer subject", in order."""
        span = (
            by // timedelta(microseconds=1) * 1_000 if isinstance(by, timedelta) else parse_span(by)
        )
        return self._to(self._exchange._instant() + span)

    def to(self, moment: Moment) -> list[str]:
        """Move to an RFC 3339 instant or an aware datetime."""
        return self._to(_instant_of(moment))

    def plan(self, at: Instant, do: Callable[[], object]) -> None:
        """Call something when time gets there; see `ServedExchange.at`."""
        self._planned.append((at, next(self._number), do))

    def _to(self, target: Instant) -> list[str]:
        warn_of_patched_time(ours=bool(self._follow))
        fired: list[str] = []
        while due := sorted(plan for plan in self._planned if plan[0] <= target):
            at, _, do = due[0]
            self._planned.remove(due[0])
            fired += self._move(max(at, self._exchange._instant()))
            do()
        return fired + self._move(target)

    def _move(self, to: Instant) -> list[str]:
        running = self._exchange.running
        fired = running.run(running.host.advance(to))
        for follow in self._follow:
            follow(self.now)
        return [f"{one.timer} {one.subject}".rstrip() for one in fired]


class Webhooks:
    """A receiver that records what the exchange delivers; register its `url`. `deliveries` is the
    exchange's own account of its attempts.
    """

    def __init__(self, control: Control) -> None:
        self._control = control
        self._receiver: WebhookReceiver | None = None

    @property
    def receiver(self) -> WebhookReceiver:
        """The receiver; it begins to listen when first asked for."""
        if self._receiver is None:
            self._receiver = WebhookReceiver()
        return self._receiver

    @property
    def url(self) -> str:
        """Address to register."""
        return self.receiver.url

    @property
    def received(self) -> list[Received]:
        """Deliveries in order of arrival."""
        return list(self.receiver.received)

    @property
    def deliveries(self) -> list[dict[str, Any]]:
        """Attempts as the exchange logged them."""
        found: list[dict[str, Any]] = self._control("GET", "/webhooks/deliveries")["deliveries"]
        return found

    def close(self) -> None:
        """Stop listening."""
        if self._receiver is not None:
            self._receiver.close()
            self._receiver = None


class Fault:
    """A fault in force. As a context manager it ends with the block."""

    def __init__(self, control: Control, number: str) -> None:
        self._control = control
        self.id = number

    def remove(self) -> None:
        """End the fault; one that has ended by itself is left alone."""
        try:
            self._control("DELETE", f"/faults/{self.id}")
        except ControlError as error:
            if error.status != 404:
                raise

    def __enter__(self) -> Fault:
        return self

    def __exit__(self, *error: object) -> None:
        self.remove()


class ServedExchange:
    """An exchange on free loopback ports. `gateway`, `retail`, `exchange`, `auth`, `docs` are URLs,
    `grpc` is host:port, `control` a URL that can be called.
    """

    def __init__(self, scenario: Scenario, *, seed: int | None = None, journal: Path) -> None:
        from sim.server.background import serve_in_thread
        from sim.server.journal_file import open_journal

        self._file: BinaryIO | None = open_journal(journal)
        self._hold(serve_in_thread(scenario, seed=seed, journal=self._file), journal)

    def _hold(self, running: BackgroundService | BackgroundInstance, journal: Path) -> None:
        self.running = running
        self.journal = journal
        self._forks: list[ServedExchange] = []
        at = running.addresses
        self.gateway, self.retail, self.exchange, self.auth, self.grpc, self.docs = (
            at.gateway,
            at.retail,
            at.exchange,
            at.auth,
            at.grpc,
            at.docs,
        )
        self.control = Control(at.control)
        self.clock = Clock(self)
        self.webhooks = Webhooks(self.control)

    # ---- what a client needs

    @cached_property
    def ready(self) -> dict[str, Any]:
        """Content of the ready file at the start."""
        from sim.server.ready_file import ready_facts

        running = self.running
        return running.call(
            lambda: ready_facts(running.simulation, running.addresses, str(self.journal))
        )

    @property
    def firms(self) -> list[dict[str, Any]]:
        """Partner firms: firm, client_id, private_key_path, audience, scopes, users, accounts,
        participants.
        """
        found: list[dict[str, Any]] = self.ready["firms"]
        return found

    @property
    def api_keys(self) -> list[dict[str, str]]:
        """Retail API keys: key_id, secret_key, account."""
        found: list[dict[str, str]] = self.ready["api_keys"]
        return found

    @property
    def symbols(self) -> dict[str, list[str]]:
        """Symbols by state at the start ("open", "pending", …), and "fractional"."""
        found: dict[str, list[str]] = self.ready["symbols"]
        return found

    # ---- what a test does

    @property
    def seed(self) -> int:
        """Seed of the run."""
        return self.running.simulation.seed

    @property
    def now(self) -> datetime:
        """Virtual now."""
        return self.clock.now

    @property
    def digest(self) -> str:
        """Digest of everything so far."""
        return self.running.call(lambda: self.running.simulation.digest)

    def at(self, moment: Moment, do: Callable[[], object]) -> None:
        """Call something when the clock gets to an instant, or to "+30s" from now, on its way
        through `clock.advance` or `clock.to`.
        """
        relative = isinstance(moment, str) and moment.startswith("+")
        self.clock.plan(
            self._instant() + parse_span(str(moment)) if relative else _instant_of(moment), do
        )

    def fault(self, operation: str = "", **rest: Any) -> Fault:
        """Inject a fault: `exchange.fault("SearchTrades", nth=3, status=503)`.

        Names of a scenario's `match` (caller, symbol, nth, every, probability, plane, until, and
        `from_`) say which calls; `times` and `ttl` how often and how long; all others are its `act`
        (status, code, message, delay, retry_after, reset, refuse, half_close, slow_body, drop,
        duplicate, reorder, revoke).
        """
        given = {name.rstrip("_"): value for name, value in rest.items()} | (
            {"operation": operation} if operation else {}
        )
        body: dict[str, Any] = {name: value for name, value in given.items() if name in _WHOLE}
        body["match"] = {name: value for name, value in given.items() if name in _MATCH}
        body["act"] = {
            name: value
            for name, value in given.items()
            if name not in _MATCH and name not in _WHOLE
        }
        return Fault(self.control, str(self.control("POST", "/faults", body)["id"]))

    def requests(
        self, *, operation: str = "", status: int = 0, caller: str = "", since: int = 0
    ) -> list[dict[str, Any]]:
        """What clients sent and were told, oldest first."""
        simulation = self.running.simulation
        return self.running.call(
            lambda: simulation.requests(
                operation=operation, status=status, caller=caller, since=since
            )
        )

    def explain(self, subject: str) -> dict[str, Any] | None:
        """Why a call was refused (by its x-request-id), or why an order, stream ("stream/7"),
        account or instrument is as it is.
        """
        from sim.analysis.explain import explain

        running = self.running
        return running.call(lambda: explain(running.simulation, subject))

    def conformance(self, *, caller: str = "", rules: tuple[str, ...] = ()) -> Report:
        """Check what clients did so far against the documented rules for clients.

        See `report.ok`, `report.broken()` and `report.lines()`.
        """
        from sim.analysis.conformance import check

        running = self.running
        return running.call(lambda: check(running.simulation, caller=caller, rules=rules))

    judge = conformance  # the former name

    def reset(self, seed: int | None = None) -> None:
        """Back to the scenario's start. Tokens issued before are refused, streams end."""
        self.running.run(self.running.host.reset(seed))

    # ---- other times, other worlds

    def snapshot(self, name: str) -> None:
        """Remember this moment under a name."""
        self.control("POST", f"/snapshots/{quote(name, safe='')}")

    def restore(self, name: str) -> None:
        """Go to a remembered moment, back or forward. Streams end."""
        self.running.run(self.running.host.restore(name))

    def rewind(self, *, to: Moment | None = None, seq: int | None = None) -> str:
        """Go back to an instant, or to right after an input, on a new branch; its name. Streams
        end.
        """
        running = self.running
        return running.run(running.host.rewind(to=None if to is None else _instant_of(to), seq=seq))

    def fork(self) -> ServedExchange:
        """Another exchange that begins as this one is now, on ports of its own; what happens in one
        leaves the other alone.

        Credentials and tokens hold in both. It begins without the streams that are open here. It
        ends with this one at the latest.
        """
        journal = self.journal.with_name(
            f"{self.journal.stem}-fork-{len(self._forks) + 1}{self.journal.suffix}"
        )
        made = object.__new__(ServedExchange)
        made._file = None  # its world closes it
        made._hold(self.running.fork(journal), journal)
        self._forks.append(made)
        return made

    @contextmanager
    def freeze(self) -> Iterator[None]:
        """While it lasts, this process's wall clock (by freezegun) shows virtual now and follows
        it.

        Refuses (RuntimeError) while a gRPC channel is open in this process: its deadlines are
        measured by native code against a clock that no longer moves with Python's, so a one-second
        deadline fires at once or never.
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
        """Stop serving, forks too. The journals stay."""
        for fork in self._forks:
            fork.close()
        self.running.stop()
        self.webhooks.close()
        if self._file is not None:
            self._file.close()

    def _instant(self) -> Instant:
        return self.running.call(lambda: self.running.simulation.now)

    def report(self) -> str:
        """What a person needs to see a failed run again."""
        now = format_instant(self._instant())
        return (
            f"scenario {self.running.simulation.scenario.name}, seed {self.seed}, now"
            f" {now}\njournal {self.journal}\nsim replay {self.journal}"
        )


def _instant_of(moment: Moment) -> Instant:
    return from_datetime(moment) if isinstance(moment, datetime) else parse_instant(moment)
