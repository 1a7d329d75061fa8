"""gRPC: the exchange plane and the health service."""
