"""Order entry: admission, the engine queue, cancel/replace, crosses."""
