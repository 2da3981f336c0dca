"""What people and agents read: everything here only reads.

Invariant: reading delivers nothing and changes nothing. Start with `requests.py`.
"""
