"""What monitoring sees: latencies of calls, and everything over OTLP. Imported when asked for."""
