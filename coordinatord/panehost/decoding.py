"""A request line as parameters: the envelope, the table of methods, the kinds of subscriptions.

Unknown fields are ignored, ``params`` must be there, ids are strings. Whatever cannot be decoded is
``invalid_request`` with the empty id (trap 4).
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from coordinatord.panehost.failures import Failed
from coordinatord.panehost.requests import Params
from coordinatord.panehost.requests_agents import (
    OutputMatched,
    PaneSubscription,
    ScrollChanged,
    StatusChanged,
)

METHODS: Final[dict[str, type[Params]]] = {
    str(params.__struct_config__.tag): params for params in Params.__subclasses__()
}


GLOBAL_KINDS: Final = (
    "workspace.created", "workspace.updated", "workspace.metadata_updated", "workspace.renamed",
    "workspace.moved", "workspace.reordered", "workspace.closed", "workspace.focused",
    "worktree.created", "worktree.opened", "worktree.removed", "tab.created", "tab.closed",
    "tab.focused", "tab.renamed", "tab.moved", "pane.created", "pane.closed", "pane.updated",
    "pane.focused", "pane.moved", "pane.exited", "pane.agent_detected", "layout.updated",
)  # fmt: skip


_PANE_KINDS: Final = ("pane.agent_status_changed", "pane.output_matched", "pane.scroll_changed")


class _Envelope(msgspec.Struct, frozen=True):
    id: str
    method: str
    params: msgspec.Raw


_envelopes: Final = msgspec.json.Decoder(_Envelope)


_subscriptions: Final[dict[str, type[PaneSubscription]]] = dict(
    zip(_PANE_KINDS, (StatusChanged, OutputMatched, ScrollChanged), strict=True)
)


def decode(line: bytes) -> tuple[str, Params]:
    """A request line as id and parameters.

    Raises:
        Failed: ``invalid_request`` with the empty id.
    """
    try:
        envelope = _envelopes.decode(line)
        params = METHODS.get(envelope.method)
        if params is None:
            raise _invalid(_unknown_variant(envelope.method, METHODS))
        # Rust's decoder takes an empty list for a struct without needed fields (recording 02)
        raw = b"{}" if bytes(envelope.params).strip() == b"[]" else envelope.params
        return envelope.id, msgspec.json.decode(raw, type=params)
    except msgspec.MsgspecError as error:
        raise _invalid(str(error)) from None


def subscription(entry: dict[str, Any]) -> str | PaneSubscription:
    """One entry of a subscription: the name of a global kind, or a pane's entry."""
    kind = entry.get("type")
    if not isinstance(kind, str):
        raise _invalid("missing field `type`")
    if kind in GLOBAL_KINDS:
        return kind
    if kind not in _subscriptions:
        raise _invalid(_unknown_variant(kind, (*GLOBAL_KINDS, *_PANE_KINDS)))
    try:
        return msgspec.convert(entry, type=_subscriptions[kind])
    except msgspec.ValidationError as error:
        raise _invalid(str(error)) from None


def _unknown_variant(name: str, known: Any) -> str:
    listed = ", ".join(f"`{one}`" for one in known)
    return f"unknown variant `{name}`, expected one of {listed}"


def _invalid(message: str) -> Failed:
    return Failed("invalid_request", f"invalid request: {message}", request_id="")
