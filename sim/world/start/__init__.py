"""The state a run begins with, built from a scenario."""
