"""CreateBalanceLedgerSubscription: the cash ledger of one account (§6.2, rules P17-P24).

A request with `resume_time` first replays the rows from that instant on. Then the stream
sends new rows.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable

from sim.api.exchange.ledgers import FLOOR, SUPPRESSED, public_types
from sim.api.pipeline.account_access import ledger_account
from sim.api.pipeline.pipeline import AdmittedSubscription
from sim.api.rendering.exchange_positions import ledger_entry_message
from sim.api.streams.feed import EventReaders, Feed, KeyedFeed, KeyedStream
from sim.api.streams.limits import BATCH
from sim.api.streams.shared_frames import encoded, nesting
from sim.contract.messages import exchange_v1 as wire
from sim.core.model.events import CashMoved
from sim.core.model.quantities import CURRENCY

_in_entries = nesting(wire.CreateBalanceLedgerSubscriptionResponse, "entries")


class LedgerStream(KeyedStream):
    """A subscription to the cash rows of one account.

    `types` filters unless empty. A stream for a currency that nobody holds is `mute`.
    """

    def __init__(
        self, feed: Feed[LedgerStream], admitted: AdmittedSubscription, account: str
    ) -> None:
        super().__init__(feed, admitted, [account])
        request: wire.CreateBalanceLedgerSubscriptionRequest = admitted.request
        self.types = public_types(request.entry_types)
        self.mute = request.currency.upper() not in ("", CURRENCY)
        resume = request.resume_time
        self.replay_from = None if resume is None else max(resume, FLOOR)

    def includes(self, row: CashMoved) -> bool:
        """Return whether a row passes the stream's filters. Rows of internal types never do."""
        if self.mute or row.type in SUPPRESSED:
            return False
        return not self.types or row.type in self.types


class LedgerFeed(KeyedFeed[LedgerStream]):
    """Balance ledger streams by account."""

    scoped = True

    def reads(self) -> EventReaders:
        return {CashMoved: self._cash_moved}

    def accept(self, admitted: AdmittedSubscription) -> LedgerStream:
        account = ledger_account(self.exchange, admitted.caller, admitted.request.account)
        return LedgerStream(self, admitted, account)

    def begin(self, stream: LedgerStream) -> None:
        self.join(stream)
        if stream.replay_from is None:
            return
        rows = self.exchange.trading.ledger.entries(stream.keys[0])
        first = bisect_left(rows, stream.replay_from, key=lambda row: row.at)
        for index in range(first, len(rows)):
            if stream.includes(rows[index]):
                stream.pending.append(_entry(rows[index]))
                if len(stream.pending) == BATCH:
                    self.send_gathered([stream])
        if stream.pending:
            self.send_gathered([stream])

    def heartbeat(self, stream: LedgerStream) -> bytes:
        return b""

    def _cash_moved(self, event: CashMoved) -> None:
        followers = self._followers.get(event.account)
        if followers is not None:
            streams = [stream for stream in followers.values() if stream.includes(event)]
            if streams:
                self.gather(streams, _entry(event))

    def send_gathered(self, streams: Iterable[LedgerStream]) -> None:
        for stream in streams:
            self.outbox.send(stream, b"".join(stream.pending))
            stream.pending.clear()


def _entry(row: CashMoved) -> bytes:
    return _in_entries(encoded(ledger_entry_message(row)))
