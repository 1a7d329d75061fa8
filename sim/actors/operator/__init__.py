"""What a tester or operator can do to a running exchange, by name."""
