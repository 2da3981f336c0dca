"""A labelled pane, a command, and a result that can be trusted.

Invariant: a result comes from the exit status of a process that our runner waited for, never from
what a screen shows (`in_shell` runs are the declared exception). A run is typed into a pane at most
once; the environment of a command lives in memory only and is handed out once.
Start with `records.py`, then `placement.py` (which pane) and `run.py` (the life of a run). What runs
inside the pane is ``clients/coordctl/runner.py``.
"""
