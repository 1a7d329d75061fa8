"""Everything that reads runs from outside: explain, conformance, search, replay, timeline."""
