"""One run: the engine, the actors of a scenario, the loader, and clients in the same process."""
