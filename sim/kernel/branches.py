"""Branches: sequences of inputs, each of which begins at a moment of another.

The tree lasts as long as the run. A rewind or a restore begins a branch at the moment it
returns to; a reset begins an independent one, at the start. A branch stores the positions of its
own lines only, and shares those of the branches it came from, up to where it left them. A
number therefore identifies one line on each branch. Each line takes six integers (48 bytes);
its content is not stored.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterator
from operator import itemgetter
from typing import NamedTuple, TypeAlias


class LinePosition(NamedTuple):
    """Where the line of an input is in the file, and what the input left behind.

    `after` is the instant after the input, `timers` and `trades` how many timers were scheduled and
    trades made by then, and `cause` the nearest earlier input without which this one would not
    exist (0: none, it came from outside or from the start).
    """

    offset: int
    size: int
    after: int
    timers: int
    cause: int
    trades: int = 0


Tree: TypeAlias = "dict[str, Branch]"
_AFTER, _TIMERS, _TRADES = map(LinePosition._fields.index, ("after", "timers", "trades"))


def grow(tree: Tree, seed: int, begun: str, parent: Branch | None = None, at: int = 0) -> Branch:
    """Add a new branch to a tree and return it. The first one is called main."""
    name = f"branch-{len(tree)}" if tree else "main"
    branch = tree[name] = Branch(name, seed, begun, parent, at)
    return branch


class Branch:
    """A sequence of inputs.

    `begun` is what began it: start, rewind, restore or reset. `timers` is the number of timers that
    the start of the run had scheduled.
    """

    __slots__ = (
        *("__weakref__", "_columns", "begun", "from_seq", "name", "parent", "seed", "timers"),
    )

    def __init__(
        self, name: str, seed: int, begun: str = "start", parent: Branch | None = None, at: int = 0
    ) -> None:
        self.name = name
        self.seed = seed
        self.begun = begun
        self.parent = parent
        self.from_seq = at
        self.timers: int = parent.timers if parent is not None else 0
        # One array per field of `LinePosition`, so that a search calls no function at each step.
        self._columns = tuple(array("q") for _ in LinePosition._fields)

    def add(
        self, offset: int, size: int, after: int, timers: int, cause: int, trades: int = 0
    ) -> None:
        """Add the next line, given as the fields of its `LinePosition`."""
        offsets, sizes, instants_after, numbers, causes, counts = self._columns
        offsets.append(offset)
        sizes.append(size)
        instants_after.append(after)
        numbers.append(timers)
        causes.append(cause)
        counts.append(trades)

    def learn(self, seq: int, learnt: LinePosition) -> None:
        """Record what a replay has found out about a line of this branch: everything
        but its position.
        """
        row = seq - self.from_seq - 1
        for column, number in zip(self._columns[2:], learnt[2:], strict=True):
            column[row] = number

    @property
    def seq(self) -> int:
        """The number of its last input."""
        return self.from_seq + len(self._columns[0])

    def copy(self, parent: Branch | None) -> Branch:
        """Return a copy of the branch for a run that continues independently."""
        branch = Branch(self.name, self.seed, self.begun, parent, self.from_seq)
        branch.timers = self.timers
        branch._columns = tuple(column[:] for column in self._columns)
        return branch

    def holder(self, seq: int) -> Branch:
        """Return the branch on which line `seq` of this one was written."""
        branch = self
        while seq <= branch.from_seq and branch.parent is not None:
            branch = branch.parent
        return branch

    def position(self, seq: int) -> LinePosition:
        """Return the position of the line of an input, from 1 to `self.seq`."""
        branch = self.holder(seq)
        row = seq - branch.from_seq - 1
        return LinePosition(*map(itemgetter(row), branch._columns))

    def positions(self, start: int, end: int) -> Iterator[LinePosition]:
        """Yield the positions of the inputs `start`+1 … `end`."""
        for branch, first, last in self.parts(start, end):
            columns, origin = branch._columns, branch.from_seq
            for row in range(first - origin, last - origin):
                yield LinePosition(*map(itemgetter(row), columns))

    def parts(self, start: int, end: int) -> list[tuple[Branch, int, int]]:
        """Return the inputs `start`+1 … `end` by the branch on which they were written, oldest
        first.

        Each part is (branch, the input before its first, its last).
        """
        spans: list[tuple[Branch, int, int]] = []
        branch: Branch | None = self
        while branch is not None and end > start:
            origin = branch.from_seq if branch.parent is not None else 0
            if end > origin:
                spans.append((branch, max(start, origin), end))
                end = origin
            branch = branch.parent
        return spans[::-1]

    def seq_at(self, at: int) -> int:
        """Return the number of inputs that were complete at an instant, inclusive."""
        return self._first(at, _AFTER, self.seq)

    def scheduled_by(self, timer: int, until: int) -> int:
        """Return the input, up to `until`, that scheduled a timer, by the timer's number.

        0 means the start.
        """
        seq = self._first(timer, _TIMERS, until)
        return seq + 1 if seq < until and timer >= self.timers else 0

    def traded_by(self, trade: int, until: int) -> int:
        """Return the input, up to `until`, that made a trade, counted from 0; 0: none of them."""
        seq = self._first(trade, _TRADES, until)
        return seq + 1 if seq < until else 0

    def _first(self, limit: int, column: int, until: int) -> int:
        """Return how many of the inputs up to `until` have at most `limit` in
        an ascending column.
        """
        for branch, first, last in self.parts(0, until):
            origin = branch.from_seq
            row = bisect_right(branch._columns[column], limit, first - origin, last - origin)
            if row < last - origin:
                return origin + row
        return until
