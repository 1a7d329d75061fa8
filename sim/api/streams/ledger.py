"""CreateBalanceLedgerSubscription: the cash ledger of one account, replayed from resume_time and
then live (§6.2, rules P17-P24).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, cast

from sim.api.exchange.ledgers import FLOOR, SUPPRESSED, public_types
from sim.api.pipeline.account_access import ledger_account
from sim.api.rendering.exchange import CURRENCY, ledger_entry_message
from sim.api.streams.feed import Feed, FeedContext, FollowersByKey, Stream
from sim.api.streams.limits import BATCH
from sim.api.streams.shared_frames import encoded, nesting
from sim.core.model.events import CashMoved, Event
from sim.kernel.instants import Instant
from sim.messages import exchange_v1 as wire

if TYPE_CHECKING:
    from sim.api.pipeline.pipeline import Admitted

_in_entries = nesting(wire.CreateBalanceLedgerSubscriptionResponse, "entries")


class LedgerStream(Stream):
    """A subscription to the cash rows of one account. `types` filters unless empty; without
    `replay_from` nothing old is sent.

    `mute`: rows of a currency were asked for that nobody has.
    """

    __slots__ = ("account", "mute", "pending", "replay_from", "types")

    def __init__(self, feed: Feed, admitted: Admitted, account: str) -> None:
        super().__init__(feed, admitted)
        request: wire.CreateBalanceLedgerSubscriptionRequest = admitted.request
        self.account = account
        self.types = public_types(request.entry_types)
        self.mute = request.currency.upper() not in ("", CURRENCY)
        self.replay_from: Instant | None = (
            None if request.resume_time is None else max(request.resume_time, FLOOR)
        )
        self.pending: list[bytes] = []

    def wants(self, row: CashMoved) -> bool:
        """Whether a row is among those asked for; internal types never are."""
        if self.mute or row.type in SUPPRESSED:
            return False
        return not self.types or row.type in self.types


class LedgerFeed(Feed):
    """Balance ledger streams by account."""

    scoped = True

    def __init__(self, context: FeedContext) -> None:
        super().__init__(context)
        self._followers: FollowersByKey[str, LedgerStream] = FollowersByKey()
        self._waiting: dict[int, LedgerStream] = {}

    def reads(self) -> Mapping[type[Event], Callable[[Any], None]]:
        return {CashMoved: self._cash_moved}

    def accept(self, admitted: Admitted) -> Stream:
        return LedgerStream(
            self,
            admitted,
            ledger_account(self.context.exchange, admitted.caller, admitted.request.account),
        )

    def begin(self, stream: Stream) -> None:
        mine = cast(LedgerStream, stream)
        self._followers.join(mine.account, mine)
        if mine.replay_from is None:
            return
        rows = self.context.exchange.trading.ledger.entries(mine.account)
        for index in range(bisect_left(rows, mine.replay_from, key=lambda row: row.at), len(rows)):
            if mine.wants(rows[index]):
                mine.pending.append(_entry(rows[index]))
                if len(mine.pending) == BATCH:
                    self._send(mine)
        if mine.pending:
            self._send(mine)

    def forget(self, stream: Stream) -> None:
        mine = cast(LedgerStream, stream)
        self._followers.leave(mine.account, mine)
        self._waiting.pop(mine.id, None)

    def heartbeat(self, stream: Stream) -> bytes:
        return b""

    def _cash_moved(self, event: CashMoved) -> None:
        topic = self._followers.get(event.account)
        if topic is None:
            return
        entry = b""
        for stream in topic.values():
            if stream.wants(event):
                entry = entry or _entry(event)
                stream.pending.append(entry)
                self._waiting[stream.id] = stream

    def flush(self) -> None:
        waiting, self._waiting = self._waiting, {}
        for stream in waiting.values():
            self._send(stream)

    def _send(self, stream: LedgerStream) -> None:
        self.context.outbox.send(stream, b"".join(stream.pending))
        stream.pending.clear()


def _entry(row: CashMoved) -> bytes:
    return _in_entries(encoded(ledger_entry_message(row)))
