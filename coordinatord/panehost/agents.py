"""The agent of one pane: kind, status, name, start, session. Pure; time and the change counter are
passed in.

Three sources speak about one pane, and each may be absent: the process in front (`detect`), reports
of hooks (`report`), and what the screen shows (`see`). Rules: herdr-protocol.md §2.5, §2.6,
§3.2–3.4 and recordings 04, 06, 14.
"""

from __future__ import annotations

import enum
import re
from typing import Final

import msgspec

from coordinatord.panehost.records import AgentSession
from coordinatord.panehost.reports import (
    FULL_AUTHORITIES,
    SCREEN_ONLY_SOURCES,
    Report,
    is_official,
    may_replace,
)
from coordinatord.panehost.requests import Status

_NAME: Final = re.compile(r"[a-z][a-z0-9_-]{0,31}")
_AGREEING_LOOKS: Final = 3
"""So many looks must agree that nothing shows work before working becomes idle."""


class Launch(msgspec.Struct, frozen=True):
    """A start that is not ready yet."""

    kind: str
    began: float
    ends: float


class Change(enum.Flag):
    """What a step changed, for the one who announces it."""

    NOTHING = 0
    STATUS = enum.auto()
    DETECTED = enum.auto()
    RELEASED = enum.auto()
    RECORD = enum.auto()


class Counter:
    """The change counter that all panes of one server share; it begins again with the server."""

    def __init__(self) -> None:
        self.value = 0

    def next(self) -> int:
        """One more."""
        self.value += 1
        return self.value


def is_name(text: str) -> bool:
    """May an agent be called this?"""
    return _NAME.fullmatch(text) is not None


class Agent:
    """All that is known about the agent of one pane; a plain shell is one without a kind."""

    def __init__(self, counter: Counter, *, floor: float = 3.0) -> None:
        self._counter = counter
        self._floor = floor
        self._screen: Status | None = None
        self._calm_looks = 0
        self._reports: dict[str, Report] = {}
        self._sequences: dict[str, int] = {}
        self.detected: str | None = None
        self.detected_at = 0.0
        self.base: Status = "unknown"
        self.seen = True
        self.state_change_seq = 0
        self.name: str | None = None
        self.managed = False
        self.launch: Launch | None = None
        self.ready = False
        self.session: AgentSession | None = None
        self.restored = False

    # reading

    @property
    def kind(self) -> str | None:
        """The effective kind: of the process in front, else a reported one."""
        if self.detected is not None:
            return self.detected
        if self.restored and self.session is not None:
            return self.session.agent
        latest = list(self._reports.values())[-1:]
        return latest[0].agent if latest else None

    @property
    def present(self) -> bool:
        """Is this pane listed as an agent?"""
        return self.name is not None or self.kind is not None

    @property
    def status(self) -> Status:
        """The status as records show it: an idle that nobody saw is ``done``."""
        return "done" if self.base == "idle" and not self.seen else self.base

    @property
    def screen_skipped(self) -> bool:
        """Does a full authority speak for the pane?"""
        return any(r.source in FULL_AUTHORITIES for r in self._reports.values())

    def settles_at(self) -> float | None:
        """When the time in which the status stays unknown ends, or None if there is no agent
        process.
        """
        return None if self.detected is None else self._floor_end()

    def wants_another_look(self) -> bool:
        """Is an idle screen waiting for agreeing looks?"""
        return 0 < self._calm_looks < _AGREEING_LOOKS

    # what changes it

    def detect(self, kind: str | None, now: float, *, shows: bool) -> Change:
        """The process in front is of this kind now (or of none)."""
        if kind == self.detected:
            return self._settle(now, shows=shows)
        before = self.kind
        change = self._forget_process() if self.detected is not None else Change.NOTHING
        if kind is not None:
            self.detected, self.detected_at = kind, now
            self.restored = False
            self._screen = None
            change |= Change.NOTHING if kind == before else Change.DETECTED
            if self.launch is not None and self.launch.kind != kind:
                change |= self._drop_name()
        return change | self._settle(now, shows=shows)

    def see(self, status: Status | None, now: float, *, shows: bool) -> Change:
        """The kind's screen rules say this; None where no rule matches, which counts as idle."""
        looked: Status = status or "idle"
        if looked == "idle" and self._screen == "working" and status is None:
            self._calm_looks += 1
            if self._calm_looks < _AGREEING_LOOKS:
                return Change.NOTHING
        self._calm_looks = 0
        self._screen = looked
        return self._settle(now, shows=shows)

    def report(self, report: Report, seq: int | None, now: float, *, shows: bool) -> Change:
        """A hook says what the agent does. Ignored reports change nothing (trap 15)."""
        if not self._admits(report.source, report.agent, seq):
            return Change.NOTHING
        if report.source in SCREEN_ONLY_SOURCES:
            return Change.NOTHING
        before = self.kind
        self._reports.pop(report.source, None)
        self._reports[report.source] = report
        change = Change.DETECTED if self.kind != before else Change.NOTHING
        return change | self._settle(now, shows=shows)

    def release(self, source: str | None, seq: int | None, now: float, *, shows: bool) -> Change:
        """What a source (or every source) reported is taken back."""
        if source is not None and not self._admits(source, None, seq):
            return Change.NOTHING
        before = self.kind
        gone = [s for s in self._reports if source is None or s == source]
        for one in gone:
            del self._reports[one]
        change = Change.NOTHING
        if before is not None and self.kind is None:
            change = Change.RELEASED
            if self.name is not None:
                change |= self._drop_name()
        return change | self._settle(now, shows=shows)

    def converse(self, session: AgentSession, start: str | None, seq: int | None) -> Change:
        """A hook says in which conversation the agent is; taken under the rules of §3.3 only."""
        if not self._admits(session.source, session.agent, seq) or not is_official(session):
            return Change.NOTHING
        if self.detected is not None and self.detected != session.agent:
            return Change.NOTHING
        old = self.session
        if old is None or old.source != session.source:
            self.session = session
            return Change.NOTHING
        if old.value == session.value:
            return Change.NOTHING
        if not may_replace(session.agent, start):
            return Change.NOTHING
        self.session = session
        if self.name is not None and not self.managed:
            return self._drop_name()
        return Change.NOTHING

    def clear_session_of(self, source: str | None) -> None:
        """Its owner takes a session back."""
        if self.session is not None and source in (None, self.session.source):
            self.session = None

    def begin(self, name: str, kind: str, now: float, timeout: float) -> None:
        """`agent.start` typed the command."""
        self.name, self.managed, self.ready = name, True, False
        self.launch = Launch(kind, now, now + timeout)

    def advance(self, now: float, *, shows: bool) -> Change:
        """`agent.get` looks at a pending start: past its time its name is dropped."""
        change = self._settle(now, shows=shows)
        if self.launch is not None and now >= self.launch.ends:
            change |= self._drop_name()
        return change

    def rename(self, name: str | None) -> Change:
        """Give or clear the name; clearing loses readiness for good (recording 04)."""
        if name is None:
            return self._drop_name()
        self.name = name
        return Change.RECORD

    def restore(self, session: AgentSession, name: str | None) -> None:
        """Before its process exists, a restored agent looks idle and ready (recording 06)."""
        self.session, self.name, self.restored = session, name, True
        self.managed = self.ready = name is not None
        self.base = "idle"

    def give_up_restoring(self) -> None:
        """The shell of a restored agent stands; from here the process decides."""
        self.restored = False

    def show(self) -> Change:
        """Somebody looks at the pane."""
        was = self.status
        self.seen = True
        return Change.STATUS if self.status != was else Change.NOTHING

    # inside

    def _floor_end(self) -> float:
        began = self.detected_at
        if self.launch is not None:
            began = max(began, self.launch.began)
        return began + self._floor

    def _judge(self, now: float) -> Status:
        if self.restored:
            return "idle"
        spoken = [r for r in self._reports.values() if r.agent == self.kind]
        if self.detected is None:
            return spoken[-1].state if spoken else "unknown"
        if any(r.source in FULL_AUTHORITIES for r in spoken):
            return [r for r in spoken if r.source in FULL_AUTHORITIES][-1].state
        if spoken:
            return "blocked" if self._screen == "blocked" else spoken[-1].state
        if now < self._floor_end():
            return "unknown"
        return self._screen or "idle"

    def _settle(self, now: float, *, shows: bool) -> Change:
        was_status, was_base = self.status, self.base
        self.base = self._judge(now)
        if self.base != was_base:
            self.state_change_seq = self._counter.next()
            if self.base == "idle":
                self.seen = shows or was_base not in ("working", "blocked")
        if self.launch is not None and self._is_ready(now):
            self.launch, self.ready = None, True
        return Change.STATUS if self.status != was_status else Change.NOTHING

    def _is_ready(self, now: float) -> bool:
        launch = self.launch
        return (
            launch is not None
            and self.detected == launch.kind
            and self.base == "idle"
            and now >= launch.began + self._floor
        )

    def _admits(self, source: str, agent: str | None, seq: int | None) -> bool:
        last = self._sequences.get(source)
        if last is not None and (seq is None or seq <= last):
            return False
        # a report of another kind must not even use up its number
        if agent is not None and self.detected not in (None, agent):
            return False
        if seq is not None:
            self._sequences[source] = seq
        return True

    def _forget_process(self) -> Change:
        kind = self.detected
        self.detected, self._screen, self._calm_looks = None, None, 0
        self.session = None
        self.seen = True
        for source in [s for s, r in self._reports.items() if r.agent == kind]:
            del self._reports[source]
        change = Change.RELEASED
        if self.name is not None:
            change |= self._drop_name()
        return change

    def _drop_name(self) -> Change:
        self.name, self.managed, self.ready, self.launch = None, False, False, None
        return Change.RECORD
