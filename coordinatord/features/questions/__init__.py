"""A question is asked, answered, and the answer applied.

Invariant: a question or an answer, once stored, is never replaced by another text. Start with `records.py`.
"""
