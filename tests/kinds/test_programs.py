"""Which kind a process is."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from coordinatord.kinds import AgentKind, kind_of_program

MODULES = "/home/u/.npm/lib/node_modules"


@pytest.mark.parametrize(
    ("name", "argv", "kind"),
    [
        ("codex", [f"{MODULES}/@openai/codex/vendor/x86_64/bin/codex", "-m", "x"], "codex"),
        ("codex", ["/opt/x/bin/codex", "resume", "id"], "codex"),
        ("claude", ["claude", "--resume", "id"], "claude"),
        ("opencode", ["/usr/bin/opencode"], "opencode"),
        ("pi", ["pi"], "pi"),
        ("pi", [], "pi"),
        ("node", ["node", "/usr/local/bin/codex"], "codex"),
        ("node", ["/usr/bin/node", "--max-old-space-size=9", f"{MODULES}/x/bin/codex.js"], "codex"),
        ("MainThread", ["node", "-r", "codex", "/usr/bin/claude"], "claude"),
        ("node", ["node", f"{MODULES}/@anthropic-ai/claude-code/cli.js"], "claude"),
        ("node", ["node", f"{MODULES}/@earendil-works/pi-coding-agent/dist/cli.js"], "pi"),
        ("bun", ["bun", "/x/opencode"], "opencode"),
        ("python3", ["/usr/bin/python3", "-u", "/x/bin/codex"], "codex"),
        ("codex", ["/bin/bash", "/x/bin/codex"], "codex"),
        ("bash", ["-bash"], None),
        ("vim", ["vim", "codex"], None),
        ("less", ["less", "/x/bin/claude"], None),
        ("node", ["node", "-e", "codex"], None),
        ("node", ["node", "server.js", "codex"], None),
        ("node", ["node"], None),
        ("python3", ["python3", "-m", "codex"], None),
        ("", [], None),
    ],
)
def test_the_program_tells_the_kind(
    kinds: Mapping[str, AgentKind], name: str, argv: list[str], kind: str | None
) -> None:
    assert kind_of_program(kinds, name, argv, {}) == kind


def test_the_environment_wins_if_it_names_a_known_kind(kinds: Mapping[str, AgentKind]) -> None:
    python = ("python3", ["python3", "agent.py"])
    assert kind_of_program(kinds, *python, {"HERDR_AGENT": "generic"}) == "generic"
    assert kind_of_program(kinds, "claude", ["claude"], {"HERDR_AGENT": "codex"}) == "codex"
    assert kind_of_program(kinds, "claude", ["claude"], {"HERDR_AGENT": "unheard-of"}) == "claude"
    assert kind_of_program(kinds, *python, {"HERDR_AGENT": ""}) is None
