"""What can be read of a run without changing it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sim.api.pipeline.request_log import RequestLog
from sim.api.pipeline.settings import Settings
from sim.contract.contract import Contract
from sim.core.catalogue.assumptions import STREAM_BUFFER_MESSAGES
from sim.core.exchange import Exchange
from sim.engine.engine import Engine
from sim.kernel.instants import Instant, is_supported_instant
from sim.kernel.journal import Journal
from sim.scenario.scenario import Scenario
from sim.world.world import World


class RunView:
    """Reads the run of an engine."""

    engine: Engine

    @property
    def scenario(self) -> Scenario:
        """The scenario that it runs."""
        return self.engine.run.scenario

    @property
    def seed(self) -> int:
        """The seed that it runs with."""
        return self.engine.run.seed

    @property
    def start(self) -> Instant:
        """The instant at which it began."""
        return self.engine.run.start

    @property
    def settings(self) -> Settings:
        """How the process around it behaves."""
        return self.engine.run.settings

    @property
    def contract(self) -> Contract:
        """The operations that it serves."""
        return self.engine.contract

    @property
    def world(self) -> World:
        """Who and what was there at the start, and the reference data."""
        return self.engine.world

    @property
    def exchange(self) -> Exchange:
        """The exchange itself."""
        return self.engine.exchange

    @property
    def journal(self) -> Journal:
        """Every input so far, with everything that followed."""
        return self.engine.journal

    @property
    def ended(self) -> BaseException | None:
        """What ended the run early; None while it takes inputs. Each input after it is RunEnded."""
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
        """Number of inputs handled on this branch."""
        return self.engine.journal.seq

    @property
    def digest(self) -> str:
        """Digest of everything so far, 64 hexadecimal digits."""
        return self.engine.journal.digest

    @property
    def branch(self) -> str:
        """Name of the branch that it is on: "main" until the first journey in time."""
        return self.engine.branch

    @property
    def epoch(self) -> int:
        """How often it has travelled in time; tokens and streams of another epoch are gone."""
        return self.engine.epoch

    def next_due(self) -> Instant | None:
        """When the next thing happens by itself, or None.

        Never in the past: what waited for the end of maintenance is due now. Nor after the end of
        the calendar: what is due then never happens.
        """
        if self.engine.next_input() is not None:
            return self.now
        due = self.exchange.ctx.timers.next_due()
        return None if due is None or not is_supported_instant(due) else max(due, self.now)

    def rpc_kind(self, method: str) -> str | None:
        """The kind of a gRPC method served now ("unary", "server", "bidi"), else None."""
        operation = self.contract.by_rpc(method)
        return operation.kind if operation is not None and operation.exists_at(self.now) else None

    def rpc_serves(self, service: str) -> bool | None:
        """Whether a gRPC service answers now; None for an unknown one, "" is all of them.

        During maintenance none does (rule W8).
        """
        if service and not self.contract.has_service(service):
            return None
        return not self.exchange.maintenance.active

    @property
    def stream_buffer(self) -> int:
        """How many messages a stream that begins now may have waiting for its reader."""
        return self.exchange.ctx.assumptions.number(STREAM_BUFFER_MESSAGES)

    def secret_for(self, fingerprint: str) -> bytes | None:
        """The signing secret behind a fingerprint; None in a replay, which has no secrets."""
        return self.engine.signing_secrets.get(fingerprint)

    def account_named(self, name: str) -> str:
        """An account by its own name or that of a user; NotFound when there is none."""
        return self.engine.account_named(name)

    def requests(
        self,
        *,
        operation: str | None = None,
        status: int | None = None,
        caller: str | None = None,
        since: int = 0,
    ) -> list[dict[str, Any]]:
        """Rows of the request log."""
        return self.log.select(
            operation=operation or "", status=status or 0, caller=caller or "", since=since
        )

    def streams(self) -> list[dict[str, Any]]:
        """Streams that are open."""
        return self.engine.hub.describe()

    def skip_to_head(self, stream: int, waiting: list[bytes]) -> list[bytes] | None:
        """What a reader that fell behind gets in the place of the frames that wait for it.

        None unless its stream asked to skip. Changes nothing.
        """
        return self.engine.hub.skip_to_head(stream, waiting)

    def journal_lines(self, since: int = 0) -> Iterator[bytes]:
        """Journal lines after the first `since` ones, as JSON."""
        return self.journal.lines(since)
