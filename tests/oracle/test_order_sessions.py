"""Random sessions of participants' orders: entry, matching, replaces, cancels, fees, states."""

from __future__ import annotations

import pytest

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


@pytest.mark.parametrize("seed", range(12))
def test_orders_with_every_term_keep_the_law(seed: int) -> None:
    """M1-M24, M26-M34, M41-M43, L16-L22, P1-P5, P9-P12, P20-P23, as clients see them."""
    session = Session(seed, FEES if seed % 3 == 0 else "", cash="60" if seed % 2 else "100000")
    session.play(
        250,
        (session.enter, 12),
        (session.replace, 5),
        (session.cancel, 1),
        (session.wait, 1),
        (session.assume, 0.3),
        (session.change_state, 0.5),
        (session.reopen, 1),
    )
