"""Deposits, withdrawals, transfers, and idempotent requests of partners."""
