"""The reports of an order, newest first, whatever was added, read and taken back in between."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from sim.core.market_data.execution_log import ExecutionChain

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
            theirs = [seq for seq, row in enumerate(rows) if row.order is order]
            assert list(chain.back(order)) == theirs[::-1]
