"""What may be asked about traces."""

from __future__ import annotations

from coordinatord.features.trace.records import Recording
from coordinatord.wire.requests import Request


class RecordTrace(Request[Recording], frozen=True, kw_only=True, tag="trace.record"):
    """Follow what the daemon sees and decides, each text masked: a line per event, look and decision."""
