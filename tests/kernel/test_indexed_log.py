"""An indexed log against a filter over all of its rows, while it grows and after time travel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from sim.kernel.indexes.indexed_log import IndexedLog, slice_by_time
from sim.kernel.indexes.restore_rows import restore, shared


@dataclass
class Row:
    at: int
    symbol: str
    buyer: str
    seller: str
    text: str

    @property
    def account(self) -> str:
        return self.buyer


rows = st.builds(
    Row,
    at=st.integers(0, 2),  # after the row before
    symbol=st.sampled_from("XYZ"),
    buyer=st.sampled_from("abc"),
    seller=st.sampled_from("abc"),
    text=st.sampled_from(["", "t", "u", "v"]),
)
bound = st.none() | st.integers(-1, 20)


def log() -> IndexedLog[Row]:
    return IndexedLog(
        lambda row: row.at, lambda row: row.symbol, lambda row: (row.buyer, row.seller)
    )


def later(created: list[Row], more: list[Row]) -> list[Row]:
    """Rows whose instants never decrease."""
    now, result = created[-1].at if created else 0, []
    for row in more:
        now += row.at
        result.append(Row(now, row.symbol, row.buyer, row.seller, row.text))
    return result


class Question(NamedTuple):
    accounts: set[str]
    symbol: str
    start: int | None
    end: int | None
    texts: list[str]


questions = st.builds(
    Question,
    st.sets(st.sampled_from("abc")),
    st.sampled_from(["", "X", "Q"]),
    bound,
    bound,
    st.lists(st.sampled_from("tuw"), max_size=2),
)


def check(result: IndexedLog[Row], question: Question) -> None:
    every = list(result)
    assert (len(result), [result[seq] for seq in range(len(result))]) == (len(every), every)
    for account in "abcd":
        mine = [seq for seq, row in enumerate(every) if account in (row.buyer, row.seller)]
        assert list(result.of_account(account)) == mine
        for text in "tuw":
            assert list(result.of_text("text", account, text)) == [
                seq for seq in mine if every[seq].text == text
            ]
    for symbol in "XYZQ":
        assert list(result.of_symbol(symbol)) == [
            seq for seq, row in enumerate(every) if row.symbol == symbol
        ]
    assert {row.symbol for row in every} <= set(result.symbols())
    check_selection(result, every, question)


def check_selection(result: IndexedLog[Row], every: list[Row], asked: Question) -> None:
    """The result may hold more than was asked, but of the accounts and of the time."""
    texts = [("text", text) for text in asked.texts]
    view = result.select(asked.accounts, asked.symbol, asked.start, asked.end, texts)
    got = list(view)
    assert list(reversed(view)) == got[::-1] == list(view)[::-1]
    allowed = [
        row
        for row in every
        if asked.accounts & {row.buyer, row.seller}
        and (asked.start is None or asked.start <= row.at)
        and (asked.end is None or row.at <= asked.end)
    ]

    def fits(row: Row) -> bool:
        return (not asked.symbol or row.symbol == asked.symbol) and all(
            row.text == text for text in asked.texts
        )

    assert [id(row) for row in got if fits(row)] == [id(row) for row in allowed if fits(row)]
    assert [id(row) for row in got] == [id(row) for row in allowed if row in got]
    if not asked.symbol and not asked.texts:
        assert got == allowed
    shortest = [allowed, *([row for row in allowed if row.text == text] for text in asked.texts)]
    if not asked.symbol and asked.start is None and asked.end is None:
        assert len(got) == min(map(len, shortest)) or len(asked.accounts) > 1
    seqs = range(0, len(every), 2)
    some = result.some([*reversed(seqs), *seqs], asked.accounts)
    assert list(some) == [
        every[seq] for seq in seqs if asked.accounts & {every[seq].buyer, every[seq].seller}
    ]


@given(
    st.lists(st.lists(rows, max_size=8), min_size=1, max_size=4),
    st.lists(rows, max_size=5),
    st.integers(0, 20),
    questions,
    st.booleans(),
)
def test_a_log_finds_what_filtering_finds(
    batches: list[list[Row]], other: list[Row], count: int, question: Question, read: bool
) -> None:
    result = log()
    for batch in batches:
        if read:
            check(result, question)
        before = result.select("abc")
        held = list(result)
        result.rows += later(result.rows, batch)
        assert list(before) == held, "rows added later are not in it"
    check(result, question)
    old = result.rows
    kept = list(old)
    count %= len(old) + 1
    if not read:
        result.rows += later(old, other)  # no index has them yet
    result.become([*old[:count], *later(old[:count], other)], count)
    check(result, question)
    assert old[: len(kept)] == kept
    result.become([], 0)
    check(result, question)
    assert list(result.symbols()) == []


def test_the_shortest_index_is_read_and_a_tie_is_no_reason_to_filter() -> None:
    result = log()
    result.rows += later([], [Row(1, "X", "a", "a", "t"), Row(1, "Y", "a", "b", "u")] * 2)
    result.rows += later(result.rows, [Row(1, "X", "b", "b", "t")])
    assert [row.symbol for row in result.select(["a"], symbol="Y")] == ["Y", "Y"]
    assert [row.symbol for row in result.select(["b"], symbol="X")] == ["Y", "Y", "X"]
    assert [row.text for row in result.select(["a"], texts=[("text", "t")])] == ["t", "t"]
    assert len(list(result.select(["a", "b"]))) == 5


@given(st.lists(rows, max_size=12), st.integers(-1, 12), bound)
def test_a_slice_by_time_has_both_ends(given_rows: list[Row], start: int, end: int | None) -> None:
    created = later([], given_rows)
    assert [created[seq] for seq in slice_by_time(created, start, end)] == [
        row for row in created if row.at >= start and (end is None or row.at <= end)
    ]


@given(st.lists(rows, max_size=10), st.lists(rows, max_size=6), st.integers(0, 10), st.booleans())
def test_an_index_by_account_follows_to_another_moment(
    now: list[Row], other: list[Row], count: int, twins: bool
) -> None:
    count %= len(now) + 1
    saved = [*now[:count], *other]
    if twins:  # equal rows of another branch are other rows
        saved += [Row(**vars(row)) for row in now[count:]]
    assert shared(now, saved) == shared(saved, now) == count
    assert shared([(row,) for row in now], [(row,) for row in saved], lambda row: row[0]) == count
    index: dict[str, list[Row]] = {}
    for row in now:
        index.setdefault(row.account, []).append(row)
    restore(index, now, saved)
    for account in "abc":
        assert [id(row) for row in index.get(account, [])] == [
            id(row) for row in saved if row.account == account
        ]
