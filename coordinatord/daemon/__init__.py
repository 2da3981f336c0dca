"""Puts the parts together; the only package that imports everything.

Invariant: `app.py` is the only place that builds things. Start there.
"""
