"""What a recording answers at its beginning."""

from __future__ import annotations

import msgspec


class Recording(msgspec.Struct, frozen=True, kw_only=True):
    """``begin`` is the first line of the trace; the others follow as ``trace.line``."""

    begin: msgspec.Raw
