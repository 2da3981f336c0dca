"""Tokens and presentation of panes and workspaces: limits, sequence numbers, expiry. Pure; time is
passed in.

Tokens are one flat map without a namespace: the last accepted report of a key wins. Presentation is
kept per source, and a report without clear flags replaces all that its source said
(herdr-protocol.md §5).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

import msgspec

from coordinatord.panehost.failures import Failed

LONGEST_VALUE: Final = 80
LONGEST_TTL_MS: Final = 86_400_000
MOST_KEYS_IN_REPORT: Final = 16
MOST_TOKENS: Final = 32
MOST_SEQUENCED_SOURCES: Final = 32
LABELLED_STATES: Final = frozenset({"idle", "working", "blocked", "done", "unknown"})
_KEY: Final = re.compile(r"[A-Za-z0-9_-]{1,32}")
_SOURCE: Final = re.compile(r"[A-Za-z0-9:._-]+")
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f]")


def check_source(source: str) -> None:
    """Refuse a source that Herdr refuses."""
    if not source:
        raise Failed("invalid_metadata_source", "metadata source must not be empty")
    if len(source) > LONGEST_VALUE:
        raise Failed("invalid_metadata_source", "metadata source must be 80 characters or fewer")
    if not _SOURCE.fullmatch(source):
        raise Failed(
            "invalid_metadata_source",
            "metadata source may contain only ASCII letters, digits, colon, dot, underscore, "
            "and hyphen",
        )


def check_ttl(ttl_ms: int | None) -> None:
    """Refuse a time to live outside 1 ms to 24 h."""
    if ttl_ms is not None and ttl_ms < 1:
        raise Failed("invalid_metadata_ttl", "metadata ttl_ms must be at least 1")
    if ttl_ms is not None and ttl_ms > LONGEST_TTL_MS:
        raise Failed("invalid_metadata_ttl", f"metadata ttl_ms must be {LONGEST_TTL_MS} or less")


def check_keys(tokens: Mapping[str, str | None]) -> None:
    """Refuse too many or wrongly written token names."""
    if len(tokens) > MOST_KEYS_IN_REPORT:
        raise Failed("invalid_metadata_token", "a metadata report may update at most 16 tokens")
    for key in tokens:
        if not _KEY.fullmatch(key):
            raise Failed("invalid_metadata_token", f"invalid metadata token key: {key}")


def clean(value: str | None) -> str | None:
    """A value as it is kept: trimmed, without control characters, at most 80 code points; empty is
    None.
    """
    if value is None:
        return None
    return _CONTROL.sub("", value).strip()[:LONGEST_VALUE].strip() or None


class Sequences:
    """The last sequence number of each source; one slot per source for the life of the resource."""

    def __init__(self, owner: str) -> None:
        self._owner = owner
        self._last: dict[str, int] = {}

    def admit(self, source: str, seq: int | None) -> bool:
        """May this report be taken? One without a number always may (unlike agent reports)."""
        if seq is None:
            return True
        last = self._last.get(source)
        if last is None and len(self._last) >= MOST_SEQUENCED_SOURCES:
            raise Failed(
                "metadata_sequence_source_limit",
                f"{self._owner} metadata may track at most {MOST_SEQUENCED_SOURCES} "
                "sequenced sources",
            )
        if last is not None and seq <= last:
            return False
        self._last[source] = seq
        return True


class Tokens:
    """The token map of one pane or workspace."""

    def __init__(self, owner: str) -> None:
        self._owner = owner
        self._values: dict[str, str] = {}
        self._ends: dict[str, float] = {}

    def values(self) -> dict[str, str]:
        """What is set now, expired or not: the sweep decides."""
        return dict(self._values)

    def report(self, tokens: Mapping[str, str | None], ttl_ms: int | None, now: float) -> bool:
        """Apply one report as a whole; True if a value changed. A write without TTL removes a
        deadline.
        """
        after = dict(self._values)
        for key, value in tokens.items():
            kept = clean(value)
            if kept is None:
                after.pop(key, None)
            else:
                after[key] = kept
        if len(after) > MOST_TOKENS:
            raise Failed(
                "metadata_token_limit",
                f"{self._owner} metadata may contain at most {MOST_TOKENS} tokens",
            )
        for key in tokens:
            self._ends.pop(key, None)
            if ttl_ms is not None and key in after:
                self._ends[key] = now + ttl_ms / 1000
        changed = after != self._values
        self._values = after
        return changed

    def expire(self, now: float) -> bool:
        """Drop what is past its time; True if something went."""
        over = [key for key, end in self._ends.items() if end <= now]
        for key in over:
            del self._ends[key]
            self._values.pop(key, None)
        return bool(over)

    def next_end(self) -> float | None:
        """When the next token ends, or None."""
        return min(self._ends.values(), default=None)


class Shown(msgspec.Struct, frozen=True, kw_only=True):
    """The presentation of a pane as its records carry it."""

    title: str | None = None
    display_agent: str | None = None
    state_labels: dict[str, str] = {}


class _Record(msgspec.Struct, kw_only=True):
    agent: str | None
    title: str | None
    display_agent: str | None
    state_labels: dict[str, str]
    end: float | None


class PresentationReport(msgspec.Struct, frozen=True, kw_only=True):
    """The presentation part of one `pane.report_metadata`, values already cleaned."""

    agent: str | None = None
    title: str | None = None
    display_agent: str | None = None
    state_labels: dict[str, str] = {}
    clear_title: bool = False
    clear_display_agent: bool = False
    clear_state_labels: bool = False

    def speaks(self) -> bool:
        """Does it set or clear anything?"""
        return bool(self.title or self.display_agent or self.state_labels) or self.clears()

    def clears(self) -> bool:
        """Does it clear anything?"""
        return self.clear_title or self.clear_display_agent or self.clear_state_labels


class Presentation:
    """What each source wants a pane to be shown as; the newest report of a field wins."""

    def __init__(self) -> None:
        self._records: dict[str, _Record] = {}

    def report(
        self, source: str, report: PresentationReport, ttl_ms: int | None, now: float
    ) -> None:
        """Replace the source's record, or clear single fields of it."""
        end = None if ttl_ms is None else now + ttl_ms / 1000
        old = self._records.pop(source, None)
        record = _Record(
            agent=report.agent,
            title=report.title,
            display_agent=report.display_agent,
            state_labels=dict(report.state_labels),
            end=end,
        )
        if report.clears() and old is not None:
            record.title = record.title or (None if report.clear_title else old.title)
            record.display_agent = record.display_agent or (
                None if report.clear_display_agent else old.display_agent
            )
            record.state_labels = record.state_labels or (
                {} if report.clear_state_labels else old.state_labels
            )
        self._records[source] = record

    def shown(self, kind: str | None) -> Shown:
        """What shows for a pane whose effective agent kind is ``kind``: later reports first."""
        title = display_agent = None
        labels: dict[str, str] = {}
        for record in self._records.values():
            if record.agent is not None and record.agent != kind:
                continue
            title = record.title or title
            display_agent = record.display_agent or display_agent
            labels = {**labels, **record.state_labels}
        return Shown(title=title, display_agent=display_agent, state_labels=labels)

    def forget_kind(self, kind: str) -> None:
        """The agent of this kind went: its own records go, those of other sources stay."""
        for source in [
            s for s, r in self._records.items() if r.agent == kind or s == f"herdr:{kind}"
        ]:
            del self._records[source]

    def expire(self, now: float) -> None:
        """Drop records past their time."""
        for source in [s for s, r in self._records.items() if r.end is not None and r.end <= now]:
            del self._records[source]

    def next_end(self) -> float | None:
        """When the next record ends, or None."""
        return min((r.end for r in self._records.values() if r.end is not None), default=None)
