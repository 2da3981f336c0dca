"""Keeping the workspace's records: archive, retention, backup, export, and a doctor that compares.

Invariant: nothing that somebody sits in, and nothing that is owed, is ever removed; what is repaired is an
index, a mode or a leftover, never a record. Start with `records.py`;
`run_archive.py` ends a task, `run_retention.py` removes what is long over.
"""
