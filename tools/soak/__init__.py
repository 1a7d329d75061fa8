"""Long searches. Each module runs alone (`python -m tools.soak.NAME --count N --seed N`); CI runs a
small share of each from a fixed seed.
"""
