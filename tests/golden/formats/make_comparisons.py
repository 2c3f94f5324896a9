"""Run benchmarks twice and have the tools' own programs compare them: `python tests/golden/formats/make_comparisons.py`.

Needs an environment with pyperf and asv, go with benchstat built by `go install golang.org/x/perf/cmd/benchstat@latest`, hyperfine and
git. `compare_programs.py` then writes the page that holds these figures beside ours.
"""

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

HERE = Path(__file__).parent / "comparisons"
GO = """\
package lists

import (
	"slices"
	"strings"
	"testing"
)

func BenchmarkJoin(b *testing.B) {
	for b.Loop() {
		_ = strings.Repeat("ab", SIZE)
	}
}

func BenchmarkSort(b *testing.B) {
	list := make([]int, SIZE)
	for b.Loop() {
		for i := range list {
			list[i] = i * 7919 % 1009
		}
		slices.Sort(list)
	}
}
"""
ASV = """\
import os

SIZE = int(os.environ["SIZE"])


class Lists:
    params = [10, 1000]
    param_names = ["n"]

    def time_sum(self, n):
        sum(range(n * SIZE))

    def track_bytes(self, n):
        return n * SIZE

    track_bytes.unit = "byte"
"""
CONFIGURATION = {
    "version": 1,
    "project": "lists",
    "repo": ".",
    "branches": ["HEAD"],
    "environment_type": "existing",
    "results_dir": "results",
}
SIDES = {"base": 100, "head": 130}


def run(*words, cwd=None, **variables):
    """Run a command, and return what it printed."""
    environment = {**os.environ, "NO_COLOR": "1", **variables}
    return subprocess.run(
        words, cwd=cwd, env=environment, stdout=subprocess.PIPE, text=True, check=True
    ).stdout


def make_pyperf(folder):
    """Two benchmarks in ten processes a side, which give three values each."""
    few = ["-q", "-p", "10", "-n", "3", "-w", "1", "--min-time", "0.01"]
    for side, size in SIDES.items():
        path = folder / f"{side}.json"
        for name, code in (("sum", f"sum(range({size}))"), ("sort", f"sorted(range({10 * size}, 0, -1))")):
            run(sys.executable, "-m", "pyperf", "timeit", *few, "--name", name, "--append", path, code)
        path.write_text(path.read_text().replace(socket.gethostname(), "bench"))
    return run(sys.executable, "-m", "pyperf", "compare_to", "base.json", "head.json", cwd=folder)


def make_benchstat(folder):
    """Two benchmarks in ten processes a side."""
    with tempfile.TemporaryDirectory() as module:
        Path(module, "go.mod").write_text("module example.org/lists\n\ngo 1.24\n")
        for side, size in SIDES.items():
            Path(module, "lists_test.go").write_text(GO.replace("SIZE", str(size)))
            command = (
                "go",
                "test",
                "-run",
                "^$",
                "-bench",
                ".",
                "-benchmem",
                "-benchtime",
                "20ms",
                "-count",
                "1",
            )
            (folder / f"{side}.txt").write_text("".join(run(*command, cwd=module) for _ in range(10)))
    return run("benchstat", "-format", "csv", "base.txt", "head.txt", cwd=folder)


def make_hyperfine(folder):
    """Two commands of ten runs each."""
    commands = ("sleep 0.02", "sleep 0.03")
    return run(
        "hyperfine", "-N", "-r", "10", "--style", "basic", "--export-json", "runs.json", *commands, cwd=folder
    )


def make_asv(folder):
    """Two commits, in two rounds each."""
    git = ("git", "-c", "user.name=A", "-c", "user.email=a@example.org")
    with tempfile.TemporaryDirectory() as place:
        suite = Path(place, "benchmarks")
        suite.mkdir()
        (suite / "__init__.py").touch()
        (suite / "lists.py").write_text(ASV)
        Path(place, "asv.conf.json").write_text(json.dumps(CONFIGURATION))
        run("git", "init", "-q", cwd=place)
        run(*git, "add", "benchmarks", cwd=place)
        asv = (sys.executable, "-m", "asv")
        run(*asv, "machine", "--yes", "--machine", "bench", cwd=place)
        for name, size in SIDES.items():
            run(*git, "commit", "-q", "--allow-empty", "-m", name, cwd=place)
            commit = run("git", "rev-parse", "HEAD", cwd=place).strip()
            which = ("--machine", "bench", "-E", f"existing:{sys.executable}", "--set-commit-hash", commit)
            few = ("-a", "sample_time=0.001", "-a", "rounds=2", "-a", "number=0", "-a", "repeat=10")
            run(*asv, "run", *which, *few, "--record-samples", cwd=place, SIZE=str(size))
        shutil.copytree(Path(place, "results"), folder / "results")
        return run(*asv, "compare", "--machine", "bench", "HEAD~1", "HEAD", cwd=place)


def versions():
    """Return the version of each program."""
    built = run("go", "version", "-m", shutil.which("benchstat"))
    return {
        "pyperf": version("pyperf"),
        "benchstat": next(
            line.split()[2].split("-")[1][:8] for line in built.splitlines() if line.split()[:1] == ["mod"]
        ),
        "hyperfine": run("hyperfine", "--version").split()[-1],
        "asv": version("asv"),
    }


def make():
    """Make all recordings."""
    for make_one in (make_pyperf, make_benchstat, make_hyperfine, make_asv):
        folder = HERE / make_one.__name__.removeprefix("make_")
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        (folder / "printed.txt").write_text(make_one(folder))
    (HERE / "versions.json").write_text(json.dumps(versions(), indent=1) + "\n")


if __name__ == "__main__":
    make()
