"""coordctl: the command line of coordinatord.

Invariant: the ordinary path (one command, one answer) imports the standard library,
`coordinatord.locate` and nothing else, because agents start it constantly. Start with
`__main__.py`; `table.py` is generated from the catalogue by `generate.py`, which only developers
run.
"""
