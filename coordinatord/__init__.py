"""coordinatord: the messenger between coding agents in terminal panes. Imports nothing."""

__version__ = "0.1.0"
