"""Groups of commands of the command line. Like `cli.py` they import what they need when they run."""
