"""The one way text or keys reach a pane.

Invariant: one writer per pane; a fresh look right before; nothing is typed that a look did not allow.
Start with `gate.py` (may we type?), then `run.py`.
"""
