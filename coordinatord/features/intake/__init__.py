"""Turns the host's events into fresh looks.

Invariant: an event is a hint to look again and nothing else; a slow snapshot makes up for every lost one.
Start with `run.py`.
"""
