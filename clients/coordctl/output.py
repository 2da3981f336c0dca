"""Answers for people: each command's own form, and a general one for all the others."""

from __future__ import annotations

import json
import sys
import time

from coordctl.showing import ago, bold, lasting, line_of, table, visible, with_gap

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Final

    Record = dict[str, Any]

_TIMES: Final = frozenset({"at", "since", "started_at", "expires", "settled_at", "last_snapshot"})
_SHORT: Final = 72
_HIDDEN: Final = frozenset({"seq", "binding"})


def show(words: str, result: Any, *, now: float | None = None) -> None:
    """Print the answer to a command on standard output."""
    now = time.time() if now is None else now
    try:
        text = _renderer(words)(result, now)
    except (KeyError, TypeError, AttributeError):  # another version's answer: shown as it is
        text = _general(result, now)
    if text:
        sys.stdout.write(text + "\n")


def _renderer(words: str) -> Callable[[Any, float], str]:
    found = _RENDERERS.get(words)
    if found is None:
        from coordctl import output_records  # half of all commands need nothing of it

        found = output_records.RENDERERS.get(words, _general)
    return found


def watch_line(line: Record) -> str:
    """One change: when, what, which."""
    at = time.strftime("%H:%M:%S", time.localtime(line["at"]))
    about = " ".join(str(line[name]) for name in ("task", "seat") if line.get(name))
    return visible(f"{at}  {line['seq']:>6}  {line['kind']:<24} {line['id']:<12} {about}".rstrip())


# what any record looks like


def _general(result: Any, now: float) -> str:
    if isinstance(result, dict) and isinstance(result.get("items"), list):
        return _listing(result, now)
    if isinstance(result, dict):
        if result == {"done": True}:
            return "Done."
        return "\n".join(_lines(result, now))
    return visible(str(result), lines=True)


def _lines(record: Record, now: float, indent: str = "") -> list[str]:
    lines = []
    for name, value in record.items():
        if value in (None, [], {}, "") or name in _HIDDEN:
            continue
        label = f"{indent}{name.replace('_', ' ')}:"
        if isinstance(value, dict):
            lines += [label, *_lines(value, now, indent + "  ")]
        elif isinstance(value, list) and isinstance(value[0], dict):
            lines.append(label)
            for item in value:
                lines.append(f"{indent}  - {_summary(item, now)}")
        elif isinstance(value, str) and "\n" in value:
            body = visible(value.rstrip("\n"), lines=True).replace("\n", f"\n{indent}  ")
            lines.append(f"{label}\n{indent}  {body}")
        else:
            lines.append(f"{label} {_cell(name, value, now)}")
    return lines


def _summary(record: Record, now: float) -> str:
    cells = (
        f"{name} {_cell(name, value, now)}" if name != "id" else str(value)
        for name, value in record.items()
        if value not in (None, [], {}, "") and name not in _HIDDEN and not isinstance(value, dict)
    )
    return ", ".join(cells)


def _cell(name: str, value: Any, now: float) -> str:
    if name in _TIMES and isinstance(value, (int, float)):
        return ago(value, now)
    if name.endswith("_s") and isinstance(value, (int, float)):
        return lasting(value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return visible(", ".join(map(str, value)))
    if isinstance(value, dict):
        return visible(str(value.get("kind", "")))
    return visible(str(value)) if value is not None else ""


def _short(text: str | None) -> str:
    first = (text or "").strip().partition("\n")[0]
    return first if len(first) <= _SHORT else first[: _SHORT - 1] + "…"


def _listing(result: Record, now: float) -> str:
    items = result["items"]
    if not items:
        return with_gap("Nothing.", result)
    columns = [name for name in items[0] if name not in _HIDDEN and _tells(name, items)]
    rows = [[_short(_cell(name, item.get(name), now)) for name in columns] for item in items]
    return with_gap(table([name.replace("_", " ") for name in columns], rows), result)


def _tells(name: str, items: list[Record]) -> bool:
    return any(item.get(name) not in (None, "", [], {}) for item in items)


# commands with a form of their own


def _inbox(result: Record, now: float) -> str:
    items = result["items"]
    if not items:
        return with_gap(f"Nothing is owed by {result['seat']}.", result)
    blocks = [f"{result['seat']} owes {len(items)}:"]
    for item in items:
        facts = [item["kind"], f"on {item['task']}" if item.get("task") else ""]
        facts += [f"from {item['by']}" if item.get("by") else "", ago(item["since"], now)]
        head = f"{bold(item['id'])}  {visible(', '.join(filter(None, facts)))}  ({item['state']})"
        body = visible((item.get("text") or "").rstrip(), lines=True)
        blocks.append(head)
        blocks += [f"    {line}" for line in body.split("\n") if body]
        if item.get("settling"):
            blocks.append(f"    → {visible(item['settling'])}")
    if result.get("receipt"):
        blocks.append("You are told of new routine things again once you say that you read these:")
        blocks.append(f"    → wake consume {result['receipt']}")
    return with_gap("\n".join(blocks), result)


def _whoami(result: Record, now: float) -> str:
    if result["proof"] == "operator":
        facts = "a person outside every pane"
    else:
        claimed = "only claimed: you may read and nothing else"
        proof = claimed if result["proof"] == "claim" else f"proven by {result['proof']}"
        facts = f"in {result['pane']}, {proof}" if result.get("pane") else proof
    lines = [f"You are {bold(visible(result['id']))}: {facts}."]
    if result.get("doubt"):
        lines.append(f"  but {visible(result['doubt'])}")
    return "\n".join(lines)


_EVENTS: Final = {
    True: "Agents are told as soon as they are idle. Not wanted? coordctl delivery disable",
    False: "Agents are told on command only. Otherwise: coordctl delivery enable",
}


def _init(result: Record, now: float) -> str:
    held = "now" if result["claimed"] else "still"
    role = "a developer" if result["role"] == "developer" else bold(visible(result["id"]))
    lines = [f"You are {held} {role}, in {result['pane']}, proven by {result['proof']}."]
    owed = result.get("owed", ())
    lines.append(f"You owe {len(owed)}:" if owed else "You owe nothing.")
    for item in owed:
        task = f" on {item['task']}" if item.get("task") else ""
        lines.append(f"{bold(item['id'])}  {item['kind']}{task}, {ago(item['since'], now)}")
        lines.append(f"    → {visible(item['settling'])}")
    if owed:
        lines.append("Read the texts: coordctl inbox")
    if result.get("events") is not None:
        lines.append(_EVENTS[result["events"]])
    return "\n".join(lines)


def _why(result: Record, now: float) -> str:
    lines = [f"{bold(result['id'])}: {visible(result['sentence'])}"]
    if result.get("held"):
        since = f" for {lasting(now - result['since'])}" if result.get("since") else ""
        lines.append(f"  held ({result['held']}){since}")
    evidence = result.get("evidence")
    for attempt in result.get("attempts", ()) if evidence else ():
        lines.append(f"  {attempt['id']} to {attempt['seat']} by {attempt['transport']}")
        lines += [
            visible(f"    {ago(step['at'], now):>12}  {step['stage']}: {step['evidence']}")
            for step in attempt.get("trail", ())
        ]
        lines += _receipt(attempt)
    if evidence and evidence.get("seen"):
        seen = evidence["seen"]
        lines.append(visible(f"  {seen['pane']}: {seen['agent'] or 'no agent'}, {seen['status']}"))
    return "\n".join(lines)


def _receipt(attempt: Record) -> list[str]:
    facts = [("sha256", attempt.get("sha256")), ("removed", ", ".join(attempt.get("removed", ())))]
    facts.append(("file", attempt.get("file")))
    return [visible(f"    {name:>12}  {fact}") for name, fact in facts if fact]


def _pane_list(result: Record, now: float) -> str:
    rows = [
        [
            item["pane_id"],
            item.get("label") or "",
            item.get("agent") or "",
            item.get("agent_status") or "",
            item.get("seat") or "",
            item.get("cwd") or "",
        ]
        for item in result["items"]
    ]
    if not rows:
        return with_gap("No panes.", result)
    return with_gap(table(("pane", "label", "agent", "status", "seat", "cwd"), rows), result)


def _pane_read(result: Record, now: float) -> str:
    return visible(result["text"].rstrip("\n"), lines=True)


def _document(result: Any, now: float) -> str:
    return json.dumps(result, indent=2, ensure_ascii=False)


def _tool_result(result: Record, now: float) -> str:
    lines = [visible(result["output_tail"].rstrip("\n"), lines=True)]
    if result["truncated"]:
        lines.insert(0, f"(only the end; all of it: {result['log']})")
    pane = f" in {result['pane_id']}" if result["pane_id"] else ""
    lines.append(bold(visible(f"{result['run_id']}{pane}: {_tool_end(result)}")))
    return "\n".join(line for line in lines if line)


def _tool_end(result: Record) -> str:
    lasted = "" if result["duration_ms"] is None else f" after {result['duration_ms'] / 1000:.1f} s"
    if result["exit_code"] is not None:
        why = ", cancelled" if result["error"] == "cancelled" else ""
        return f"exit code {result['exit_code']}{lasted}{why}"
    if result["error"]:
        return f"{result['error']}{lasted}"
    if result["timed_out"]:
        return f"still running{lasted}, past its limit"
    return f"{result['state']}{lasted}"


def _tool_list(result: Record, now: float) -> str:
    rows = [
        [
            item["id"],
            item["label"],
            item["pane_id"] or "",
            item["error"] or item["state"],
            "" if item["exit_code"] is None else str(item["exit_code"]),
            ago(item["at"], now),
            _short(" ".join(item["command"])),
        ]
        for item in result["items"]
    ]
    if not rows:
        return with_gap("No runs.", result)
    columns = ("run", "label", "pane", "state", "code", "begun", "command")
    return with_gap(table(columns, rows), result)


_RENDERERS: Final[dict[str, Callable[[Any, float], str]]] = {
    "inbox": _inbox,
    "init": _init,
    "whoami": _whoami,
    "why": _why,
    "pane list": _pane_list,
    "pane read": _pane_read,
    "discover": _document,
    "tool run": _tool_result,
    "tool result": _tool_result,
    "tool cancel": _tool_result,
    "tool list": _tool_list,
    "pane open": line_of("{pane_id} is open."),
    "task new": line_of("{id} is recorded: {title}"),
    "ask": line_of("{id} is open. Where it stands: coordctl why {id}"),
    "answer": line_of("{id} is answered. Where it stands: coordctl why {id}"),
    "resolve": line_of("{id} is resolved."),
    "report": line_of("{id} is filed: {outcome}."),
    "verify": line_of("{id} is recorded: {result}."),
    "send": line_of("{id} is on its way to {to}. Where it stands: coordctl why {id}"),
    "ack": line_of("{id} is acknowledged."),
    "bind": line_of("{id} sits in {pane}."),
}
