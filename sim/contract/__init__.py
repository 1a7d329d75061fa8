"""The table of operations, compiled from `proto/`, and the documents that derive from it."""
