"""What a worker claims about its task, and what the coordinator found.

Invariant: a report is a claim; only a verification by the coordinator closes what it owes.
Start with `records.py`.
"""
