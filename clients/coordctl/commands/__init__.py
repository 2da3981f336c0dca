"""Commands that the table cannot say: one module per feature, imported when its command is called.

Invariant: each takes an `Invocation` and returns an exit status. `own.py` names them.
"""
