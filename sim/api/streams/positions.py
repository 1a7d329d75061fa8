"""Positions over gRPC: CreatePositionChangeSubscription, resumable and with settlement results
(§6.2), and CreatePositionSubscription, a snapshot and then changes.

A position change says how a position stands after one row of its ledger; those of one input come in
one message.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from sim.api.pipeline.account_access import visible_accounts
from sim.api.rendering.exchange import position_message
from sim.api.streams.feed import Feed, FeedContext, FollowersByKey, Stream
from sim.api.streams.limits import BATCH
from sim.api.streams.resumable import ReplayFeed, ReplayStream
from sim.api.streams.resume_tokens import ResumePoint
from sim.api.streams.shared_frames import encoded, nesting, part
from sim.core.accounts.positions import Position, position_after
from sim.core.catalogue.assumptions import POSITION_CHANGE_SNAPSHOT
from sim.core.lifecycle.states import EXPIRED_STATES
from sim.core.model.events import Event, PositionChanged
from sim.kernel.instants import Instant
from sim.messages import exchange_v1 as wire

if TYPE_CHECKING:
    from sim.api.pipeline.pipeline import Admitted


class PositionChangeFeed(ReplayFeed[PositionChanged]):
    """Changes of a firm's positions."""

    response = wire.CreatePositionChangeSubscriptionResponse
    rows_field = "position_changes"

    def __init__(self, context: FeedContext) -> None:
        super().__init__(context)
        self._changed: list[PositionChanged] = []
        self._length = 0

    def reads(self) -> Mapping[type[Event], Callable[[Any], None]]:
        return {PositionChanged: self._position_changed}

    def _position_changed(self, event: PositionChanged) -> None:
        if self.has_followers:
            self._length += 1
            self._changed.append(event)

    def begin(self, stream: Stream) -> None:
        if not self.has_followers:
            self._length = len(self._history)
        super().begin(stream)
        mine = cast(ReplayStream, stream)
        if mine.after is None and self.context.exchange.ctx.assumptions.flag(
            POSITION_CHANGE_SNAPSHOT
        ):
            self.send_rows(mine, self._held(mine.firm))

    def _held(self, firm: str) -> Iterator[tuple[ResumePoint, PositionChanged]]:
        """Positions of a firm that are not flat, as their last rows say."""
        positions = self.context.exchange.trading.positions
        for account in sorted(self.accounts_of(firm)):
            for _, row in sorted({row.symbol: row for row in positions.rows(account)}.items()):
                if row.net:
                    yield self.point(), row

    def flush(self) -> None:
        if self._changed:
            changed, self._changed = self._changed, []
            for row in changed:
                firm = self.firm_of(row.account)
                if firm is not None:
                    self.add_row(firm, row)
        super().flush()

    def point(self) -> ResumePoint:
        # Counted while anybody listens, so that a token costs nothing that grows with the number of
        # positions.
        return ResumePoint(
            self._length if self.has_followers else len(self._history), self.context.now
        )

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
        stats = self.context.exchange.trading.stats(row.symbol) if settled else None
        return encoded(
            wire.PositionChange(
                position=position_message(position_after(row), row.at, expired=settled),
                change_time=row.at,
                settlement_px=row.settlement,
                settlement_preliminary=False if settled else None,
                settlement_set_time=(
                    (stats.settlement_set_time or row.at) if stats is not None else None
                ),
                resolved=settled,
            )
        )

    @property
    def _history(self) -> Sequence[PositionChanged]:
        """Every row of the position ledger, oldest first."""
        return self.context.exchange.trading.positions.save().rows


# ---- snapshot, then changes

_Response = wire.CreatePositionSubscriptionResponse
_in_update = nesting(_Response, "update")
_in_positions = nesting(wire.CreatePositionSubscriptionResponse_Update, "positions")


class PositionStream(Stream):
    """A subscription to the positions of accounts."""

    __slots__ = ("accounts",)

    def __init__(self, feed: Feed, admitted: Admitted) -> None:
        super().__init__(feed, admitted)
        self.accounts = visible_accounts(admitted.caller, admitted.request.accounts)


class PositionFeed(Feed):
    """Position streams by account."""

    scoped = True

    def __init__(self, context: FeedContext) -> None:
        super().__init__(context)
        self._followers: FollowersByKey[str, PositionStream] = FollowersByKey()
        self._changed: dict[tuple[str, str], None] = {}

    def reads(self) -> Mapping[type[Event], Callable[[Any], None]]:
        return {PositionChanged: self._position_changed}

    def accept(self, admitted: Admitted) -> Stream:
        return PositionStream(self, admitted)

    def begin(self, stream: Stream) -> None:
        mine = cast(PositionStream, stream)
        positions: list[Position] = []
        for account in mine.accounts:
            self._followers.join(account, mine)
            positions += self.context.exchange.trading.positions.of(account)
        for first in range(0, len(positions) or 1, BATCH):
            snapshot = wire.CreatePositionSubscriptionResponse_Snapshot(
                positions=self._messages(positions[first : first + BATCH])
            )
            self.context.outbox.send(mine, part(_Response, snapshot=snapshot))

    def forget(self, stream: Stream) -> None:
        mine = cast(PositionStream, stream)
        for account in mine.accounts:
            self._followers.leave(account, mine)

    def heartbeat(self, stream: Stream) -> bytes:
        return part(_Response, heartbeat=wire.Heartbeat())

    def _position_changed(self, event: PositionChanged) -> None:
        if event.account in self._followers:
            self._changed[event.account, event.symbol] = None

    def flush(self) -> None:
        if not self._changed:
            return
        changed, self._changed = self._changed, {}
        for account, symbol in changed:
            position = self.context.exchange.trading.positions.get(account, symbol)
            topic = self._followers.get(account)
            if position is not None and topic is not None:
                frame = _in_update(_in_positions(encoded(self._messages([position])[0])))
                self.context.outbox.send_all(topic.values(), frame)

    def _messages(self, positions: Sequence[Position]) -> list[wire.Position]:
        trading = self.context.exchange.trading
        return [
            position_message(
                position, self.context.now, expired=trading.state(position.symbol) in EXPIRED_STATES
            )
            for position in positions
        ]
