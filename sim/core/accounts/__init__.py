"""The cash ledger, positions, collateral and fees."""
