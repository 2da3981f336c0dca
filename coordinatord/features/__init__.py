"""What the daemon does, one folder a feature.

In a feature only ``table.py``, ``files.py``, ``methods.py``, ``run.py`` and ``run_*.py`` touch the world;
every other module is pure. Lower features never name higher ones (the order stands in docs/architecture.md).
"""
