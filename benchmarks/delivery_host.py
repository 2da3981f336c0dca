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
from typing import Any

SCREEN = "› \x1b[2mAsk Codex to do anything\x1b[0m\n\n  fake default · /work\n"


class Host:
    """Panes w1:p1 … with one codex each."""

    def __init__(self, panes: int) -> None:
        self.status = {f"w1:p{number}": "working" for number in range(1, panes + 1)}
        self.changes = dict.fromkeys(self.status, 1)
        self.streams: set[asyncio.StreamWriter] = set()
        self.begun: dict[str, float] = {}
        self.spent: dict[str, float] = {}
        self.asked: dict[str, int] = {}
        self.prompted: dict[str, asyncio.Future[float]] = {}

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One request on one connection, as Herdr has it."""
        line = await reader.readline()
        came = time.perf_counter()
        if not line:
            writer.close()
            return
        request = json.loads(line)
        method, params = request["method"], request["params"]
        pane = params.get("pane_id") or params.get("target") or ""
        if method == "agent.prompt" and pane in self.prompted:
            self.prompted[pane].set_result(came)
        result = await self.answer(method, params, pane)
        writer.write(json.dumps({"id": request["id"], "result": result}).encode() + b"\n")
        await writer.drain()
        if pane in self.begun and method != "bench.idle":
            self.spent[pane] = self.spent.get(pane, 0.0) + time.perf_counter() - came
            self.asked[pane] = self.asked.get(pane, 0) + 1
        if method == "events.subscribe":
            self.streams.add(writer)
            await reader.read()
            self.streams.discard(writer)
        writer.close()

    async def answer(self, method: str, params: dict[str, Any], pane: str) -> dict[str, Any]:
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
            case "bench.idle":
                return await self.idle(pane)
            case _:
                return {}

    async def idle(self, pane: str) -> dict[str, Any]:
        """The agent is idle; what it took until it was prompted."""
        self.status[pane], self.changes[pane] = "idle", self.changes[pane] + 1
        self.prompted[pane] = asyncio.get_running_loop().create_future()
        event = {"event": "pane.agent_status_changed", "data": {"pane_id": pane}}
        self.begun[pane] = time.perf_counter()
        for stream in self.streams:
            stream.write(json.dumps(event).encode() + b"\n")
        came = await asyncio.wait_for(self.prompted[pane], 60)
        took = came - self.begun.pop(pane)
        return {
            "took_ms": took * 1000,
            "host_ms": self.spent.pop(pane, 0.0) * 1000,
            "calls": self.asked.pop(pane, 0) + 1,
        }

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


async def main(path: str, panes: int) -> None:
    """Serve until the process is ended."""
    server = await asyncio.start_unix_server(Host(panes).serve, path, limit=1 << 20)
    print("ready", flush=True)
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2])))
