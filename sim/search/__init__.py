"""Searches over many runs, each a simulation of its own: sweep, explore, shrink, bisect, hunt."""
