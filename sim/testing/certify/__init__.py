"""A conformance report of a client: its own tests, run against a fixed profile.

`profile.py` reads what is asked, `runs.py` runs the client's command once a leg, `judge.py` turns
what that left into verdicts, `report.py` writes them, `bundle.py` packs what they rest on.
"""
