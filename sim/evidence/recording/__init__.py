"""Recordings of real traffic: the calls and streams between a client and a service, in one
file without secrets.
"""
