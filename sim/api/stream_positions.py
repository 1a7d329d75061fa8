"""Positions over gRPC: CreatePositionChangeSubscription, resumable and with settlement results (§6.2), and CreatePositionSubscription, a snapshot
and then changes.

A position change says how a position stands after one row of its ledger; those of one input come in one message.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from msgspec.structs import replace

from sim.api.acting import visible_accounts
from sim.api.exchange_messages import position_message
from sim.api.stream_feed import Desk, Feed, Stream, Topics
from sim.api.stream_replay import ReplayFeed, ReplayStream
from sim.api.stream_rules import BATCH
from sim.api.stream_wire import encoded, nesting, part
from sim.core.assumptions import POSITION_CHANGE_SNAPSHOT
from sim.core.events import Event, PositionChanged
from sim.core.lifecycle import GONE_STATES
from sim.core.positions import Position, Positions
from sim.core.resume_tokens import Place
from sim.kernel.instants import Instant, trade_date
from sim.messages import exchange_v1 as wire

if TYPE_CHECKING:
    from sim.api.pipeline import Admitted

# What a position ledger row of a trade says; only these grow what was bought and sold.
_FILL = "Fill"


class Standing(NamedTuple):
    """A position right after a row of its ledger."""

    position: Position
    row: PositionChanged


class PositionChangeFeed(ReplayFeed[Standing]):
    """Changes of a firm's positions."""

    response = wire.CreatePositionChangeSubscriptionResponse
    rows_field = "position_changes"

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self._changed: list[PositionChanged] = []
        self._length = 0

    def reads(self) -> Mapping[type[Event], Callable[[Any], None]]:
        return {PositionChanged: self._position_changed}

    def _position_changed(self, event: PositionChanged) -> None:
        if self.followed:
            self._length += 1
            self._changed.append(event)

    def begin(self, stream: Stream) -> None:
        if not self.followed:
            self._length = len(self._history)
        super().begin(stream)
        mine = cast(ReplayStream, stream)
        if mine.after is None and self.desk.exchange.ctx.assumptions.flag(POSITION_CHANGE_SNAPSHOT):
            self.send_rows(mine, self._held(mine.firm))

    def _held(self, firm: str) -> Iterator[tuple[Place, Standing]]:
        """Positions of a firm that are not flat, as they stand."""
        for account in sorted(self.accounts_of(firm)):
            last = {row.symbol: row for row in self._positions.rows(account)}
            for position in sorted(self._positions.of(account), key=lambda position: position.symbol):
                if position.net:
                    yield self.place(), Standing(position, last[position.symbol])

    def flush(self) -> None:
        if self._changed:
            changed, self._changed = self._changed, []
            for firm, standing in reversed(list(self._undone(changed))):
                self.tell(firm, standing)
        super().flush()

    def _undone(self, changed: Sequence[PositionChanged]) -> Iterator[tuple[str, Standing]]:
        """Firms' positions after each row of one instant, newest first: the present ones, less what later rows bought and sold."""
        later: dict[tuple[str, str], tuple[int, int]] = {}
        for row in reversed(changed):
            firm = self.firm_of(row.account)
            position = self._positions.get(row.account, row.symbol)
            if firm is None or position is None:
                continue
            bought, sold = later.get((row.account, row.symbol), (0, 0))
            was = replace(
                position,
                net=row.net,
                cost=row.cost,
                realized=row.realized,
                qty_bought=position.qty_bought - bought,
                qty_sold=position.qty_sold - sold,
                changed=row.at,
            )
            yield firm, Standing(was, row)
            more, less = _traded(row)
            later[row.account, row.symbol] = bought + more, sold + less

    def place(self) -> Place:
        # Counted while anybody listens, so that a token costs nothing that grows with the number of positions.
        return Place(self._length if self.followed else len(self._history), self.desk.now)

    def place_at(self, at: Instant) -> Place:
        return Place(bisect_left(self._history, at, key=lambda row: row.at), at)

    def rows_after(self, firm: str, place: Place) -> Iterator[tuple[Place, Standing]]:
        """The ledger is read from the beginning of the place's trade date: what a position began the day with is the net before its first row of the day."""
        history, accounts = self._history, frozenset(self.accounts_of(firm))
        if place.seq >= len(history):
            return
        start = bisect_left(history, trade_date(history[place.seq].at), hi=place.seq, key=lambda row: trade_date(row.at))
        read = [(seq, row) for seq in range(start, len(history)) if (row := history[seq]).account in accounts]
        standings = self._before([row for _, row in read])
        for seq, row in read:
            key = row.account, row.symbol
            standings[key] = position = _after(standings[key], row)
            if seq >= place.seq:
                yield Place(seq + 1, row.at), Standing(position, row)

    def _before(self, rows: Sequence[PositionChanged]) -> dict[tuple[str, str], Position]:
        """Positions as they were before rows that begin at a roll and run to now: the present ones, less what the rows did."""
        found: dict[tuple[str, str], Position] = {}
        for row in rows:
            key = row.account, row.symbol
            was = found.get(key)
            if was is None:
                now, net = self._positions.get(*key), row.net - row.qty_change
                if now is None:
                    raise LookupError(f"no position of ledger row {row.id}")
                found[key] = was = Position(*key, net=net, qty_bought=now.qty_bought, qty_sold=now.qty_sold, bod_net=net, changed=row.at)
            bought, sold = _traded(row)
            was.qty_bought -= bought
            was.qty_sold -= sold
        return found

    def symbol_of(self, row: Standing) -> str:
        return row.row.symbol

    def encode(self, firm: str, row: Standing) -> bytes:
        change = row.row
        settled = change.settlement is not None
        stats = self.desk.exchange.trading.stats(change.symbol) if settled else None
        return encoded(
            wire.PositionChange(
                position=position_message(row.position, change.at, expired=settled),
                change_time=change.at,
                settlement_px=change.settlement,
                settlement_preliminary=False if settled else None,
                settlement_set_time=(stats.settlement_set_time or change.at) if stats is not None else None,
                resolved=settled,
            )
        )

    @property
    def _positions(self) -> Positions:
        return self.desk.exchange.trading.positions

    @property
    def _history(self) -> Sequence[PositionChanged]:
        """Every row of the position ledger, oldest first."""
        return self._positions.save().rows


def _after(was: Position, row: PositionChanged) -> Position:
    """A position after a row, from what it was before."""
    bought, sold = _traded(row)
    return replace(
        was,
        net=row.net,
        cost=row.cost,
        realized=row.realized,
        qty_bought=was.qty_bought + bought,
        qty_sold=was.qty_sold + sold,
        bod_net=was.bod_net if trade_date(was.changed) == trade_date(row.at) else was.net,
        changed=row.at,
    )


def _traded(row: PositionChanged) -> tuple[int, int]:
    """What a row bought and sold."""
    qty = row.qty_change if row.description == _FILL else 0
    return max(qty, 0), max(-qty, 0)


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

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self._topics: Topics[str, PositionStream] = Topics()
        self._changed: dict[tuple[str, str], None] = {}

    def reads(self) -> Mapping[type[Event], Callable[[Any], None]]:
        return {PositionChanged: self._position_changed}

    def accept(self, admitted: Admitted) -> Stream:
        return PositionStream(self, admitted)

    def begin(self, stream: Stream) -> None:
        mine = cast(PositionStream, stream)
        positions: list[Position] = []
        for account in mine.accounts:
            self._topics.join(account, mine)
            positions += self.desk.exchange.trading.positions.of(account)
        for first in range(0, len(positions) or 1, BATCH):
            snapshot = wire.CreatePositionSubscriptionResponse_Snapshot(positions=self._messages(positions[first : first + BATCH]))
            self.desk.outbox.send(mine, part(_Response, snapshot=snapshot))

    def forget(self, stream: Stream) -> None:
        mine = cast(PositionStream, stream)
        for account in mine.accounts:
            self._topics.leave(account, mine)

    def heartbeat(self, stream: Stream) -> bytes:
        return part(_Response, heartbeat=wire.Heartbeat())

    def _position_changed(self, event: PositionChanged) -> None:
        if event.account in self._topics:
            self._changed[event.account, event.symbol] = None

    def flush(self) -> None:
        if not self._changed:
            return
        changed, self._changed = self._changed, {}
        for account, symbol in changed:
            position = self.desk.exchange.trading.positions.get(account, symbol)
            topic = self._topics.get(account)
            if position is not None and topic is not None:
                frame = _in_update(_in_positions(encoded(self._messages([position])[0])))
                self.desk.outbox.send_all(topic.values(), frame)

    def _messages(self, positions: Sequence[Position]) -> list[wire.Position]:
        trading = self.desk.exchange.trading
        return [position_message(position, self.desk.now, expired=trading.state(position.symbol) in GONE_STATES) for position in positions]
