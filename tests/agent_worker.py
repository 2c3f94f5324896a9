"""The agent on a worker, talked to without ssh."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

from trialwise.execution.workers.connection import Connection, Reply
from trialwise.execution.workers.ssh import agent_archive, bootstrap

MARKER = "unit-test-of-the-agent:"


class Worker:
    """A folder that agents attach to, as many as are asked for."""

    def __init__(self, folder: Path, *, supervised: bool) -> None:
        self.folder = folder
        self.supervised = supervised
        self.connections: list[Connection] = []

    def attach(self) -> Connection:
        source = agent_archive()
        connection = Connection(["sh", "-c", bootstrap("python3", source, str(self.folder))], source)
        self.connections.append(connection)
        self.hello = connection.ask("hello", patience=30).head
        return connection

    def task(self, script: str, **more) -> bytes:
        task = {
            "command": ["sh", "-c", script],
            "directory": str(self.folder),
            "environment": {},
            "files": [],
            "folders": [],
            "supervised": self.supervised,
        }
        task |= {"timeout": None, "side_timeout": None, "limit": 1000, **more}
        task["environment"] |= {"TRIALWISE_TRIAL": f"{MARKER}{os.getpid()}"}
        return json.dumps(task).encode()

    def begin(self, connection: Connection, key: str, script: str, op: str = "run", **more) -> int:
        body = self.task(script, **more) if op == "run" else b""
        return connection.request(op, {"key": key, "marker": f"{MARKER}{os.getpid()}"}, body, patience=30)

    def run(self, connection: Connection, key: str, script: str, op: str = "run", **more) -> Reply:
        reply = connection.reply(self.begin(connection, key, script, op, **more), patience=30)
        assert reply is not None
        return reply

    def wait_for(self, name: str) -> None:
        deadline = time.monotonic() + 60
        while not (self.folder / name).exists():
            assert time.monotonic() < deadline
            time.sleep(0.01)

    def executor(self) -> int:
        return int(json.loads((self.folder / "hand.lock").read_text())["pid"])
