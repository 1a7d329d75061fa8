"""Rows in order of happening, found by place, account, symbol and instant: what executions, trades
and orders are kept in.

Nothing is ever taken out but by a journey in time. A `Selection` is a window of rows as it stood at
one moment: rows added later are not in it, so a download may read from it for as long as its reader
takes without holding more than the next row.
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
    """A stretch of an index: `seqs[low:high]`."""

    seqs: Sequence[int]
    low: int
    high: int

    def __reversed__(self) -> Iterator[int]:
        return map(self.seqs.__getitem__, range(self.high - 1, self.low - 1, -1))

    def forward(self) -> Iterator[int]:
        return map(self.seqs.__getitem__, range(self.low, self.high))


class LogView(Generic[R]):
    """Seqs of a window of rows, each once, in either order; nothing is read before it is asked for."""

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
        found = map(self._rows.__getitem__, seqs)
        return found if self._of is None else filter(self._of, found)


class _KeyIndex(Generic[R]):
    """Seqs of rows by account and the text of one attribute, which never changes. Read on to the
    newest row when somebody asks: who adds rows pays nothing.
    """

    __slots__ = ("_found", "_owners", "_read", "_word")

    def __init__(self, attribute: str, owners: Callable[[R], tuple[str, ...]]) -> None:
        self._word = attrgetter(attribute)
        self._owners = owners
        # a bare number while a word has one row: a list for each of a million would cost seconds
        self._found: dict[str, dict[str, int | list[int]]] = {}
        self._read = 0

    def of(self, rows: Sequence[R], account: str, word: str) -> Sequence[int]:
        """Seqs of an account's rows that hold a word, ascending."""
        found, word_of, owners = self._found, self._word, self._owners
        for seq in range(self._read, len(rows)):
            if held := word_of(row := rows[seq]):
                for owner in owners(row):
                    _log_call(found.setdefault(owner, {}), held, seq)
        self._read = len(rows)
        seqs = found.get(account, {}).get(word, _NONE)
        return (seqs,) if isinstance(seqs, int) else seqs


def _log_call(words: dict[str, int | list[int]], word: str, seq: int) -> None:
    held = words.setdefault(word, seq)
    if isinstance(held, list):
        if held[-1] != seq:
            held.append(seq)
    elif held != seq:
        words[word] = [held, seq]


class IndexedLog(Generic[R]):
    """Rows and their indexes. `at` gives a row's instant, which never falls from one row to the
    next, `symbol` its symbol, `owners` its accounts.

    Whoever adds a row appends to `rows` and pays nothing more: an index is read on to the newest
    row when somebody asks.
    """

    __slots__ = (
        "_at",
        "_by_account",
        "_by_symbol",
        "_indexed",
        "_owners",
        "_symbol",
        "_words",
        "rows",
    )

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
        self._words: dict[str, _KeyIndex[R]] = {}

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, seq: int) -> R:
        return self.rows[seq]

    def __iter__(self) -> Iterator[R]:
        return iter(self.rows)

    def _read_on(self) -> None:
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
        """Seqs of an account's rows, ascending."""
        if self._indexed < len(self.rows):
            self._read_on()
        return self._by_account.get(account, _NONE)

    def of_symbol(self, symbol: str) -> Sequence[int]:
        """Seqs of a symbol's rows, ascending."""
        if self._indexed < len(self.rows):
            self._read_on()
        return self._by_symbol.get(symbol, _NONE)

    def symbols(self) -> Iterable[str]:
        """Symbols that have rows, or had some before others were cut."""
        if self._indexed < len(self.rows):
            self._read_on()
        return self._by_symbol

    def of_word(self, attribute: str, account: str, word: str) -> Sequence[int]:
        """Seqs of an account's rows whose attribute (dotted where it lies deeper) is a word,
        ascending. The attribute must never change once a row is added.
        """
        words = self._words.get(attribute)
        if words is None:
            words = self._words[attribute] = _KeyIndex(attribute, self._owners)
        return words.of(self.rows, account, word)

    def select(
        self,
        accounts: Iterable[str],
        symbol: str = "",
        start: Instant | None = None,
        end: Instant | None = None,
        words: Iterable[tuple[str, str]] = (),
    ) -> LogView[R]:
        """Rows of accounts from start to end, both included, by whichever index is shortest. Symbol
        and words (attribute, text) only choose the index; they may leave others' rows in.
        """
        mine = frozenset(accounts)
        groups = [self.of_account(account) for account in sorted(mine)]
        for attribute, word in words:
            groups = min(
                groups,
                [self.of_word(attribute, account, word) for account in sorted(mine)],
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
        """Those rows among these seqs that are of accounts, in order of happening."""
        mine, owners = frozenset(accounts), self._owners
        found = sorted(set(seqs))
        return LogView(
            self.rows, [_Run(found, 0, len(found))], lambda row: not mine.isdisjoint(owners(row))
        )

    def cut(self, count: int) -> None:
        """Forget the rows from the one with this seq on."""
        del self.rows[count:]
        self._words.clear()
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
    """Places of rows from start to end, both included."""
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
