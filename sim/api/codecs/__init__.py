"""Messages to and from JSON, query strings and protobuf."""
