"""What is owed to whom: derived from records on every read, never stored.

Invariant: an obligation exists exactly as long as the records say so; telling somebody ends none.
Start with `records.py`; `source.py` is what each kind of debt implements.
"""
