"""Enums, quantities, refusals, instruments, orders, events and commands, shared by
the whole core."""
