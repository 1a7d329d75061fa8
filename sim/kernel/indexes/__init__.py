"""Generic collections: ordered indexes, indexed logs, change indexes."""
