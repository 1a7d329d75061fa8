"""What the gateway shows of the world: sports, leagues, series, events, generated games."""
