"""What a run begins with: the scenario language, reference data, and the state at the start."""
