"""Random sessions of participants' orders: entry, matching, replaces, cancels, fees, states."""

from __future__ import annotations

import pytest

from tests.deeds import inputs_since
from tests.oracle.session import Session

# Rows of which each takes precedence in some instruments, at some instants.
FEES = """
fees:
  schedule:
    - {taker: "0.0475", maker: "-0.0125", cap: "0.03"}
    - {product: fine, taker: "0.07", tail: "0.04", from: 2026-10-06T14:00:02Z}
    - {market_type: totals, maker: "0.02", cumulative: false}
    - {market_type: totals, fee_class: combo, maker: "-0.005", from: 2026-10-06T14:00:06Z}
    - {fee_class: combo, cap: "0.4", tail: "0.01"}
    - {product: thin, cumulative: false}
"""


class OrderSession(Session):
    """A session of orders; seeds differ in fees and in how much money there is."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed, FEES if seed % 2 else "", "60" if seed % 3 else "100000")

    def trade_on(self, count: int) -> None:
        """Make random moves."""
        self.play(
            count,
            (self.enter, 12),
            (self.replace, 5),
            (self.cancel, 1),
            (self.wait, 1),
            (self.next_day, 0.1),
            (self.assume, 0.3),
            (self.change_state, 0.5),
            (self.reopen, 1),
        )


@pytest.mark.parametrize("seed", range(12))
def test_orders_with_every_term_keep_the_law(seed: int) -> None:
    """M1-M24, M26-M37, M41-M43, L3-L8, L12, L16-L22, P1-P5, P9-P12, P20-P23, as clients see them."""
    OrderSession(seed).trade_on(250)


@pytest.mark.parametrize("seed", range(4))
def test_a_session_goes_on_in_a_fork_as_in_its_origin(seed: int) -> None:
    session = OrderSession(seed)
    session.trade_on(120)
    origin = session.desk.simulation
    fork, seq = origin.fork(), origin.seq
    session.trade_on(120)
    for repeated in inputs_since(origin, seq):
        fork.handle(repeated)
    assert fork.digest == origin.digest
