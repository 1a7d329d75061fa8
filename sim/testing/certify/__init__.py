"""A conformance report of a client: its own tests, run against a fixed profile.

`profile.py` reads the profile, `runs.py` runs the client's command once per leg, `judge.py` derives
verdicts from the results, `report.py` writes them, `bundle.py` packs the evidence.
"""
