"""Reference data of the gateway: sports, leagues, series, events, generated games."""
