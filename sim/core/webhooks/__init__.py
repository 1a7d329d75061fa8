"""Webhook registrations, deliveries, payloads."""
