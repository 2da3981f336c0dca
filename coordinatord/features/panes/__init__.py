"""Who sits where: seats, occupants, and what a caller can prove.

Invariant: an occupant is the recorded one only if `judgement.py` says so from a fresh look; an equal pane
id, pid or socket path alone never makes it so. Start with `records.py`, then `judgement.py`, `proof.py`.
"""
