"""Traces: what the deciding parts saw and decided, for a bug report, with every text masked.

Invariant: no word of a record, a screen, a path or a title gets into a line; a replay decides on the masked
line as the daemon did on the text. Start at `lines.py`; `masking.py` is what keeps the invariant.
"""
