"""The one database of a workspace.

Invariant: one writer; a transaction is a plain function that cannot await; an acknowledged write is
on disk. Start with `database.py`; `records.py` is what the features' tables are made of.
"""
