"""A message from one seat to another, announced by id or typed inline.

Invariant: a message is owed until it is acknowledged, expired or withdrawn; it is never edited.
Start with `records.py`.
"""
