"""Handlers of the exchange API, shared by REST and gRPC."""
