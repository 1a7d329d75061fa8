"""pytest plugin (entry point `pytest11`): the `exchange` fixture."""
