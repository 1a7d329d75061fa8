"""CreateFundingTransactionSubscription: changes of funding transactions, looked for every 15 s
(wire facts §1.10).

`resume_time` replays every change from that instant on, so a client that sends the `server_time` of
the last message it read misses none and may see some twice. Without it only what changes from now
on is told.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING, cast

from sim.api.exchange.funding import funding_accounts
from sim.api.exchange.funding_transactions import transaction_message
from sim.api.streams.feed import Feed, FeedContext, Stream
from sim.api.streams.limits import BATCH
from sim.api.streams.shared_frames import encoded
from sim.core.catalogue.assumptions import FUNDING_POLL
from sim.core.model.funding_records import FundingChange
from sim.core.model.refusals import PermissionDenied
from sim.kernel.timers import Timer, TimerHandlers
from sim.messages import exchange_v1 as wire

if TYPE_CHECKING:
    from sim.api.pipeline.pipeline import Admitted

POLL_TIMER = "stream.funding"


class FundingStream(Stream):
    """A subscription. `seen` is how many changes of the record it has looked at; empty filters let
    everything through that the caller may see.
    """

    __slots__ = ("asked", "seen", "types")

    def __init__(self, feed: Feed, admitted: Admitted, seen: int) -> None:
        super().__init__(feed, admitted)
        request: wire.CreateFundingTransactionSubscriptionRequest = admitted.request
        self.asked = frozenset(request.account_ids)
        self.types = frozenset(request.transaction_types) - {0}
        self.seen = seen


class FundingFeed(Feed):
    """Funding transaction streams. One timer looks for all of them, while there are any."""

    scoped = True

    def __init__(self, context: FeedContext) -> None:
        super().__init__(context)
        self._streams: dict[int, FundingStream] = {}
        self._timer = 0

    def accept(self, admitted: Admitted) -> Stream:
        exchange, request = self.context.exchange, admitted.request
        if not set(request.account_ids) <= set(funding_accounts(exchange, admitted.caller)):
            raise PermissionDenied(
                rule="P24",
                remedy="GET /v1/funding/accounts lists the accounts this caller may follow",
            )
        changes = exchange.funding.changes
        seen = (
            len(changes)
            if request.resume_time is None
            else bisect_left(changes, request.resume_time, key=lambda change: change.at)
        )
        return FundingStream(self, admitted, seen)

    def begin(self, stream: Stream) -> None:
        mine = cast(FundingStream, stream)
        self._streams[mine.id] = mine
        self._look(mine)
        if not self._timer:
            self._timer = self.context.schedule(self.context.period(FUNDING_POLL), POLL_TIMER)

    def forget(self, stream: Stream) -> None:
        del self._streams[stream.id]
        if not self._streams:
            self._timer = self.context.cancel(self._timer)

    def heartbeat(self, stream: Stream) -> bytes:
        """No changes, and where to resume: what has happened since the last look is not passed
        over, for `resume_time` includes its instant.
        """
        changes = self.context.exchange.funding.changes
        seen = cast(FundingStream, stream).seen
        at = changes[seen].at if seen < len(changes) else self.context.now
        return encoded(wire.CreateFundingTransactionSubscriptionResponse(server_time=at))

    @property
    def timers(self) -> TimerHandlers:
        return {POLL_TIMER: self._poll}

    def _poll(self, timer: Timer) -> None:
        if timer.seq != self._timer:
            return
        for stream in self._streams.values():
            self._look(stream)
        self._timer = self.context.schedule(self.context.period(FUNDING_POLL), POLL_TIMER)

    def _look(self, stream: FundingStream) -> None:
        """Send what changed since the last look, if it concerns the stream."""
        exchange = self.context.exchange
        changes = exchange.funding.changes
        accounts = stream.asked or frozenset(funding_accounts(exchange, stream.caller))
        found = [
            change for change in changes[stream.seen :] if _concerns(change, accounts, stream.types)
        ]
        stream.seen = len(changes)
        for first in range(0, len(found), BATCH):
            batch = found[first : first + BATCH]
            last = first + BATCH >= len(found)
            self.context.outbox.send(
                stream,
                encoded(
                    wire.CreateFundingTransactionSubscriptionResponse(
                        changes=[
                            wire.FundingTransactionChange(
                                transaction=transaction_message(exchange, change.transaction),
                                previous_state=change.previous,
                                change_time=change.at,
                            )
                            for change in batch
                        ],
                        server_time=self.context.now if last else batch[-1].at,
                    )
                ),
            )


def _concerns(change: FundingChange, accounts: frozenset[str], types: frozenset[int]) -> bool:
    return change.transaction.account in accounts and (
        not types or change.transaction.type in types
    )
