"""What is derived from the record of a run: history, timeline, explain, conformance, reports."""
