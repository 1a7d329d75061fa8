"""What a run meets, in the field's own words: the coverage that searches are guided by."""
