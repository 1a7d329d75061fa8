"""Commands that read the journals of finished runs."""
