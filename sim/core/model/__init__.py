"""Enums, quantities, refusals, instruments, orders, events, commands: what all of the core uses."""
