"""Firms, users, credentials, identity verification."""
