"""What a run exercises, in the field's own words: the coverage that guides searches."""
