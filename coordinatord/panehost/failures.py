"""The one exception that becomes an error answer of the host."""

from __future__ import annotations


class Failed(Exception):
    """A refusal with one of Herdr's codes (herdr-protocol.md §1.5); nothing was done.

    ``request_id`` replaces the id of the answer: empty for what could not be decoded, a derived one
    for subscriptions refused by their first look.
    """

    def __init__(self, code: str, message: str, *, request_id: str | None = None) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message
        self.request_id = request_id


def pane_missing(pane_id: str) -> Failed:
    """No pane has this id, or it has no terminal yet."""
    return Failed("pane_not_found", f"pane {pane_id} not found")


def agent_missing(target: str) -> Failed:
    """The target is no live agent's name and no current id of a pane with an agent."""
    return Failed("agent_not_found", f"agent target {target} not found")
