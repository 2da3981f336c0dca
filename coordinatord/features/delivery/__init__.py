"""Tells each seat what it is owed, at the first moment when telling is safe.

Invariant: the intent is stored before anything is typed, a seat is told once, and what may have been typed
is never typed again by a machine. Start with `records.py`, then `pacing.py` (what to do now) and `run.py`.
"""
