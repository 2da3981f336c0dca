"""Opens panes that carry our environment, and undoes what failed half way.

Invariant: the intent is stored before a pane exists, so a repeated request finds its pane again.
Start with `records.py`.
"""
