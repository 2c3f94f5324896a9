"""Time and steps from nothing to the first answer to "which of two commands is faster?", beside hyperfine, pyperf and benchstat.

Each tool is installed into a new folder, through its registry's own client with an empty cache, and asked once about the same two
commands with its defaults. Size is what the folder holds then; start-up is the processor time of its --help. A tool whose client is
missing here is left out, and said. hyperfine is the package of Debian, unpacked beside the others.

Run: .venv/bin/python benches/first_answer.py [TOOL…]. The result is kept in benches/results/first_answer.json.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from measuring import RESULTS, write

ROOT = Path(__file__).parents[1]
VERDICTS = {0, 1, 3}
"""Exit codes of answers."""
OLD, NEW = "sleep 0.10", "sleep 0.11"
BENCH = """\
package main
import ("os/exec"; "testing")
func run(b *testing.B, d string) { for i := 0; i < b.N; i++ { exec.Command("sleep", d).Run() } }
func BenchmarkSleep(b *testing.B) { run(b, "%s") }
"""


@dataclass(frozen=True)
class Tool:
    """How a tool is had, and what is typed until its first answer: lines of a shell, in the new folder."""

    needs: str
    install: list[str]
    ask: list[str]
    help: str
    prepare: Callable[[Path], None] | None = None


def go_files(folder: Path) -> None:
    """Write the benchmark that benchstat's users have: two revisions of a Go module."""
    for side, seconds in (("old", "0.10"), ("new", "0.11")):
        (folder / side).mkdir()
        (folder / side / "go.mod").write_text("module sleeping\n\ngo 1.20\n")
        (folder / side / "sleep_test.go").write_text(BENCH % seconds)


WHEEL = next(iter(sorted((ROOT / "dist").glob("trialwise-*.whl"))), None)
TOOLS = {
    "trialwise": Tool(
        "python3",
        [f"{sys.executable} -m venv v", f"v/bin/pip install -q {WHEEL}"],
        [f"v/bin/trialwise ab '{OLD}' '{NEW}'"],
        "v/bin/trialwise --help",
    ),
    "pyperf": Tool(
        "python3",
        [f"{sys.executable} -m venv v", "v/bin/pip install -q pyperf"],
        [
            f"v/bin/pyperf command -q -o old.json -- {OLD}",
            f"v/bin/pyperf command -q -o new.json -- {NEW}",
            "v/bin/pyperf compare_to old.json new.json",
        ],
        "v/bin/pyperf --help",
    ),
    "hyperfine": Tool(
        "apt-get",
        ["apt-get download -qq hyperfine", "dpkg --extract hyperfine_*.deb v"],
        [f"v/usr/bin/hyperfine '{OLD}' '{NEW}'"],
        "v/usr/bin/hyperfine --help",
    ),
    "benchstat": Tool(
        "go",
        ["GOBIN=$PWD/v go install golang.org/x/perf/cmd/benchstat@latest"],
        [
            "(cd old && go test -bench . -count 10) > old.txt",
            "(cd new && go test -bench . -count 10) > new.txt",
            "v/benchstat old.txt new.txt",
        ],
        "v/benchstat -h",
        go_files,
    ),
}


def measured(name: str, tool: Tool) -> dict[str, object]:
    """Install a tool into a new folder and ask it once."""
    with tempfile.TemporaryDirectory(prefix="first-answer-") as temporary:
        folder = Path(temporary)
        if tool.prepare is not None:
            tool.prepare(folder)
        environment = os.environ | {
            "PIP_NO_CACHE_DIR": "1",
        }
        environment.pop("VIRTUAL_ENV", None)
        spent = [
            seconds(tool.install, folder, environment, {0}),
            seconds(tool.ask, folder, environment, VERDICTS),
        ]
        size = sum(file.lstat().st_size for file in (folder / "v").rglob("*") if file.is_file()) / 1e6
        started = min(start_up(tool.help, folder) for _ in range(5))
    return {
        "tool": name,
        "steps_to_install": len(tool.install),
        "install_s": round(spent[0], 1),
        "steps_to_answer": len(tool.ask),
        "answer_s": round(spent[1], 1),
        "mb": round(size, 1),
        "help_processor_ms": round(started * 1e3),
        "load": round(os.getloadavg()[0], 1),
    }


def seconds(lines: list[str], folder: Path, environment: dict[str, str], codes: set[int]) -> float:
    """How long lines of a shell take, each of which must end with one of these codes."""
    begun = time.perf_counter()
    for line in lines:
        done = subprocess.run(
            ["sh", "-c", line], cwd=folder, env=environment, capture_output=True, text=True, check=False
        )
        if done.returncode not in codes:
            raise RuntimeError(f"{line}: {done.stderr}")
    return time.perf_counter() - begun


def start_up(line: str, folder: Path) -> float:
    """Seconds of processor time of a line."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(["sh", "-c", line], cwd=folder, capture_output=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> int:
    asked = sys.argv[1:] or list(TOOLS)
    rows: dict[str, dict[str, object]] = {}
    kept = RESULTS / "first_answer.json"
    if sys.argv[1:] and kept.exists():
        rows = {row["tool"]: row for row in json.loads(kept.read_text())["rows"]}
    for name in asked:
        if shutil.which(TOOLS[name].needs) is None or (name == "trialwise" and WHEEL is None):
            print(
                f"{name}: left out, as there is no {'wheel in dist/' if name == 'trialwise' else TOOLS[name].needs}"
            )
            continue
        rows[name] = measured(name, TOOLS[name])
    write("first_answer", list(rows.values()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
