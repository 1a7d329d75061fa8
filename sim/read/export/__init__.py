"""A run as a file for other tools: a scenario written back from a journal."""
