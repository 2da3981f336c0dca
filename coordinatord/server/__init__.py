"""Serves a table of routes over JSON-RPC on the API socket; knows no feature.

Invariant: one answer to each id, one place (`dispatch.py`) that turns exceptions into wire errors.
Start with `listener.py`, then `connection.py`.
"""
