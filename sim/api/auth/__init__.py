"""The token issuer."""
