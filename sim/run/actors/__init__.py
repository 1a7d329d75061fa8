"""Who acts inside a run besides clients: the script of a scenario, scripted
participants, the operator.
"""
