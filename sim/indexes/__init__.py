"""Collections that know nothing of markets: ordered indexes, indexed logs, change indexes."""
