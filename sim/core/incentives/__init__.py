"""Incentive programs: scores, rewards, rebates."""
