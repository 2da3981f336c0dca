"""Evidence that somebody should look at a pane: a worker that asks its person, stands idle, or is gone.

Invariant: observation only. It answers nothing, changes no task, and what it quotes of a screen is bounded
and redacted. Start with `rules.py`; *superseded* is derived by order, never written.
"""
