"""Commands that search for failures."""
