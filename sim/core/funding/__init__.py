"""Deposits, withdrawals, transfers, and the idempotent requests of partners."""
