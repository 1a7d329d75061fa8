"""CreateFundingTransactionSubscription: changes of funding transactions, polled every 15 s (§6.2).

`resume_time` replays every change from that instant on. A client that sends the `server_time` of
the last message it read misses no change, but may receive some twice. Without `resume_time` the
stream sends only new changes.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import ClassVar

from sim.api.exchange.funding import funding_accounts
from sim.api.exchange.funding_transactions import transaction_message
from sim.api.pipeline.pipeline import AdmittedSubscription
from sim.api.streams.feed import Feed, FeedContext, FeedStream, SingleTimer, pages
from sim.api.streams.shared_frames import encoded
from sim.contract.messages import exchange_v1 as wire
from sim.core.catalogue.assumptions import FUNDING_POLL
from sim.core.model.funding_records import FundingChange
from sim.core.model.refusals import PermissionDenied
from sim.kernel.timers import Timer, TimerHandlers

POLL_TIMER = "stream.funding"


class FundingStream(FeedStream):
    """A subscription. `seen` is the number of changes of the record that it has read.

    `accounts` and `types` filter unless empty.
    """

    def __init__(
        self, feed: Feed[FundingStream], admitted: AdmittedSubscription, position: int
    ) -> None:
        super().__init__(feed, admitted)
        request: wire.CreateFundingTransactionSubscriptionRequest = admitted.request
        self.accounts = frozenset(request.account_ids)
        self.types = frozenset(request.transaction_types) - {0}
        self.position = position


class FundingFeed(Feed[FundingStream]):
    """Funding transaction streams. One timer polls for all of them while any is open."""

    scoped = True
    state: ClassVar[tuple[str, ...]] = ("_streams", "_timer")

    def __init__(self, context: FeedContext) -> None:
        super().__init__(context)
        self._streams: dict[int, FundingStream] = {}
        self._timer = SingleTimer(context, POLL_TIMER)

    def accept(self, admitted: AdmittedSubscription) -> FundingStream:
        exchange, request = self.exchange, admitted.request
        if not set(request.account_ids) <= set(funding_accounts(exchange, admitted.caller)):
            raise PermissionDenied(
                rule="P24",
                remedy="GET /v1/funding/accounts lists the accounts this caller may follow",
            )
        changes = exchange.funding.changes
        position = len(changes)
        if request.resume_time is not None:
            position = bisect_left(changes, request.resume_time, key=lambda change: change.at)
        return FundingStream(self, admitted, position)

    def begin(self, stream: FundingStream) -> None:
        self._streams[stream.id] = stream
        self._send_changes(stream)
        self._timer.start(self.context.period(FUNDING_POLL))

    def forget(self, stream: FundingStream) -> None:
        del self._streams[stream.id]
        if not self._streams:
            self._timer.stop()

    def heartbeat(self, stream: FundingStream) -> bytes:
        """Return a message without changes, with the instant from which to resume.

        That is the instant of the first change not polled yet, or now.
        """
        changes, position = self.exchange.funding.changes, stream.position
        at = changes[position].at if position < len(changes) else self.context.now
        return encoded(wire.CreateFundingTransactionSubscriptionResponse(server_time=at))

    @property
    def timers(self) -> TimerHandlers:
        return {POLL_TIMER: self._poll}

    def _poll(self, timer: Timer) -> None:
        if self._timer.fired(timer):
            for stream in self._streams.values():
                self._send_changes(stream)
            self._timer.start(self.context.period(FUNDING_POLL))

    def _send_changes(self, stream: FundingStream) -> None:
        """Send the changes since the last poll that match the stream's filters."""
        exchange = self.exchange
        changes = exchange.funding.changes
        accounts = stream.accounts or frozenset(funding_accounts(exchange, stream.caller))
        rows = [row for row in changes[stream.position :] if _concerns(row, accounts, stream.types)]
        stream.position = len(changes)
        for page in pages(rows) if rows else ():
            messages = [
                wire.FundingTransactionChange(
                    transaction=transaction_message(exchange, change.transaction),
                    previous_state=change.previous,
                    change_time=change.at,
                )
                for change in page
            ]
            server_time = self.context.now if page[-1] is rows[-1] else page[-1].at
            response = wire.CreateFundingTransactionSubscriptionResponse(
                changes=messages, server_time=server_time
            )
            self.outbox.send(stream, encoded(response))


def _concerns(change: FundingChange, accounts: frozenset[str], types: frozenset[int]) -> bool:
    transaction = change.transaction
    return transaction.account in accounts and (not types or transaction.type in types)
