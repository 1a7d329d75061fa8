"""What happened in a run, at any moment of it: rows, records, branches and states."""
