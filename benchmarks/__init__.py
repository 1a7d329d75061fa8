"""Benchmarks: `python -m benchmarks` measures every area beside a floor and prints the table."""
