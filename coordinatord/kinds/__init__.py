"""Kinds of agents as data, one TOML file each, and the pure matching of their screens.

Invariant: a screen that no rule explains is not a composer: nothing may be typed into it.
"""
