"""How close we are to a service that was recorded: differences, where they are, and whose they are.

`sim compare` asks this package.
"""
