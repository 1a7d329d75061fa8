"""An append-only log with indexes by position, account, symbol, instant and text of an attribute,
used for executions, trades and orders.

Rows leave the log only through time travel (`become`), which gives it another list; holders of the
previous list keep its rows. Adding a row means appending to `rows`, which costs nothing more,
because each index is updated when it is read. A `LogView` is a range of rows at one moment. Rows
added later are not in it, so a download may read it for as long as its client takes, and it holds
no rows itself.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from heapq import merge
from operator import attrgetter
from typing import Generic, NamedTuple, Protocol, TypeVar

from sim.kernel.instants import Instant


class _Dated(Protocol):
    @property
    def at(self) -> Instant: ...


R = TypeVar("R")
D = TypeVar("D", bound=_Dated)
_NONE: tuple[int, ...] = ()


class _Run(NamedTuple):
    """A slice of an index: `seqs[low:high]`."""

    seqs: Sequence[int]
    low: int
    high: int

    def __reversed__(self) -> Iterator[int]:
        return map(self.seqs.__getitem__, range(self.high - 1, self.low - 1, -1))

    def forward(self) -> Iterator[int]:
        return map(self.seqs.__getitem__, range(self.low, self.high))


class LogView(Generic[R]):
    """Rows of some slices of indexes, each row once, in either order, read on demand."""

    __slots__ = ("_of", "_rows", "_runs")

    def __init__(
        self, rows: Sequence[R], runs: Sequence[_Run], of: Callable[[R], bool] | None
    ) -> None:
        self._rows = rows
        self._runs = runs
        self._of = of

    def __iter__(self) -> Iterator[R]:
        return self._read(
            _distinct(merge(*[run.forward() for run in self._runs]))
            if len(self._runs) != 1
            else self._runs[0].forward()
        )

    def __reversed__(self) -> Iterator[R]:
        return self._read(
            _distinct(merge(*map(reversed, self._runs), reverse=True))
            if len(self._runs) != 1
            else reversed(self._runs[0])
        )

    def _read(self, seqs: Iterator[int]) -> Iterator[R]:
        rows = map(self._rows.__getitem__, seqs)
        return rows if self._of is None else filter(self._of, rows)


class _KeyIndex(Generic[R]):
    """Seqs of rows by account and text of one attribute, which must never change."""

    __slots__ = ("_owners", "_read", "_seqs", "_text")

    def __init__(self, attribute: str, owners: Callable[[R], tuple[str, ...]]) -> None:
        self._text = attrgetter(attribute)
        self._owners = owners
        # A bare number as long as a text has one row: lists for a million rows would take seconds.
        self._seqs: dict[str, dict[str, int | list[int]]] = {}
        self._read = 0

    def of(self, rows: Sequence[R], account: str, text: str) -> Sequence[int]:
        """Return the seqs of an account's rows with this text, ascending."""
        by_owner, text_of, owners = self._seqs, self._text, self._owners
        for seq in range(self._read, len(rows)):
            if value := text_of(row := rows[seq]):
                for owner in owners(row):
                    _add_seq(by_owner.setdefault(owner, {}), value, seq)
        self._read = len(rows)
        seqs = by_owner.get(account, {}).get(text, _NONE)
        return (seqs,) if isinstance(seqs, int) else seqs


def _add_seq(by_text: dict[str, int | list[int]], text: str, seq: int) -> None:
    seqs = by_text.setdefault(text, seq)
    if isinstance(seqs, list):
        if seqs[-1] != seq:
            seqs.append(seq)
    elif seqs != seq:
        by_text[text] = [seqs, seq]


class IndexedLog(Generic[R]):
    """Rows and their indexes.

    `at` returns a row's instant, which never decreases from one row to the next, `symbol` its
    symbol, `owners` its accounts (one, or two that may be the same).
    """

    def __init__(
        self,
        at: Callable[[R], Instant],
        symbol: Callable[[R], str],
        owners: Callable[[R], tuple[str, ...]],
    ) -> None:
        self._at = at
        self._symbol = symbol
        self._owners = owners
        self.rows: list[R] = []
        self._by_account: dict[str, list[int]] = {}
        self._by_symbol: dict[str, list[int]] = {}
        self._indexed = 0
        self._texts: dict[str, _KeyIndex[R]] = {}

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, seq: int) -> R:
        return self.rows[seq]

    def __iter__(self) -> Iterator[R]:
        return iter(self.rows)

    def _update(self) -> None:
        rows, symbol_of, owners_of = self.rows, self._symbol, self._owners
        by_symbol, by_account = self._by_symbol, self._by_account
        for seq in range(self._indexed, len(rows)):
            row = rows[seq]
            symbol, owners = symbol_of(row), owners_of(row)
            try:
                by_symbol[symbol].append(seq)
            except KeyError:
                by_symbol[symbol] = [seq]
            for owner in owners if owners[0] != owners[-1] else owners[:1]:
                try:
                    by_account[owner].append(seq)
                except KeyError:
                    by_account[owner] = [seq]
        self._indexed = len(rows)

    def of_account(self, account: str) -> Sequence[int]:
        """Return the seqs of an account's rows, ascending."""
        if self._indexed < len(self.rows):
            self._update()
        return self._by_account.get(account, _NONE)

    def of_symbol(self, symbol: str) -> Sequence[int]:
        """Return the seqs of a symbol's rows, ascending."""
        if self._indexed < len(self.rows):
            self._update()
        return self._by_symbol.get(symbol, _NONE)

    def symbols(self) -> Iterable[str]:
        """Return the symbols that have rows, or had some before `become`."""
        if self._indexed < len(self.rows):
            self._update()
        return self._by_symbol

    def of_text(self, attribute: str, account: str, text: str) -> Sequence[int]:
        """Return the seqs of an account's rows whose attribute (a dotted path) has a text,
        ascending.

        The attribute must never change once a row is added.
        """
        index = self._texts.get(attribute)
        if index is None:
            index = self._texts[attribute] = _KeyIndex(attribute, self._owners)
        return index.of(self.rows, account, text)

    def select(
        self,
        accounts: Iterable[str],
        symbol: str = "",
        start: Instant | None = None,
        end: Instant | None = None,
        texts: Iterable[tuple[str, str]] = (),
    ) -> LogView[R]:
        """Return the rows of accounts from start to end, both inclusive, using the shortest index.

        `symbol` and `texts` (attribute, text) only choose the index: the result may
        contain other rows.
        """
        mine = frozenset(accounts)
        groups = [self.of_account(account) for account in sorted(mine)]
        for attribute, text in texts:
            groups = min(
                groups,
                [self.of_text(attribute, account, text) for account in sorted(mine)],
                key=_total,
            )
        if symbol and len(by_symbol := self.of_symbol(symbol)) < _total(groups):
            owners = self._owners
            return LogView(
                self.rows,
                [self._run(by_symbol, start, end)],
                lambda row: not mine.isdisjoint(owners(row)),
            )
        return LogView(self.rows, [self._run(seqs, start, end) for seqs in groups if seqs], None)

    def some(self, seqs: Iterable[int], accounts: Iterable[str]) -> LogView[R]:
        """Return the rows with these seqs that belong to the accounts, in order."""
        mine, owners = frozenset(accounts), self._owners
        ordered = sorted(set(seqs))
        run = _Run(ordered, 0, len(ordered))
        return LogView(self.rows, [run], lambda row: not mine.isdisjoint(owners(row)))

    def become(self, rows: list[R], count: int) -> None:
        """Take over another list of rows.

        The first `count` rows must be the current ones, or have the same instant,
        symbol and owners.
        """
        self.rows = rows
        self._texts.clear()
        if count >= self._indexed:
            return
        self._indexed = count
        for index in (self._by_account, self._by_symbol):
            if not count:
                index.clear()
            for seqs in index.values():
                if seqs and seqs[-1] >= count:
                    del seqs[bisect_left(seqs, count) :]

    def _run(self, seqs: Sequence[int], start: Instant | None, end: Instant | None) -> _Run:
        rows, at = self.rows, self._at
        low = 0 if start is None else bisect_left(seqs, start, key=lambda seq: at(rows[seq]))
        high = (
            len(seqs)
            if end is None
            else bisect_right(seqs, end, low, key=lambda seq: at(rows[seq]))
        )
        return _Run(seqs, low, high)


def slice_by_time(rows: Sequence[D], start: Instant, end: Instant | None) -> range:
    """Return the positions of the rows from start to end, both inclusive."""
    low = bisect_left(rows, start, key=lambda row: row.at)
    return range(
        low, len(rows) if end is None else bisect_right(rows, end, low, key=lambda row: row.at)
    )


def _total(groups: Sequence[Sequence[int]]) -> int:
    return sum(map(len, groups))


def _distinct(seqs: Iterable[int]) -> Iterator[int]:
    last = -1
    for seq in seqs:
        if seq != last:
            last = seq
            yield seq
