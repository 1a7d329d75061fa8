"""Handlers of the exchange plane, shared by REST and gRPC."""
