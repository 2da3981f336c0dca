"""The programs that own the panes, seen from the daemon.

Invariant: features know `port.py` only. What the host says is an observation with a time, never a
fact about the future, and each call says whether it did nothing or may have done something. Start
with `port.py`; `herdr/` speaks Herdr's socket protocol (the embedded pane host speaks it too);
`fake.py` is the scripted terminal that tests and simulations use.
"""
