"""A terminal host of nothing but answers, for `benchmarks/delivery.py`: it times what the daemon asks.

``bench.idle`` makes one agent idle, tells the streams, and answers once that pane was prompted: with the time
from the event's line to the prompt's line, and the part of it that this host took for its own answers.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any

SCREEN = "› \x1b[2mAsk Codex to do anything\x1b[0m\n\n  fake default · /work\n"


class Host:
    """Panes w1:p1 … with one codex each."""

    def __init__(self, panes: int) -> None:
        self.status = {f"w1:p{number}": "working" for number in range(1, panes + 1)}
        self.changes = dict.fromkeys(self.status, 1)
        self.streams: set[asyncio.Transport] = set()
        self.begun: dict[str, float] = {}
        self.spent: dict[str, float] = {}
        self.asked: dict[str, int] = {}
        self.waiting: dict[str, Callable[[dict[str, Any]], None]] = {}

    def serve(self, line: bytes, came: float, transport: asyncio.Transport) -> None:
        """One request on one connection, as Herdr has it; ``came`` is when it was accepted."""
        request = json.loads(line)
        method, params = request["method"], request["params"]
        pane = params.get("pane_id") or params.get("target") or ""

        def reply(result: dict[str, Any]) -> None:
            transport.write(json.dumps({"id": request["id"], "result": result}).encode() + b"\n")
            if method != "events.subscribe":
                transport.close()

        if method == "bench.idle":
            self.idle(pane, reply)
            return
        if method == "agent.prompt" and pane in self.begun:
            self.prompted(pane, came)
        reply(self.answer(method, params, pane))
        if method == "events.subscribe":
            self.streams.add(transport)
        if pane in self.begun:
            self.spent[pane] = self.spent.get(pane, 0.0) + time.perf_counter() - came
            self.asked[pane] = self.asked.get(pane, 0) + 1

    def answer(self, method: str, params: dict[str, Any], pane: str) -> dict[str, Any]:
        """What the daemon gets."""
        match method:
            case "ping":
                return {"type": "pong", "version": "0.8.2", "protocol": 20, "capabilities": {}}
            case "session.snapshot":
                records = [self.record(each) for each in self.status]
                return {"snapshot": {"panes": records, "agents": records, "workspaces": []}}
            case "agent.get":
                return {"agent": self.record(pane)}
            case "pane.get":
                return {"pane": self.record(pane)}
            case "pane.process_info":
                own = os.getpid()
                program = {"pid": own, "name": "codex", "argv": ["codex"], "cwd": "/work"}
                return {
                    "process_info": {
                        "shell_pid": os.getppid(),
                        "foreground_process_group_id": own,
                        "foreground_processes": [program],
                    }
                }
            case "pane.read":
                return {"read": {"text": SCREEN}}
            case "agent.prompt":
                self.status[pane], self.changes[pane] = "working", self.changes[pane] + 1
                return {}
            case _:
                return {}

    def idle(self, pane: str, reply: Callable[[dict[str, Any]], None]) -> None:
        """The agent is idle; the answer comes when it is prompted."""
        self.status[pane], self.changes[pane] = "idle", self.changes[pane] + 1
        event = {"event": "pane.agent_status_changed", "data": {"pane_id": pane}}
        self.waiting[pane] = reply
        self.begun[pane] = time.perf_counter()
        for stream in self.streams:
            stream.write(json.dumps(event).encode() + b"\n")

    def prompted(self, pane: str, came: float) -> None:
        """What it took from the event to the prompt, and how much of that were answers of this host."""
        self.waiting.pop(pane)(
            {
                "took_ms": (came - self.begun.pop(pane)) * 1000,
                "host_ms": self.spent.pop(pane, 0.0) * 1000,
                "calls": self.asked.pop(pane, 0) + 1,
            }
        )

    def record(self, pane: str) -> dict[str, Any]:
        """Pane and agent record in one."""
        return {
            "pane_id": pane,
            "terminal_id": f"term_{pane}",
            "workspace_id": "w1",
            "tab_id": "w1:t1",
            "agent_status": self.status[pane],
            "agent": "codex",
            "cwd": "/work",
            "foreground_cwd": "/work",
            "interactive_ready": True,
            "state_change_seq": self.changes[pane],
            "scroll": {},
        }


class Connection(asyncio.Protocol):
    """One connection: a line, its answer."""

    def __init__(self, host: Host) -> None:
        self.host = host
        self.buffer = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Here begins what this host takes for its answer."""
        assert isinstance(transport, asyncio.Transport)
        self.transport, self.came = transport, time.perf_counter()

    def data_received(self, data: bytes) -> None:
        """Answer once the line is whole."""
        self.buffer += data
        if self.buffer.endswith(b"\n"):
            self.host.serve(self.buffer, self.came, self.transport)
            self.buffer = b""

    def connection_lost(self, exc: Exception | None) -> None:
        """A stream that ended hears nothing more."""
        self.host.streams.discard(self.transport)


async def main(path: str, panes: int) -> None:
    """Serve until the process is ended."""
    host = Host(panes)
    server = await asyncio.get_running_loop().create_unix_server(lambda: Connection(host), path)
    print("ready", flush=True)
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2])))
