"""The GitHub action: its steps run here as `action.yml` says, with a server of our own in place of GitHub's API."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

yaml = pytest.importorskip("yaml")
ACTION = Path(__file__).parents[2] / "action"
INPUT = re.compile(r"\$\{\{ inputs\.(\w+) \}\}")


class Api(ThreadingHTTPServer):
    """Comments of pull request 7 of a/b, for those who know the token."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.comments: list[dict[str, Any]] = [{"id": 1, "body": "a person's"}]
        self.asked: list[tuple[str, str]] = []


class Handler(BaseHTTPRequestHandler):
    server: Api

    def do_GET(self) -> None:
        self.answer(lambda _: self.server.comments)

    def do_POST(self) -> None:
        def add(body: dict[str, Any]) -> object:
            self.server.comments.append({"id": len(self.server.comments) + 1, **body})
            return self.server.comments[-1]

        self.answer(add)

    def do_PATCH(self) -> None:
        def change(body: dict[str, Any]) -> object:
            found = self.server.comments[int(self.path.rpartition("/")[2]) - 1]
            found.update(body)
            return found

        self.answer(change)

    def answer(self, done: Any) -> None:
        self.server.asked.append((self.command, self.path))
        length = int(self.headers.get("Content-Length") or 0)
        body = json.loads(self.rfile.read(length)) if length else {}
        allowed = self.headers["Authorization"] == "Bearer secret"
        text = json.dumps(done(body) if allowed else {"message": "no"}).encode()
        self.send_response(200 if allowed else 403)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *args: object) -> None: ...


@pytest.fixture
def api() -> Iterator[Api]:
    with Api() as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def steps(folder: Path, api: Api, **given: str) -> subprocess.CompletedProcess[str]:
    """Run the steps of the action that have a script, as a runner does, until one fails."""
    action = yaml.safe_load((ACTION / "action.yml").read_text())
    inputs = {name: each.get("default", "") for name, each in action["inputs"].items()} | given
    (folder / "event.json").write_text(json.dumps({"pull_request": {"number": 7}}))
    runner = {
        "GITHUB_ACTION_PATH": str(ACTION),
        "GITHUB_API_URL": f"http://127.0.0.1:{api.server_address[1]}",
        "GITHUB_REPOSITORY": "a/b",
        "GITHUB_EVENT_PATH": str(folder / "event.json"),
        **{name: str(folder / name) for name in ("GITHUB_STEP_SUMMARY", "GITHUB_OUTPUT", "GITHUB_PATH")},
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
    }
    for step in action["runs"]["steps"]:
        if "run" not in step:
            continue
        env = {name: INPUT.sub(lambda found: inputs[found[1]], value) for name, value in step["env"].items()}
        assert "${{" not in step["run"], "an input that a shell reads could run anything"
        words = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
        done = subprocess.run(
            words, cwd=folder, env=os.environ | runner | env, capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            break
    return done


def test_a_comment_is_written_once_and_updated_in_place(tmp_path: Path, api: Api) -> None:
    same = {
        "base": "true",
        "head": "true ; true",
        "package": "",
        "token": "secret",
        "arguments": "--trials 4 --warmup 0",
    }
    undecided = steps(tmp_path, api, **same, margin="0.001%")
    assert undecided.returncode == 0, undecided.stdout + undecided.stderr
    assert "::notice title=trialwise ab::undecided" in undecided.stdout
    assert api.comments[1]["body"].startswith("<!-- trialwise ab -->\n### ")
    assert "Undecided" in api.comments[1]["body"]

    failed = steps(tmp_path, api, **same | {"head": "false"})
    assert failed.returncode == 4, failed.stdout + failed.stderr
    assert [method for method, _ in api.asked] == ["GET", "POST", "GET", "PATCH"]
    assert len(api.comments) == 2
    assert "Undecided" not in api.comments[1]["body"]
    assert (tmp_path / "GITHUB_OUTPUT").read_text() == "verdict=undecided\nverdict=failed\n"
    assert (tmp_path / "GITHUB_STEP_SUMMARY").read_text().count("### ") >= 2


def test_a_token_that_may_not_comment_is_a_warning(tmp_path: Path, api: Api) -> None:
    given = {"base": "true", "head": "true", "package": "", "token": "fork's"}
    done = steps(tmp_path, api, **given, arguments="--trials 4 --warmup 0")
    assert done.returncode == 0
    assert "::warning title=trialwise ab::no comment was written: HTTP Error 403" in done.stdout
    assert len(api.comments) == 1
