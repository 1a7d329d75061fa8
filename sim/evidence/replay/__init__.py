"""A recorded session replayed into a scenario, in virtual time, and compared value by value."""
