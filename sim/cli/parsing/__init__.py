"""Parsing of the command line: all mistakes at once, and options from the environment."""
