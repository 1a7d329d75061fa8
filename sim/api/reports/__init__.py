"""Report searches and CSV downloads."""
