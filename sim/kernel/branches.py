"""Branches: lines of inputs, each of which begins at a moment of another.

The tree lasts as long as the run. A rewind or a restore begins a branch at the moment it goes to; a
reset begins one of its own, at the start. A branch holds the places of its own lines only, and has
the lines of the branches that it came from up to where it left them: one number names one line on
each branch. Per line it keeps five integers (40 bytes), and nothing of what the line says.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterator
from typing import NamedTuple, TypeAlias


class Place(NamedTuple):
    """Where the line of an input stands, and what it left behind.

    `after` is the instant after the input, `timers` how many timers had been scheduled by then, and
    `cause` the nearest earlier input without which this one would not be (0: none, it came from
    outside or from the start).
    """

    offset: int
    size: int
    after: int
    timers: int
    cause: int


Tree: TypeAlias = "dict[str, Branch]"
_AFTER, _TIMERS = Place._fields.index("after"), Place._fields.index("timers")


def grow(tree: Tree, seed: int, begun: str, parent: Branch | None = None, at: int = 0) -> Branch:
    """A new branch of a tree; the first is called main."""
    name = f"branch-{len(tree)}" if tree else "main"
    branch = tree[name] = Branch(name, seed, begun, parent, at)
    return branch


class Branch:
    """A line of inputs. `begun` says by what: start, rewind, restore or reset; `timers` is how many
    timers the start of the run had scheduled.
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
        # an array for each field of `Place`: searching one calls no function for each step
        self._columns = tuple(array("q") for _ in Place._fields)

    def add(self, offset: int, size: int, after: int, timers: int, cause: int) -> None:
        """Add the next line, as the fields of its `Place`."""
        offsets, sizes, afters, numbers, causes = self._columns
        offsets.append(offset)
        sizes.append(size)
        afters.append(after)
        numbers.append(timers)
        causes.append(cause)

    def learn(self, seq: int, place: Place) -> None:
        """Have what a replay has found out about a line of its own: all but where it stands."""
        row = seq - self.from_seq - 1
        for column, number in zip(self._columns[2:], place[2:], strict=True):
            column[row] = number

    @property
    def seq(self) -> int:
        """The number of its last input."""
        return self.from_seq + len(self._columns[0])

    def copy(self, parent: Branch | None) -> Branch:
        """The same branch for a run that goes its own way."""
        branch = Branch(self.name, self.seed, self.begun, parent, self.from_seq)
        branch.timers = self.timers
        branch._columns = tuple(column[:] for column in self._columns)
        return branch

    def holder(self, seq: int) -> Branch:
        """The branch that the line `seq` of this one was written on."""
        branch = self
        while seq <= branch.from_seq and branch.parent is not None:
            branch = branch.parent
        return branch

    def place(self, seq: int) -> Place:
        """Where the line of an input is, from 1 to `self.seq`."""
        branch = self.holder(seq)
        row = seq - branch.from_seq - 1
        return Place(*(column[row] for column in branch._columns))

    def places(self, start: int, end: int) -> Iterator[Place]:
        """The places of the inputs `start`+1 … `end`."""
        for branch, first, last in self.parts(start, end):
            columns, origin = branch._columns, branch.from_seq
            for row in range(first - origin, last - origin):
                yield Place(*(column[row] for column in columns))

    def parts(self, start: int, end: int) -> list[tuple[Branch, int, int]]:
        """The inputs `start`+1 … `end` by the branch that each was written on, oldest first, each
        part as (branch, the input before its first, its last).
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
        """Number of inputs that were complete at an instant, inclusive."""
        return self._first(at, _AFTER, self.seq)

    def scheduled_by(self, timer: int, until: int) -> int:
        """The input, up to `until`, that scheduled a timer, by the timer's number; 0: the start."""
        seq = self._first(timer, _TIMERS, until)
        return seq + 1 if seq < until and timer >= self.timers else 0

    def _first(self, limit: int, column: int, until: int) -> int:
        """How many of the inputs up to `until` have at most `limit` in a column, which grows."""
        for branch, first, last in self.parts(0, until):
            origin = branch.from_seq
            row = bisect_right(branch._columns[column], limit, first - origin, last - origin)
            if row < last - origin:
                return origin + row
        return until
