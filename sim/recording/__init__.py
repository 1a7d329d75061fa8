"""Recordings of real traffic: what a client and a service said to each other, in one file without
secrets (design: recordings).
"""
