"""The cash ledger, positions, risk, fees."""
