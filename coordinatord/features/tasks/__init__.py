"""The task record: what somebody works on, and who it reports to.

Invariant: the approved brief is never edited. Start with `records.py`.
"""
