"""The index of orders against a plain list of them, over additions, changes and journeys to other
branches: it finds what is in the list.
"""

from __future__ import annotations

from itertools import count
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from sim.core.market_data.execution_log import ExecutionChain
from sim.core.model.enums import OrderState, OrderType, Side, TimeInForce
from sim.core.model.orders import Order, Orders
from sim.core.model.refusals import NotFound

ACCOUNTS, SYMBOLS, NAMES = ("a", "b"), ("X", "Y"), ("", "one", "two")
STATES = (OrderState.NEW, OrderState.PENDING_NEW, OrderState.PENDING_NEW, OrderState.REJECTED)


def is_live(order: Order) -> bool:
    return order.leaves_qty > 0 or order.state is OrderState.PENDING_NEW


class Model:
    """The orders of the current branch, oldest first, beside the index under test."""

    def __init__(self) -> None:
        self.index = Orders()
        self.rows: list[Order] = []
        self.kept: list[list[Order]] = [[]]
        self.priorities = count(1)

    def live(self) -> list[Order]:
        return [row for row in self.rows if is_live(row)]

    def move(self, rng: Random) -> None:
        kind = rng.choice(("add", "add", "add", "change", "change", "change", "keep", "go"))
        if kind == "add":
            self.add(*map(rng.choice, (ACCOUNTS, SYMBOLS, NAMES)), rng.choice(STATES))
        elif kind == "keep":
            self.kept.append(self.copies(self.rows))
        elif kind == "go":
            self.rows = self.copies(rng.choice(self.kept[-3:]))
            self.index.load(list(self.rows))
        elif live := self.live():
            self.change(rng.choice(("end", "move", "take", "refuse")), rng.choice(live))

    def copies(self, rows: list[Order]) -> list[Order]:
        """A finished order never changes, so it is shared."""
        return [replace(row) if is_live(row) else row for row in rows]

    def add(self, account: str, symbol: str, name: str, state: OrderState) -> None:
        number = len(self.rows) + 1
        held = {(item.account, item.clord_id) for item in self.live() if item.clord_id}
        if (account, name) in held:
            return  # the id of an open order is refused before (rule M6)
        pending = state is OrderState.PENDING_NEW
        order = Order(
            id=f"o{number}",  # an order of another branch may have had it
            symbol=symbol,
            account=account,
            participant=f"user of {account}",
            side=Side.BUY,
            type=OrderType.LIMIT,
            tif=TimeInForce.DAY,
            price=50,
            qty=1,
            leaves_qty=int(state is OrderState.NEW),
            price_scale=100,
            qty_scale=1,
            state=state,
            clord_id=name,
            created=number // 2,
            priority=next(self.priorities),
        )
        self.index.add(order)
        self.rows.append(order)
        assert order.seq == number
        if pending or order.leaves_qty:
            self.index.opened(order)

    def change(self, kind: str, order: Order) -> None:
        """An order ends, leaves the queue of the engine for the book or for nothing, or moves."""
        pending = order.state is OrderState.PENDING_NEW
        if kind == "end" and not pending:
            order.state, order.leaves_qty = OrderState.FILLED, 0
            self.index.closed(order)
        elif kind in ("take", "refuse") and pending:
            self.index.closed(order)
            taken = kind == "take"
            order.state = OrderState.NEW if taken else OrderState.REJECTED
            order.leaves_qty = int(taken)
            self.index.add(order)
            if taken:
                self.index.opened(order)
        elif kind == "move" and not pending:
            moved = replace(order, priority=next(self.priorities))
            order.leaves_qty = 0
            self.rows[order.seq - 1] = moved
            self.index.closed(order)
            self.index.add(moved)
            self.index.opened(moved)

    def check(self) -> None:
        index, rows, live = self.index, self.rows, self.live()
        assert (list(index.all()), len(index), index.save()) == (rows, len(rows), rows)
        assert all(index.get(row.id) is index.require(row.id) is row for row in rows)
        unknown = f"o{len(rows) + 1}"
        assert index.get(unknown) is None
        with pytest.raises(NotFound):
            index.require(unknown)
        assert index.open() == sorted(live, key=lambda item: item.priority)
        assert index.open_count == len(live) == len(list(index.live()))
        working = [item.id for item in live if item.state is not OrderState.PENDING_NEW]
        result = index.working()
        assert sorted(item.id for mine in result.values() for item in mine) == sorted(working)
        for account in ACCOUNTS:
            mine = [row for row in rows if row.account == account]
            assert index.of_account(account) == [item for item in live if item.account == account]
            assert {item.account for item in result.get(account, ())} <= {account}
            assert list(index.rows.select((account,))) == mine
            for name in NAMES[1:]:
                named = (item for item in reversed(mine) if item.clord_id == name)
                newest = next(
                    (item for item in named if item.state is not OrderState.REJECTED), None
                )
                assert index.by_clord_id(f"user of {account}", name) is newest
        for symbol in SYMBOLS:
            assert index.open((symbol,)) == [item for item in index.open() if item.symbol == symbol]
            of_symbol = [item for item in live if item.symbol == symbol]
            assert index.open_of(("b", "a"), (symbol,)) == of_symbol
            chosen = index.rows.select(ACCOUNTS, symbol)
            assert [item for item in chosen if item.symbol == symbol] == [
                row for row in rows if row.symbol == symbol
            ]
        assert index.open_of(ACCOUNTS) == live


@given(seed=st.integers(0, 2**32))
def test_the_index_finds_what_a_list_of_the_branch_holds(seed: int) -> None:
    rng, model = Random(seed), Model()
    for _ in range(60):
        model.move(rng)
        model.check()


# ---- the reports of an order

ORDERS = [SimpleNamespace(seq=number) for number in range(5)]
STEPS = st.one_of(
    st.tuples(st.just("add"), st.integers(0, 4)),
    st.tuples(st.just("cut"), st.integers(0, 12)),
    st.tuples(st.just("read"), st.integers(0, 4)),
)


@given(st.lists(STEPS, max_size=40))
def test_a_chain_is_the_list_of_an_orders_reports(steps: list[tuple[str, int]]) -> None:
    rows: list[Any] = []
    chain = ExecutionChain(rows)
    for step, number in steps:
        if step == "add":
            rows.append(SimpleNamespace(order=ORDERS[number]))
        elif step == "cut":
            rows = rows[:number]
            chain.become(rows, len(rows))
        order: Any = ORDERS[number % 5]
        if step == "read":
            reference = [seq for seq, row in enumerate(rows) if row.order is order]
            assert list(chain.back(order)) == reference[::-1]
