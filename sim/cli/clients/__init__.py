"""Commands that run a client's own tests."""
