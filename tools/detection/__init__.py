"""Detection power: forty bugs planted on purpose, and which of our tools finds which."""
