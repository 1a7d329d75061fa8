"""Money in and out of accounts, partners."""
