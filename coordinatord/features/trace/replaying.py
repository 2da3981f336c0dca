"""Decides again on what the lines of a trace say, with the daemon's own pure code, and compares."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, TypeAlias

import msgspec

from coordinatord.errors import Refused
from coordinatord.features.delivery import pacing
from coordinatord.features.panes.judgement import Gone, Unseen, judge
from coordinatord.features.trace.lines import (
    FORMAT,
    PLAIN,
    Considered,
    DecisionLine,
    GapLine,
    Header,
    JudgementLine,
    Line,
    LookLine,
    Where,
)
from coordinatord.features.trace.promises import Broken, Promises
from coordinatord.features.typing import gate
from coordinatord.features.typing.records import Held
from coordinatord.kinds import (
    AgentKind,
    Blank,
    Busy,
    Composer,
    Dialog,
    Menu,
    Reading,
    Unclear,
    read_screen,
)
from coordinatord.terminals.port import Sighting

_LINE: Final = msgspec.json.Decoder(Line)
_TAG: Final = msgspec.json.Decoder(dict[str, Any])
_KNOWN: Final = frozenset(
    {"begin", "event", "call", "judge", "look", "decide", "record", "attempt", "gap", "end"}
)

Deciding: TypeAlias = JudgementLine | LookLine | DecisionLine


class Divergence(msgspec.Struct, frozen=True, kw_only=True):
    """A decision that comes out otherwise now: where it stands, and what was seen."""

    number: int
    at: float
    what: str
    recorded: str
    now: str
    seen: Deciding


class Replayed(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a trace. ``kinds`` names agent kinds whose rules were others (or none) there; ``unlike``
    counts looks that were judged by what the screen had been taken for; ``skipped`` lines that are not
    known here. ``diverged`` counts all, ``first`` is the earliest of them."""

    version: str
    lines: int = 0
    decisions: int = 0
    gaps: int = 0
    skipped: int = 0
    unlike: int = 0
    kinds: list[str] = []
    diverged: int = 0
    first: Divergence | None = None
    broken: list[Broken] = []

    @property
    def same(self) -> bool:
        """Did every decision come out as it was recorded, and was every promise kept?"""
        return not self.diverged and not self.broken


def replay(
    lines: Iterable[bytes], kinds: Mapping[str, AgentKind], digests: Mapping[str, str]
) -> Replayed:
    """Go through a whole trace. ``digests`` tells the rules of the kinds that are used now.

    Raises:
        Refused: ``unreadable``, naming the line.
    """
    numbered = _read(lines)
    header = _header(next(numbered, None))
    counts, promises = (
        dict.fromkeys(("lines", "decisions", "gaps", "skipped", "unlike"), 0),
        Promises(),
    )
    counts["lines"] = 1
    diverged, first = 0, None
    for number, line in numbered:
        counts["lines"] += 1
        if line is None:
            counts["skipped"] += 1
            continue
        promises.take(number, line)
        counts["gaps"] += isinstance(line, GapLine)
        if isinstance(line, JudgementLine | LookLine | DecisionLine):
            counts["decisions"] += 1
            counts["unlike"] += isinstance(line, LookLine) and line.unlike
            found = _compare(number, line, kinds)
            diverged += found is not None
            first = first or found
    return Replayed(
        version=header.version,
        kinds=sorted(key for key, told in header.kinds.items() if digests.get(key) != told),
        diverged=diverged,
        first=first,
        broken=promises.broken(),
        **counts,
    )


def again(line: Deciding, kinds: Mapping[str, AgentKind]) -> tuple[str, str]:
    """What was decided there, and what is decided now, in words."""
    match line:
        case JudgementLine():
            return line.outcome, judge(line.recorded, _seen(line.where), line.shell)
        case LookLine():
            return line.verdict, _verdict(line, kinds)
        case DecisionLine():
            decided = pacing.decide(recipient(line.recipient), line.at)
            return words_of(line.decision, line.reason, line.items, line.until), _words(decided)


def recipient(considered: Considered) -> pacing.Recipient:
    """What the daemon looked at."""
    return pacing.Recipient(
        seat=considered.seat,
        items=considered.items,
        told=considered.told,
        seen=_seen(considered.where),
        held=Held(considered.held) if considered.held else None,
        behind=frozenset(considered.behind),
        **{name: getattr(considered, name) for name in PLAIN},
    )


def words_of(decision: str, reason: str | None, items: Iterable[str], until: float | None) -> str:
    """One decision in words, to be compared and shown."""
    more = " ".join(items) if decision == "due" else f"{reason}"
    return f"{decision}: {more}" + (f" until {until:.3f}" if until is not None else "")


def _words(decision: pacing.Decision) -> str:
    match decision:
        case pacing.Due(items=items):
            return words_of("due", None, (item.id for item in items), None)
        case pacing.Waiting(held=held, until=until):
            return words_of("held", held.reason, (), until)
        case pacing.Resting(reason=reason, until=until):
            return words_of("resting", reason, (), until)


def _verdict(line: LookLine, kinds: Mapping[str, AgentKind]) -> str:
    seen = _seen(line.where)
    kind = kinds.get(seen.agent or "") if isinstance(seen, Sighting) else None
    reading: Reading | None = None
    if line.screen is not None and line.reading is not None:
        by_word = line.unlike or kind is None
        reading = _by_word(line.reading) if by_word else read_screen(kind, line.screen)  # type: ignore[arg-type]
    decided = gate.verdict(seen, line.outcome, line.foreground, reading, kinds)
    return decided.reason if isinstance(decided, Held) else "clear"


def _by_word(word: str) -> Reading:
    """The reading that `masking.reading_word` told."""
    tag, _, name = word.partition(" ")
    match tag:
        case "composer":
            return Composer()
        case "draft":
            return Composer("x")
        case "dialog":
            return Dialog(name)
        case "menu":
            return Menu(name)
        case "busy":
            return Busy(Composer())
        case "blank":
            return Blank()
        case _:
            return Unclear()


def _seen(where: Where) -> Sighting | Gone | Unseen:
    if where.sighting is not None:
        return where.sighting
    return Gone() if where.seen == "gone" else Unseen()


def _compare(number: int, line: Deciding, kinds: Mapping[str, AgentKind]) -> Divergence | None:
    recorded, now = again(line, kinds)
    if recorded == now:
        return None
    what = str(line.__struct_config__.tag)
    return Divergence(number=number, at=line.at, what=what, recorded=recorded, now=now, seen=line)


def _read(lines: Iterable[bytes]) -> Iterator[tuple[int, Line | None]]:
    """Every line and its number, None for what is not known here; the last may have been cut off."""
    before: tuple[int, bytes] | None = None
    for number, raw in enumerate(lines, start=1):
        if before is not None:
            yield before[0], _decoded(*before)
        before = (number, raw)
    if before is not None and before[1].endswith(b"\n"):
        yield before[0], _decoded(*before)


def _decoded(number: int, raw: bytes) -> Line | None:
    try:
        if _TAG.decode(raw).get("line") not in _KNOWN:
            return None
        return _LINE.decode(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise Refused(
            "unreadable", f"Line {number} is no line of a trace: {error}", "Was it edited?"
        ) from error


def _header(first: tuple[int, Line | None] | None) -> Header:
    if first is None or not isinstance(first[1], Header):
        raise Refused(
            "unreadable",
            "This is no trace: it does not begin like one.",
            "A trace is what this writes: coordctl trace record FILE",
        )
    if first[1].format > FORMAT:
        raise Refused(
            "unreadable",
            f"The trace has format {first[1].format}; this version reads up to {FORMAT}.",
            "Replay it with a newer coordctl.",
        )
    return first[1]
