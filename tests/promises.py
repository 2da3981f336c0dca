"""What the product promises, by number: each in one sentence, cited by the tests that prove it.

``C`` coordination, ``D`` delegation, sessions, loops and tool panes, ``G`` cases of real trouble,
``T`` traps of the terminal host's protocol, ``§3.8.n`` the edge cases of delivery. A test cites a number in
its docstring, or in its name (``test_g5_…``). Numbers in `REQUIRED` must be cited by some test; a number
joins when it is proven.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

PROMISES: Final[dict[str, str]] = {
    # what is owed, and telling it
    "C-1": "A question to a busy coordinator is kept first and types nothing.",
    "C-2": "At the next idle moment one notice names the question, in at most three host calls.",
    "C-3": "A second idle edge repeats nothing.",
    "C-4": "What two tasks owe the same seat is told in one notice.",
    "C-5": "A notice lists twelve items and counts the rest.",
    "C-6": "A prompt that timed out is uncertain and is sent again only when somebody asks for it.",
    "C-7": "After three known failures only a real idle edge starts another try.",
    "C-8": "A new report is told although a question is uncertain, which is only counted.",
    "C-9": "A crash after the claim types nothing more; a crash before it, exactly one notice.",
    "C-10": "What is answered while we look is not named.",
    "C-11": "A task that gets another parent between grouping and claim is told to the new one.",
    "C-12": "Two daemons racing for one recipient type once in total.",
    "C-13": "One recipient that hangs does not hold up another.",
    "C-14": "Whoever the budget leaves out is first in the next pass and has no attempt.",
    "C-15": "A host that hangs costs one bounded call per pass, however many recipients it has.",
    "C-16": "An answer stays listed until it is resolved; typing a notice does not settle it.",
    "C-17": "A report is settled by the coordinator's verification, not by the worker's.",
    "C-18": "A review is settled by a report on another candidate or by a repair.",
    "C-19": "A key that comes again with other words is refused, with the same words repeated.",
    "C-20": "A worker cannot answer its own question.",
    # identity
    "C-21": "A pane id that came back with another terminal has no role until it is reclaimed.",
    "C-22": "A live hand-over of the host keeps the role and records the new terminal.",
    "C-23": "The same conversation keeps its role; the same pid with another start does not.",
    "C-24": "With the host out of sight nobody has a role and nothing is written.",
    "C-25": "Another agent in a worker's pane gets no answer until it is bound.",
    "C-26": "Ten panes that ask at once make one coordinator.",
    "C-27": "A new host name changes nothing; a copied home does not take another machine's tasks.",
    # events and attention
    "C-28": "A permission dialog makes one alert and one notice, and no question.",
    "C-29": "An alert closes when the agent is seen working, not when an old event says so.",
    "C-30": "Idle with nothing owed and no report raises an alert; with something open, none.",
    "C-31": "A report or question supersedes an alert, which can still be read.",
    "C-32": "Events of panes that nobody recorded change no record.",
    "C-33": "An idle edge that was missed is made up for by the backstop.",
    "C-34": "Who switched events off keeps them off; a failing link does not fail the command.",
    "C-35": "A failing event intake does not keep questions from being asked and told.",
    # wake episodes
    "C-36": "Routine returns wait for an outstanding episode; a question breaks through alone.",
    "C-37": "Consuming a boundary covers what it named and nothing that came later.",
    # environments
    "C-38": "A declared service is ready only if its own process owns the port.",
    "C-39": "A port that is taken ends nothing; a service that is late failed and is not retried.",
    "C-40": "Stopping touches only a process that is proven to be ours, with one key.",
    "C-41": "A URL or label with a credential in it is refused and not stored.",
    "C-42": "A URL of another task is refused unless it is shared.",
    # display tokens
    "C-43": "Unchanged records cost no call; one change costs one write of the changed keys.",
    "C-44": "In a pane that is used by something else our keys are cleared and none is written.",
    "C-45": "A refused write is not believed, and the command that caused it succeeds.",
    "C-46": "After a restart of the host the tokens are written again by themselves.",
    # storage
    "C-47": "Killed at any point, every file is the old one or the new one, and no lock is left.",
    "C-48": "One record that cannot be read keeps no other from being told.",
    "C-49": "A database of an unknown version is refused and not changed.",
    "C-50": "With a hundred tasks and a slow host a pass ends within its budget.",
    # tool runs and restarts
    "D-39": "A run reports the true exit status in every shell, and reuses its pane.",
    "D-40": "Killed anywhere, asked again with the same key: one effect, the first answer.",
    # cases of real trouble
    "G-1": "With a dialog on the screen nothing is typed, and the wait says why.",
    "G-2": "A sentence that somebody is typing is left alone and never mixed with ours.",
    "G-3": "A lost Enter is repeated a few times; a stranded text is not typed twice.",
    "G-4": "Text that the screen wraps is neither taken for lost nor sent again.",
    "G-5": "Only a dead daemon's socket is replaced; twenty starts make one daemon.",
    "G-6": "Long run-time folders work or are refused; modes are private at every instant.",
    "G-7": "A database held by others costs time and clear refusals, no accepted record.",
    "G-8": "Every wait ends, with the state or the reason that ended it.",
    "G-9": "An agent that dies is never a success; a result that is complete counts.",
    "G-10": "Odd text arrives as one submit or is refused; nothing in it acts as a key.",
    "G-11": "As a service it leaves agents alone and is called ready when it is.",
    "G-12": "Quiet hours cost next to nothing, and a failing host does not fill the log.",
    # traps of the host's protocol
    "T-1": "One request per connection.",
    "T-2": "A subscribed or waiting connection is never half closed or written to.",
    "T-3": "A request always has params, and its id is text.",
    "T-4": "Replies are taken by connection, since the id of an error may differ.",
    "T-5": "An end of file or a reset stands for an error that is never sent.",
    "T-6": "A request is serialised before the connection is made, and written in one go.",
    "T-7": "Events are hints: they may be replayed, late, and lost.",
    "T-8": "Event names may come in snake case.",
    "T-9": "A pane that ended may be told by no event.",
    "T-10": "Changes of status, label and session may be told by no event.",
    "T-11": "Subscriptions of dead panes are dropped.",
    "T-12": "A terminal id tells occupants apart and lasts for nothing beyond.",
    "T-13": "Agents are addressed by pane id or name only.",
    "T-14": "Idle and done mean the same.",
    "T-15": "An accepted report is not an applied one.",
    "T-16": "Sequence numbers of reports only grow, across restarts too.",
    "T-17": "Tokens are shared by all programs and do not survive the host.",
    "T-18": "A presentation report carries all its fields each time.",
    "T-19": "A stalled or timed-out prompt is not sent again; prompts keep their distance.",
    "T-20": "Text is cleaned before it is typed.",
    "T-21": "An id that is not written like one is refused before the host sees it.",
    "T-22": "No call relies on the person's focus or moves it.",
    # edge cases of delivery, restated for one daemon
    "§3.8.1": "Recipients that have nothing to do with each other do not wait for each other.",
    "§3.8.2": "Two that race for one recipient type at most once.",
    "§3.8.3": "A crash before the claim leaves it owed; it is told once.",
    "§3.8.4": "A crash after the claim is uncertain: never repeated, ended by no age.",
    "§3.8.5": "What is answered while the recipient is looked at is not named.",
    "§3.8.6": "A task that gets another pane meanwhile: the old pane gets nothing.",
    "§3.8.7": "Who loses the seat meanwhile is not told.",
    "§3.8.8": "Another occupant between two looks gets nothing.",
    "§3.8.9": "A terminal that changes right after the text is noticed, not called delivered.",
    "§3.8.10": "A pane id that comes back with another occupant gets nothing.",
    "§3.8.11": "Who turns busy while being looked at is busy, however old the screen that comes back.",
    "§3.8.12": "A permission dialog gets no text.",
    "§3.8.13": "An event that says idle is not believed against a look that says working.",
    "§3.8.14": "A second idle edge tells nothing again.",
    "§3.8.15": "Edges in any order and number make one prompt.",
    "§3.8.16": "A look that hangs costs one bounded call, and no failure of anybody.",
    "§3.8.17": "A prompt that hangs is uncertain.",
    "§3.8.18": "Who is not through in an explicit pass is deferred, and has its turn all the same.",
    "§3.8.19": "A closed coordinator's returns are told afresh to the next one.",
    "§3.8.20": "A busy coordinator is told at its next idle edge, even what had stalled.",
    "§3.8.21": "An idle edge revives what stalled, never what is uncertain.",
    "§3.8.22": "Beside an uncertain debt only the new one is named; the other is counted.",
    "§3.8.23": "An explicit notice tries once, also what stalled or is uncertain.",
    "§3.8.24": "Tasks of another machine are seen and nobody is told.",
    "§3.8.25": "Without a recorded pane nothing is tried, and that is the reason.",
    "§3.8.26": "A worker whose pane was closed is no failure.",
    "§3.8.27": "A requested brief of a worker that is gone is not tried.",
    "§3.8.28": "A requested brief that was told is not told again.",
    "§3.8.29": "A store that somebody holds delays; nothing is typed that was not claimed.",
    "§3.8.30": "What is typed by hand is no part of a wake episode.",
    "§3.8.31": "An outcome that is late on disk repeats no text.",
    "§3.8.32": "An episode that cannot be read holds back routine of its coordinator only.",
    "§3.8.33": "Twelve arrivals before a receipt: one prompt, twelve things to read.",
    "§3.8.34": "After a receipt only what came later is told; attempts stay as they were.",
    "§3.8.35": "Another occupant inherits no coverage and no receipt.",
    "§3.8.36": "A question asked anew under another key may pass once more.",
    "§3.8.37": "A lost event makes it late, and nothing claims that it was handled.",
    "§3.8.38": "Reading tells nobody.",
    "§3.8.39": "A record that cannot be read keeps no other from being told.",
    "§3.8.40": "What nobody acts on stays owed and is not told again.",
}

_PROVEN: Final = {
    "C": "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34"
    " 35 36 37 47 48 49 50",
    "D": "39 40",
    "G": "1 2 3 4 5 6 7 8 10 11 12",
    "T": "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22",
}
REQUIRED: Final = frozenset(
    [f"{kind}-{n}" for kind, row in _PROVEN.items() for n in row.split()]
    + [f"§3.8.{n}" for n in range(1, 41)]
)
"""Proven, and not to lose its proof."""

_IN_TEXT: Final = re.compile(r"\b[CDGT]-\d{1,2}\b|§3\.8\.\d{1,2}\b")
_IN_NAME: Final = re.compile(r"test_([cdgt])(\d{1,2})_")


def cited(source: str) -> Iterator[str]:
    """The numbers that docstrings, names and comments of a source cite."""
    for line in source.splitlines():
        yield from _IN_TEXT.findall(line)
        yield from (f"{kind.upper()}-{number}" for kind, number in _IN_NAME.findall(line))


def citing_tests(folder: Path) -> dict[str, set[str]]:
    """The numbers that tests below the folder cite, each with the tests' names."""
    found: dict[str, set[str]] = {}
    for path in sorted(folder.rglob("test_*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and "test_" in node.name:
                for number in cited(f"{node.name}\n{ast.get_docstring(node) or ''}"):
                    found.setdefault(number, set()).add(f"{path.name}::{node.name}")
    return found


def uncited(folder: Path) -> list[str]:
    """The numbers that no test below the folder cites yet."""
    proven = citing_tests(folder)
    return [number for number in PROMISES if number not in proven]
