"""How tasks, their records and the state of the workspace are shown to people."""

from __future__ import annotations

import json
import time

from coordctl.showing import ago, bold, lasting, line_of, table, visible, with_gap

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Final

    Record = dict[str, Any]


def _status(result: Record, now: float) -> str:
    terminal = result["terminal"]
    connected = "connected" if terminal["connected"] else "not connected"
    kind = terminal["kind"] or "none yet"
    lines = [
        f"coordinatord {result['version']}, pid {result['pid']}, {result['workspace']}",
        f"socket    {result['socket']}",
        f"terminal  {kind}, {connected}"
        + (f" ({terminal['socket']})" if terminal["socket"] else ""),
        *_host(terminal, now),
    ]
    if terminal.get("trouble"):
        lines.append(f"trouble   {terminal['trouble']}")
    owed = f"{result.get('owed', 0)}"
    if result.get("oldest_debt_s") is not None:
        owed += f", the oldest for {lasting(result['oldest_debt_s'])}"
    lines.append(f"owed      {owed}")
    held = ", ".join(f"{count} {reason}" for reason, count in result["held"].items())
    lines.append(f"held      {held or 'nothing'}")
    lines += _delivery(result)
    for attempt in result.get("stranded", ()):
        lines.append(f"stranded  {attempt}: typed, not submitted; coordctl why {attempt}")
    if result.get("pause", {}).get("paused"):
        lines.append(f"paused    for {lasting(now - result['pause']['since'])}; coordctl resume")
    return with_gap(visible("\n".join(lines), lines=True), result)


def _host(terminal: Record, now: float) -> list[str]:
    """What the terminal host is, and what has been seen of it; nothing before it answered once."""
    if terminal.get("protocol") is None:
        return []
    looked = terminal.get("last_snapshot")
    facts = [
        f"version {terminal.get('version')}, protocol {terminal['protocol']}",
        f"{terminal.get('events_seen', 0)} events seen, {terminal.get('gaps_found', 0)} gaps found",
        f"looked at {ago(looked, now)}" if looked is not None else "not looked at yet",
    ]
    return [f"host      {'; '.join(facts)}"]


def _delivery(result: Record) -> list[str]:
    """What is unusual about delivery, and how old things are."""
    ages = [
        f"{word} for {lasting(result[name])}"
        for name, word in (
            ("oldest_undelivered_s", "undelivered"),
            ("oldest_decision_s", "a decision open"),
        )
        if result.get(name) is not None
    ]
    lines = [f"oldest    {', '.join(ages)}"] if ages else []
    if not result.get("events", True):
        lines.append("events    off: told on command only; coordctl delivery enable")
    if result.get("shadow"):
        lines.append("shadow    on: nothing is typed; coordctl delivery shadow report")
    lines += [f"degraded  {part}: {why}" for part, why in result.get("degraded", {}).items()]
    return lines


def _rundown(result: Record, now: float) -> str:
    items = result["items"]
    if not items:
        return with_gap("No active task.", result)
    lines = []
    for item in items:
        facts = [item["status"], item.get("worker_pane") or "no worker"]
        if item.get("verification"):
            facts.insert(1, f"verified: {item['verification']}")
        lines.append(f"{bold(item['id'])}  {visible(item['title'])}  ({visible(', '.join(facts))})")
        lines += [
            visible(
                f"    {debt['to']} owes {debt['kind']} {debt['id']}, {ago(debt['since'], now)}"
                f" ({debt['state']})"
            )
            for debt in item.get("owed", ())
        ]
    if result.get("more"):
        lines.append(f"{result['more']} more: coordctl rundown --limit N")
    decisions = result.get("decisions", 0)
    oldest = result.get("oldest_decision_s")
    waits = f", the oldest for {lasting(oldest)}" if oldest is not None else ""
    wait = f"{counted(decisions, 'decision')} wait{'s' if decisions == 1 else ''}{waits}"
    owed = result.get("owed", 0)
    lines.append(f"{wait}; {counted(owed, 'thing')} {'is' if owed == 1 else 'are'} owed.")
    return with_gap("\n".join(lines), result)


def counted(amount: int, name: str) -> str:
    """``1 thing``, ``2 things``."""
    return f"{amount} {name}" if amount == 1 else f"{amount} {name}s"


def _task_list(result: Record, now: float) -> str:
    rows = [
        [item["id"], item["state"]["kind"], ago(item["at"], now), item["title"]]
        for item in result["items"]
    ]
    if not rows:
        return with_gap("No task.", result)
    return with_gap(table(("task", "state", "begun", "title"), rows), result)


_ALERTS: Final = {
    "blocked": "its agent asks its person",
    "idle-without-report": "its agent stands idle and has not reported",
    "exited": "its agent has exited",
    "closed": "its pane is closed",
}


def _alerts(result: Record, now: float) -> str:
    lines = []
    for item in result["items"]:
        what = _ALERTS.get(item["kind"], item["kind"])
        head = f"worker of {item['task']}: {what}, {ago(item['at'], now)}"
        lines.append(f"{bold(item['id'])}  {visible(head)}  ({item['state']['kind']})")
        if item["kind"] != "closed" and item.get("reading"):
            lines.append(visible(f"    look: {item['reading']}"))
        if item["state"]["kind"] == "open":
            lines.append(f"    → attention seen {item['id']}")
    return with_gap("\n".join(lines) or "No alert.", result)


def _waited(result: Record, now: float) -> str:
    if not result["over"]:
        text = f"{result['id']} is not {result['until']} yet: {result['state']}."
    elif result["state"] == "gone":
        text = f"{result['id']} is gone: no agent is in front in its pane."
    else:
        text = f"{result['id']}: {result['state']}."
    return visible(text)


def _log(result: Record, now: float) -> str:
    rows = [
        [
            str(item["seq"]),
            ago(item["at"], now),
            item["actor"],
            item.get("proof") or "",
            item.get("act") or item["kind"],
            item["id"],
            item.get("task") or "",
        ]
        for item in result["items"]
    ]
    if not rows:
        return with_gap("Nothing.", result)
    columns = ("seq", "when", "who", "proof", "what", "record", "task")
    return with_gap(table(columns, rows), result)


def _doctor(result: Record, now: float) -> str:
    lines = []
    for item in result["items"]:
        words = (item["level"], item["id"], item.get("reason"), item.get("subject"))
        lines.append(visible("  ".join(filter(None, words))))
        if item.get("remedy"):
            lines.append(visible(f"      → {item['remedy']}"))
    return "\n".join(lines)


def _config(result: Record, now: float) -> str:
    rows = [
        [item["key"], _setting(item["value"]), item.get("unit") or "", item["source"]]
        for item in result["items"]
    ]
    return with_gap(table(("key", "value", "unit", "from"), rows), result)


def _replayed(result: Record, now: float) -> str:
    lines = [
        f"{_counted(result['decisions'], 'decision')} on {_counted(result['lines'], 'line')}, "
        f"recorded by {result['version']}: "
        + (f"{result['diverged']} come out otherwise." if result["diverged"] else "all the same.")
    ]
    for name, words in _ASIDE.items():
        if result[name]:
            count = result[name]
            lines.append(words.format(", ".join(count) if isinstance(count, list) else count))
    first = result["first"]
    if first:
        at = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(first["at"]))
        lines += [
            f"First: line {first['number']}, {at}, {first['what']}",
            f"  recorded  {first['recorded']}",
            f"  now       {first['now']}",
            "  seen      " + json.dumps(first["seen"], ensure_ascii=False),
        ]
    lines += [f"line {each['number']}: {each['what']}" for each in result["broken"]]
    return visible("\n".join(lines), lines=True)


_ASIDE: Final = {
    "kinds": "Other screen rules there than here: {}.",
    "gaps": "Gaps, before and after which things need not fit: {}.",
    "unlike": "Screens judged by what they were taken for, since masking changed them: {}.",
    "skipped": "Lines that this version does not know: {}.",
}


def _pruned(result: Record, now: float) -> str:
    tasks = [_counted(len(result["tasks"]), "archived task")]
    others = [f"{name.replace('_', ' ')}: {count}" for name, count in result["others"].items()]
    lines = [
        f"{'Removed' if result['removed'] else 'Would be removed'}: {', '.join(tasks + others)}."
    ]
    if result["tasks"]:
        lines.append("  " + ", ".join(result["tasks"]))
    if result["kept"]:
        lines.append(f"Old enough and kept for now: {_counted(result['kept'], 'task')}.")
    if result["more"]:
        lines.append("There is more: say it again.")
    return visible("\n".join(lines), lines=True)


def _backup(result: Record, now: float) -> str:
    tasks = _counted(result["tasks"], "task")
    return visible(f"{result['path']} holds {tasks}, up to line {result['seq']}.")


def _counted(count: int, word: str) -> str:
    return f"{count} {word}" if count == 1 else f"{count} {word}s"


def _setting(value: Any) -> str:
    return "not set" if value is None else json.dumps(value)


def _brief(result: Record, now: float) -> str:
    return visible(f"{result['id']} ({result['state']})\n\n{result['text']}", lines=True)


RENDERERS: Final[dict[str, Callable[[Any, float], str]]] = {
    "status": _status,
    "up": _status,
    "rundown": _rundown,
    "log": _log,
    "doctor": _doctor,
    "config": _config,
    "task list": _task_list,
    "attention list": _alerts,
    "wait": _waited,
    "brief show": _brief,
    "note": line_of("{id} is noted."),
    "decide": line_of(
        "{id} is recorded. It goes into the next revision: coordctl brief regenerate"
    ),
    "review": line_of("{id} is filed: {verdict}."),
    "handoff": line_of("{id} is filed: {outcome}."),
    "archive": line_of("{id} is archived."),
    "trace replay": _replayed,
    "trace record": line_of(
        "{path} has {lines} lines. Every text is masked; look into it before you pass it on, then: "
        "coordctl trace replay {path}"
    ),
    "backup": _backup,
    "prune": _pruned,
    "brief regenerate": line_of("{id} is {state}."),
    "brief request": line_of("{id} is {state}."),
    "brief adopt": line_of("{id} is {state}."),
}
