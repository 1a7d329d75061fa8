"""Everything that can be read of a run without changing it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sim.api.pipeline.replies import wire_switches
from sim.api.pipeline.request_log import RequestLog
from sim.api.pipeline.settings import Settings
from sim.contract.contract import Contract
from sim.core.catalogue.assumptions import STREAM_BUFFER_MESSAGES
from sim.core.exchange import Exchange
from sim.kernel.instants import Instant, is_supported_instant
from sim.kernel.journal import Journal
from sim.kernel.work import Work
from sim.run.engine.engine import Engine
from sim.world.format.scenario import Scenario
from sim.world.start.world import World


class RunView:
    """A read-only view of the run of an engine."""

    engine: Engine

    @property
    def scenario(self) -> Scenario:
        """The scenario that it runs."""
        return self.engine.run.scenario

    @property
    def seed(self) -> int:
        """The seed of the run."""
        return self.engine.run.seed

    @property
    def start(self) -> Instant:
        """The instant at which it began."""
        return self.engine.run.start

    @property
    def settings(self) -> Settings:
        """Settings of the process in which it runs."""
        return self.engine.run.settings

    @property
    def contract(self) -> Contract:
        """The operations that it serves."""
        return self.engine.contract

    @property
    def world(self) -> World:
        """The participants, instruments and reference data at the start."""
        return self.engine.world

    @property
    def exchange(self) -> Exchange:
        """The exchange itself."""
        return self.engine.exchange

    @property
    def journal(self) -> Journal:
        """Every input so far, with everything that resulted."""
        return self.engine.journal

    @property
    def ended(self) -> BaseException | None:
        """What ended the run early; None while it accepts inputs. Further inputs raise RunEnded."""
        return self.journal.ended

    @property
    def log(self) -> RequestLog:
        """Every call so far."""
        return self.engine.log

    @property
    def now(self) -> Instant:
        """Virtual now."""
        return self.engine.now

    @property
    def seq(self) -> int:
        """The number of inputs handled on this branch."""
        return self.engine.journal.seq

    @property
    def digest(self) -> str:
        """The digest of everything so far, 64 hexadecimal digits."""
        return self.engine.journal.digest

    @property
    def branch(self) -> str:
        """The name of the current branch, "main" until the first time travel."""
        return self.engine.branch

    @property
    def epoch(self) -> int:
        """The number of time travels so far. Tokens and streams of earlier epochs are invalid."""
        return self.engine.epoch

    def next_due(self) -> Instant | None:
        """When the next timer fires, or None.

        Never in the past: timers that waited for the end of maintenance are due now. Never beyond
        the end of the calendar: such timers never fire.
        """
        if self.engine.next_input() is not None:
            return self.now
        due = self.exchange.ctx.timers.next_due()
        return None if due is None or not is_supported_instant(due) else max(due, self.now)

    def rpc_kind(self, method: str) -> str | None:
        """Return the kind of a gRPC method served now ("unary", "server", "bidi"), or None."""
        operation = self.contract.by_rpc(method)
        switches = wire_switches(self.exchange.ctx.assumptions)
        exists = operation is not None and operation.exists_at(self.now, switches)
        return operation.kind if operation is not None and exists else None

    def rpc_serves(self, service: str) -> bool | None:
        """Return whether a gRPC service is available now; None if unknown. "" means all services.

        During maintenance none is (rule W8).
        """
        if service and not self.contract.has_service(service):
            return None
        return not self.exchange.maintenance.active

    @property
    def stream_buffer(self) -> int:
        """How many messages may wait for the reader of a stream that is opened now."""
        return self.exchange.ctx.assumptions.number(STREAM_BUFFER_MESSAGES)

    def secret_for(self, fingerprint: str) -> bytes | None:
        """Return the signing secret for a fingerprint; None in a replay, which has no secrets."""
        return self.engine.signing_secrets.get(fingerprint)

    def account_named(self, name: str) -> str:
        """Return an account by its own name or that of a user.

        Refuses an unknown name as not found.
        """
        return self.engine.account_named(name)

    def requests(
        self,
        *,
        operation: str | None = None,
        status: int | None = None,
        caller: str | None = None,
        since: int = 0,
    ) -> list[dict[str, Any]]:
        """Return rows of the request log."""
        return self.log.select(
            operation=operation or "", status=status or 0, caller=caller or "", since=since
        )

    def requests_in_steps(
        self, *, operation: str = "", status: int = 0, caller: str = "", since: int = 0
    ) -> Work[list[dict[str, Any]]]:
        """Find the rows of the request log that `requests` returns, in small steps."""
        return self.log.matching(operation=operation, status=status, caller=caller, since=since)

    def streams(self) -> list[dict[str, Any]]:
        """Return the open streams."""
        return self.engine.hub.describe()

    def skip_to_head(self, stream: int, waiting: list[bytes]) -> list[bytes] | None:
        """Return the frames that replace those waiting for a reader that fell behind.

        None unless its stream asked to skip. Changes nothing.
        """
        return self.engine.hub.skip_to_head(stream, waiting)

    def journal_lines(self, since: int = 0) -> Iterator[bytes]:
        """Yield the lines of the journal after the first `since` ones, as JSON."""
        return self.journal.lines(since)
