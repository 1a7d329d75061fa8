"""The two streams of positions over gRPC (§6.2).

CreatePositionChangeSubscription can be resumed and carries settlement results. Each of its rows is
a position after one row of the position ledger; the rows of one input share a message.
CreatePositionSubscription sends a snapshot and then the positions that change.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import ClassVar

from sim.api.pipeline.account_access import visible_accounts
from sim.api.pipeline.pipeline import AdmittedSubscription
from sim.api.rendering.exchange_positions import position_message
from sim.api.streams.feed import EventReaders, FeedContext, KeyedFeed, KeyedStream, pages
from sim.api.streams.resumable import ReplayFeed, ReplayStream
from sim.api.streams.resume_tokens import ResumePoint
from sim.api.streams.shared_frames import encoded, nesting, part
from sim.contract.messages import exchange_v1 as wire
from sim.core.accounts.positions import Position, position_after
from sim.core.catalogue.assumptions import POSITION_CHANGE_SNAPSHOT
from sim.core.model.enums import InstrumentState
from sim.core.model.events import PositionChanged, Settled, StateChanged
from sim.kernel.instants import Instant


class PositionChangeFeed(ReplayFeed[PositionChanged]):
    """Changes of a firm's positions."""

    response = wire.CreatePositionChangeSubscriptionResponse
    rows_field = "position_changes"
    state: ClassVar[tuple[str, ...]] = (*ReplayFeed.state, "_length")

    def __init__(self, context: FeedContext) -> None:
        super().__init__(context)
        self._changed: list[PositionChanged] = []
        self._length = 0

    def reads(self) -> EventReaders:
        return {PositionChanged: self._position_changed}

    def _position_changed(self, event: PositionChanged) -> None:
        if self.has_followers:
            self._length += 1
            self._changed.append(event)

    def begin(self, stream: ReplayStream) -> None:
        if not self.has_followers:
            self._length = len(self._history)
        super().begin(stream)
        has_snapshot = self.exchange.ctx.assumptions.flag(POSITION_CHANGE_SNAPSHOT)
        if stream.after is None and has_snapshot:
            self.send_rows(stream, self._last_open_rows(stream.firm))

    def _last_open_rows(self, firm: str) -> Iterator[tuple[ResumePoint, PositionChanged]]:
        """Yield the last row of each open position of a firm."""
        positions = self.exchange.trading.positions
        for account in sorted(self.accounts_of(firm)):
            for _, row in sorted({row.symbol: row for row in positions.rows(account)}.items()):
                if row.net:
                    yield self.point(), row

    def flush(self) -> None:
        changed, self._changed = self._changed, []
        for row in changed:
            firm = self.firm_of(row.account)
            if firm is not None:
                self.add_row(firm, row)
        super().flush()

    def point(self) -> ResumePoint:
        # The cost of `_history` grows with the number of positions, so the feed counts its length
        # while anybody follows.
        length = self._length if self.has_followers else len(self._history)
        return ResumePoint(length, self.context.now)

    def point_at(self, at: Instant) -> ResumePoint:
        return ResumePoint(bisect_left(self._history, at, key=lambda row: row.at), at)

    def rows_after(
        self, firm: str, point: ResumePoint
    ) -> Iterator[tuple[ResumePoint, PositionChanged]]:
        accounts = frozenset(self.accounts_of(firm))
        history = self._history
        for seq in range(point.seq, len(history)):
            row = history[seq]
            if row.account in accounts:
                yield ResumePoint(seq + 1, row.at), row

    def symbol_of(self, row: PositionChanged) -> str:
        return row.symbol

    def encode(self, firm: str, row: PositionChanged) -> bytes:
        settled = row.settlement is not None
        change = wire.PositionChange(
            position=position_message(position_after(row), row.at, expired=settled),
            change_time=row.at,
            settlement_px=row.settlement,
            resolved=settled,
        )
        if settled:
            change.settlement_preliminary = False
            change.settlement_set_time = row.at  # a final price pays at once
        return encoded(change)

    @property
    def _history(self) -> Sequence[PositionChanged]:
        """All rows of the position ledger, oldest first."""
        return self.exchange.trading.positions.save().rows


# ---- snapshot, then changes

_Response = wire.CreatePositionSubscriptionResponse
_in_update = nesting(_Response, "update")
_in_positions = nesting(wire.CreatePositionSubscriptionResponse_Update, "positions")


class PositionFeed(KeyedFeed[KeyedStream]):
    """Position streams by account."""

    scoped = True

    def __init__(self, context: FeedContext) -> None:
        super().__init__(context)
        self._changed: dict[tuple[str, str], None] = {}

    def reads(self) -> EventReaders:
        return {
            PositionChanged: self._position_changed,
            Settled: self._settled,
            StateChanged: self._state_changed,
        }

    def accept(self, admitted: AdmittedSubscription) -> KeyedStream:
        accounts = visible_accounts(admitted.caller, admitted.request.accounts)
        return KeyedStream(self, admitted, accounts)

    def begin(self, stream: KeyedStream) -> None:
        self.join(stream)
        all_positions = self.exchange.trading.positions
        positions = [position for account in stream.keys for position in all_positions.of(account)]
        for page in pages(positions):
            messages = [self._message(position) for position in page]
            snapshot = wire.CreatePositionSubscriptionResponse_Snapshot(positions=messages)
            self.outbox.send(stream, part(_Response, snapshot=snapshot))

    def heartbeat(self, stream: KeyedStream) -> bytes:
        return part(_Response, heartbeat=wire.Heartbeat())

    def _position_changed(self, event: PositionChanged) -> None:
        if event.account in self._followers:
            self._changed[event.account, event.symbol] = None

    def _settled(self, event: Settled) -> None:
        if not event.preliminary:
            self._send_all(event.symbol)

    def _state_changed(self, event: StateChanged) -> None:
        if event.state is InstrumentState.EXPIRED:
            self._send_all(event.symbol)

    def _send_all(self, symbol: str) -> None:
        """Send all positions in an instrument that expired or was paid, including flat ones."""
        if self._followers:
            for position in self.exchange.trading.positions.in_symbol(symbol):
                if position.account in self._followers:
                    self._changed[position.account, symbol] = None

    def flush(self) -> None:
        if not self._changed:
            return
        changed, self._changed = self._changed, {}
        for account, symbol in changed:
            position = self.exchange.trading.positions.get(account, symbol)
            followers = self._followers.get(account)
            if position is not None and followers is not None:
                frame = _in_update(_in_positions(encoded(self._message(position))))
                self.outbox.send_all(followers.values(), frame)

    def _message(self, position: Position) -> wire.Position:
        expired = self.exchange.trading.is_over(position.symbol)
        return position_message(position, self.context.now, expired=expired)
