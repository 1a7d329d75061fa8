"""The vocabulary of the core: enums, quantities, refusals, instruments, orders, events, commands."""
