"""The steps of a scenario: when they run, what they do, what they expect."""
