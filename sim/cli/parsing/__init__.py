"""Reading a command line: every mistake at once, and options from the environment."""
