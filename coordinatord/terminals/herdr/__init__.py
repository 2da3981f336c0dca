"""The client of Herdr's socket protocol, which the embedded pane host speaks too.

Invariant: one connection per request, written in one go; one subscription connection whose events
are hints. Start with `backend.py`.
"""
