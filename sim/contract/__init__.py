"""The table of operations, compiled from `proto/`, and what derives from it."""
