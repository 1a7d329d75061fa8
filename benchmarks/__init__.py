"""Figures as ratios against a floor measured in the same run. `python -m benchmarks` prints the
table.
"""
