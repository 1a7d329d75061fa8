"""How close the sandbox is to a recorded service: what differs, where, and which side is wrong.

`sim compare`, `sim infer`, `sim drift` and the fidelity page use this package.
"""
