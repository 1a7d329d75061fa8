"""Clients of every plane in the same process as the simulation."""
