"""Everything that reads runs from outside: explanations, conformance, search, replay, timeline."""
