"""The parts of account state that a fill changes."""

from __future__ import annotations

from msgspec import Struct

from sim.core.accounts.fees import Fees
from sim.core.accounts.ledger import Ledger
from sim.core.accounts.positions import Positions
from sim.core.accounts.risk import Risk


class AccountState(Struct, frozen=True):
    """Positions, cash, collateral and fees, as matching needs them to book a fill."""

    positions: Positions
    ledger: Ledger
    risk: Risk
    fees: Fees
