"""What happened in a run, at any moment of it: rows, records, branches and states (design: one
interface for everything that looks at a run).
"""
