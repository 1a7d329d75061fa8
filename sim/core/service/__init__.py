"""The service around trading: maintenance, rate limits, faults, presets."""
