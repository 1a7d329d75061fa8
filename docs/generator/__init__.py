"""The parts of `docs/generate.py`: each module makes the blocks of one kind of page."""
