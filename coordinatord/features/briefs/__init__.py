"""The brief of a task in revisions, and the decisions that go into them.

Invariant: the approved text and a revision, once stored, are never changed; only what is requested and
intact can be adopted. Start with `records.py`, then `revision.py`.
"""
