"""Markets on an index that follow the clock."""
