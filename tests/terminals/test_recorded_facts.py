"""Single facts of the recordings that a client gets wrong easily, each where it was seen."""

from __future__ import annotations

import copy
import json
from typing import Any

import anyio
import pytest

from coordinatord.errors import HostRefused, PaneMissing, Uncertain, Unreachable, WorldFailed
from coordinatord.ids import PaneId
from coordinatord.terminals.port import SETTLED, PaneText, Sighting
from tests.terminals.replay import Json, Tape, Truth, serving, terminal_at


async def asked(name: str, request: str, call: str, *args: Any, known: int = 0, **more: Any) -> Any:
    """What the client makes of one recorded answer, all before it being as recorded.

    ``known`` more places of the tape are already true when the client asks.
    """
    tape, truth = Tape(name), Truth()
    place = next(
        index
        for index, row in enumerate(tape.rows)
        if row.what == "request" and isinstance(row.line, dict) and row.line.get("id") == request
    )
    for index, row in enumerate(tape.rows[: place + known]):
        before = tape.request_of(index) if row.what == "response" else None
        if before is not None:
            truth.fold(before.line, row.line, tape.names)
    with anyio.fail_after(5):
        async with serving(truth, tape) as host:
            host.due = (tape.rows[place].line, tape.answer(place))
            try:
                return await getattr(terminal_at(host.path), call)(*args, **more)
            except WorldFailed as error:
                failure = error  # raised outside, so that no task group wraps it
    raise failure


def request_id(name: str, method: str, nth: int = 0, **params: Any) -> str:
    found = [
        str(row.line["id"])
        for row in Tape(name).rows
        if row.method == method and params.items() <= row.line["params"].items()
    ]
    return found[nth]


@pytest.mark.parametrize("name", ["06-restart", "07-kill"])
async def test_restored_agent_without_a_process_is_not_live(name: str) -> None:
    """D: it says idle and ready; only scroll and foreground directory are missing."""
    request = request_id(name, "pane.get", pane_id="w1:p2")
    sighting: Sighting = await asked(name, request, "look", PaneId("w1:p2"))
    assert (sighting.agent, sighting.status, sighting.interactive_ready) == ("codex", "idle", True)
    assert not sighting.live
    refused = request_id(name, "agent.prompt", text="too early")
    with pytest.raises(HostRefused) as error:
        await asked(name, refused, "prompt", PaneId("w1:p2"), "too early")
    assert error.value.code == "agent_not_found"


async def test_directory_that_does_not_exist_shows_in_the_answer() -> None:
    """N: the pane starts at home, and no error says so."""
    absent = "/demo/work/absent"
    request = request_id("02-errors", "pane.split", cwd=absent)
    made = await asked("02-errors", request, "split", PaneId("w1:p1"), "right", cwd=absent, env={})
    assert made.cwd == "/demo/home"


async def test_number_of_an_unsaved_pane_is_another_pane_after_a_kill() -> None:
    """D: w1:p5 was handed out twice; only the terminal id tells."""
    results = [row.line.get("result", {}) for row in Tape("07-kill").rows if row.what == "response"]
    panes = [result.get("pane") or result.get("root_pane") or {} for result in results]
    seen = {pane["terminal_id"] for pane in panes if pane.get("pane_id") == "w1:p5"}
    assert len(seen) == 2
    truth = Truth()
    async with serving(truth) as host:
        terminal = terminal_at(host.path)
        sightings = []
        for terminal_id in sorted(seen):
            truth.panes["w1:p5"] = {"pane_id": "w1:p5", "terminal_id": terminal_id, "scroll": {}}
            sightings.append(await terminal.look(PaneId("w1:p5")))
    assert {sighting.terminal_id for sighting in sightings} == seen


async def test_pending_start_is_polled_by_looking() -> None:
    """D: a failed start stays pending for all to see until somebody asks for the agent (14)."""
    tape, truth = Tape("14-start-unpolled"), Truth()
    seen: list[Sighting] = []
    with anyio.fail_after(10):
        async with serving(truth, tape) as host:
            terminal = terminal_at(host.path)
            for index, row in enumerate(tape.rows):
                request = tape.request_of(index) if row.what == "response" else None
                if request is None:
                    continue
                truth.fold(request.line, row.line, tape.names)
                if truth.panes:
                    seen.append(await terminal.look(PaneId("w1:p1")))
    order = [(each.launch_pending, each.interactive_ready) for each in seen]
    assert order.index((True, False)) < order.index((False, True))


async def test_snapshot_asks_for_agents_that_are_being_started() -> None:
    """D: the snapshot lists a start as pending until somebody asks for the agent (14)."""
    tape, truth = Tape("14-start-unpolled"), Truth()
    ready, pending = (
        next(
            record
            for row in tape.rows
            if row.what == "response"
            and (record := row.line.get("result", {}).get("agent", {})).get(field)
        )
        for field in ("interactive_ready", "launch_pending")
    )
    pane = PaneId(pending["pane_id"])
    async with serving(truth) as host:
        truth.panes[pane] = {"pane_id": pane, "terminal_id": ready["terminal_id"], "scroll": {}}
        truth.panes[PaneId("w1:p7")] = {"pane_id": "w1:p7", "terminal_id": "term_7", "scroll": {}}
        truth.agents[pane] = {**pending, "terminal_id": ready["terminal_id"]}
        host.pool.append(
            (
                {"method": "agent.get", "params": {"target": pane}},
                {"id": "r", "result": {"type": "agent_info", "agent": {**ready, "pane_id": pane}}},
            )
        )
        snapshot = await terminal_at(host.path).snapshot()
        assert [each["method"] for each in host.requests] == ["session.snapshot", "agent.get"]
    assert not snapshot.panes[pane].launch_pending
    assert snapshot.panes[pane].interactive_ready


async def test_moved_pane_is_found_under_its_old_address_as_what_it_is_now() -> None:
    """T-13: pane methods know aliases, agent methods do not; the answer tells the new address."""
    request = request_id("11-move-tab", "pane.get", pane_id="w1:p3", nth=-1)
    answers = [
        row.line
        for row in Tape("11-move-tab").rows
        if row.what == "response" and row.line["id"] == request
    ]
    sighting = await asked("11-move-tab", request, "look", PaneId("w1:p3"))
    assert sighting.pane == answers[0]["result"]["pane"]["pane_id"] != "w1:p3"


async def test_few_recent_lines_of_an_empty_screen_are_empty() -> None:
    """C: `recent` with few lines is no way to see what stands on the screen; `visible` is."""
    pane = PaneId("w1:p1")
    recent = request_id("03-run-command", "pane.read", source="recent", lines=3)
    visible = request_id("03-run-command", "pane.read", source="visible", lines=3)
    none: PaneText = await asked("03-run-command", recent, "read", pane, "recent", lines=3)
    some: PaneText = await asked("03-run-command", visible, "read", pane, "visible", lines=3)
    assert (none.text, none.truncated) == ("", True)
    assert some.text.strip() != ""


async def test_agent_that_died_in_its_turn_is_gone_at_the_next_look() -> None:
    """N: a waited prompt can answer success for it, so the client never waits in a prompt."""
    tape = Tape("12-dead-subscription")
    gone = [
        row.line["id"]
        for row in tape.rows
        if row.what == "response" and row.line.get("error", {}).get("code") == "agent_not_found"
    ]
    sighting = await asked(tape.name, gone[-1], "look", PaneId("w1:p4"), known=6)
    assert sighting.agent is None
    assert sighting.live


async def test_prompt_never_waits() -> None:
    """T-19: a wait follows lifecycle, not turns, and its failure comes after the text."""
    truth = Truth()
    async with serving(truth) as host:
        host.scripted["agent.prompt"] = [b'{"id":"c","result":{"type":"agent_prompted"}}\n']
        await terminal_at(host.path).prompt(PaneId("w1:p2"), "x")
        assert host.requests[-1]["params"] == {"target": "w1:p2", "text": "x"}


@pytest.mark.parametrize("call", ["split", "new_tab", "new_workspace"])
async def test_new_panes_never_take_the_focus(call: str) -> None:
    """T-22: focus false is said, not left to a default, and the target is named."""
    record: Json = {"pane_id": "w1:p2", "terminal_id": "term_1"}
    kind = "pane" if call == "split" else "root_pane"
    method = {"split": "pane.split", "new_tab": "tab.create", "new_workspace": "workspace.create"}
    async with serving(Truth()) as host:
        answer = {"id": "c", "result": {"type": "made", kind: record}}
        host.scripted[method[call]] = [json.dumps(answer).encode() + b"\n"]
        terminal = terminal_at(host.path)
        match call:
            case "split":
                await terminal.split(PaneId("w1:p1"), "down", cwd="/r", env={"A": "b"})
            case "new_tab":
                await terminal.new_tab("w1", label="l", cwd="/r", env={"A": "b"})
            case _:
                await terminal.new_workspace(label="l", cwd="/r", env={"A": "b"})
        params = host.requests[-1]["params"]
    assert params.pop("focus") is False
    assert (params.pop("cwd"), params.pop("env")) == ("/r", {"A": "b"})
    wanted = {
        "split": {"target_pane_id": "w1:p1", "direction": "down"},
        "new_tab": {"workspace_id": "w1", "label": "l"},
        "new_workspace": {"label": "l"},
    }
    assert params == wanted[call]


async def test_read_is_passive_unless_asked_otherwise() -> None:
    """T-22: a `recent` read scrolls an idle agent's screen; the default is what is visible."""
    async with serving(Truth()) as host:
        with pytest.raises(PaneMissing):
            await terminal_at(host.path).read(PaneId("w1:p1"))
        assert host.requests[-1]["params"] == {"pane_id": "w1:p1", "source": "visible"}


def test_done_and_idle_are_one() -> None:
    """T-14: a person who looks turns one into the other; neither says that a task is complete."""
    assert {"idle", "done"} == SETTLED


async def test_capabilities_are_data() -> None:
    """D: what the note promises of them is not so; unknown ones change nothing."""
    async with serving(Truth()) as host:
        pong: Json = {"type": "pong", "version": "9", "protocol": 22, "colour": "blue"}
        pong["capabilities"] = {"live_handoff": "maybe", "detached_server_daemon": None}
        host.scripted["ping"] = [json.dumps({"id": "c", "result": pong}).encode() + b"\n"]
        facts = await terminal_at(host.path).greet()
    assert (facts.kind, facts.version, facts.may_type) == ("herdr", "9", True)


@pytest.mark.parametrize("acts", [False, True])
async def test_stopping_host_may_have_acted(acts: bool) -> None:
    """N: `server_unavailable` came to a request that the host's loop had taken (06)."""
    refusal = b'{"id":"c","error":{"code":"server_unavailable","message":"closed"}}\n'
    async with serving(Truth()) as host:
        terminal = terminal_at(host.path)
        host.scripted |= {"agent.prompt": [refusal], "pane.read": [refusal]}
        with pytest.raises(Uncertain if acts else Unreachable):
            await (terminal.prompt if acts else terminal.read)(PaneId("w1:p1"), "visible")


def report_and_look(first: int) -> list[tuple[Json, Json]]:
    """A recorded report of tokens and the look that followed it, as if we had reported."""
    pairs = []
    for number in (f"r{first}", f"r{first + 1}"):
        request, answer = (
            copy.deepcopy(row.line)
            for row in Tape("10-metadata").rows
            if isinstance(row.line, dict) and row.line.get("id") == number
        )
        request["params"] |= {"source": "coordinatord"} if "source" in request["params"] else {}
        request["params"].pop("seq", None)
        pairs.append((request, answer))
    return pairs


@pytest.mark.parametrize(
    ("first", "held"),
    [
        (4, {"cd_role": "review", "cd_inbox": "2"}),
        (6, {"cd_role": "author"}),
        (8, {}),
        (10, {}),
        (12, {"cd_v": "twowords[31m", "cd_long": "x" * 80, "cd_wide": "長" * 80}),
        (44, {"cd_s": "10"}),
        (46, {"cd_s": "10"}),
    ],
)
async def test_tokens_are_what_the_host_holds(first: int, held: dict[str, str]) -> None:
    """T-15: every report was answered with ok, the ignored ones (r44, r46) too.

    T-16, T-18: ours has neither a sequence number nor anything to be shown besides the tokens.
    """
    pool = report_and_look(first)
    wanted = pool[0][0]["params"]["tokens"]
    async with serving(Truth()) as host:
        host.truth.panes["w1:p1"] = {"pane_id": "w1:p1", "terminal_id": "term_1"}
        host.pool += pool
        assert await terminal_at(host.path).set_tokens(PaneId("w1:p1"), wanted) == held
        report = next(each for each in host.requests if each["method"] == "pane.report_metadata")
    assert report["params"] == {"pane_id": "w1:p1", "source": "coordinatord", "tokens": wanted}


async def test_refused_tokens_say_why() -> None:
    """N: a thirty-third token is refused as a whole; making room in the same report is not (r37)."""
    pane = PaneId("w1:p1")
    (full, refusal), (look, held) = report_and_look(35)
    (room, taken), _ = report_and_look(37)
    async with serving(Truth()) as host:
        terminal = terminal_at(host.path)
        host.truth.panes[pane] = {"pane_id": pane, "terminal_id": "term_1"}
        host.pool += [(full, refusal), (room, taken), (look, held)]
        with pytest.raises(HostRefused) as refused:
            await terminal.set_tokens(pane, full["params"]["tokens"])
        assert refused.value.code == "metadata_token_limit"
        await terminal.set_tokens(pane, room["params"]["tokens"])
        assert host.pool == []
