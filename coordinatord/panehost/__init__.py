"""The embedded pane host: real terminals served over the subset of Herdr's protocol that is needed.

Invariant: a process of its own, so panes survive the daemon; it shows Herdr's shapes and timing, so that
a client cannot tell the two apart except by ``capabilities.coordinatord_panehost``.
Start with `server.py`.
"""
