"""The scorecard: what is known of the service, operation by operation, and its page."""
