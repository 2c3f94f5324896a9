"""How often `trialwise ab` calls a suite of benchmarks worse than itself: byte-identical copies of real suites.

`python benches/suites.py go RUNS FOLDER` (or `pytest`, with pytest-benchmark in this environment) runs `ab` again and again in FOLDER,
which is outside of the repository, and adds a line for each run to FOLDER/NAME.jsonl. It goes on where it was stopped. At most one run
in twenty may be red.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

TRIALWISE = str(Path(sys.executable).parent / "trialwise")
GO = """package suite

import (
	"fmt"
	"sort"
	"strings"
	"testing"
)

var sink int

func BenchmarkSum(b *testing.B) {
	for _, n := range []int{100, 1000, 10000} {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			xs := make([]int, n)
			for i := 0; i < b.N; i++ {
				for _, x := range xs {
					sink += x
				}
			}
		})
	}
}

func BenchmarkSort(b *testing.B) {
	for _, n := range []int{50, 500} {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			xs := make([]int, n)
			for i := 0; i < b.N; i++ {
				for j := range xs {
					xs[j] = (j * 7919) % n
				}
				sort.Ints(xs)
			}
		})
	}
}

func BenchmarkJoin(b *testing.B) {
	parts := strings.Split(strings.Repeat("ab,", 200), ",")
	for i := 0; i < b.N; i++ {
		sink += len(strings.Join(parts, "-"))
	}
}
"""
PYTEST = """import json
import pytest

@pytest.mark.parametrize("n", [100, 1000])
def test_sort(benchmark, n):
    benchmark.pedantic(sorted, ([(7919 * at) % n for at in range(n)],), rounds=20, iterations=5)

def test_dumps(benchmark):
    benchmark.pedantic(json.dumps, ({str(at): at for at in range(200)},), rounds=20, iterations=5)
"""


def go(folder: Path) -> tuple[str, ...]:
    """Build the suite once, copy it, and return the options of `ab`."""
    (folder / "go.mod").write_text("module example.org/suite\n\ngo 1.19\n")
    (folder / "suite_test.go").write_text(GO)
    subprocess.run(["go", "test", "-c", "-o", "base.test", "."], cwd=folder, check=True)
    shutil.copy(folder / "base.test", folder / "head.test")
    words = "-test.run ^$ -test.bench . -test.benchtime 10ms -test.cpu 1"
    sides = [f"./{side}.test {words}" for side in ("base", "head")]
    return ("--base", sides[0], "--head", sides[1], "--format", "go-bench")


def pytest(folder: Path) -> tuple[str, ...]:
    """Write the same suite twice, and return the options of `ab`."""
    for side in ("base", "head"):
        (folder / side).mkdir(exist_ok=True)
        (folder / side / "test_suite.py").write_text(PYTEST)
    words = "-q -p no:cacheprovider --benchmark-json {directory}/out.json"
    sides = [f"{sys.executable} -m pytest {side} {words}" for side in ("base", "head")]
    where = ("--results", "{directory}/out.json", "--keep", "*:time")
    return ("--base", sides[0], "--head", sides[1], "--format", "pytest-benchmark", *where)


SUITES = {"go": go, "pytest": pytest}


def run(folder: Path, name: str, number: int, words: tuple[str, ...]) -> dict[str, object]:
    """Compare once, with trials of its own, and return what is kept of it."""
    directory = folder / f"{name}.ab"
    shutil.rmtree(directory, ignore_errors=True)
    options = ("--directory", str(directory), "--seed", str(number), "--budget", "2m", "--json", "--quiet")
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [TRIALWISE, "ab", *words, *options],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env=environment,
    )
    if done.returncode not in (0, 1, 3):
        sys.exit(f"exit code {done.returncode}: {done.stderr[-2000:]}")
    told = json.loads(done.stdout)
    shutil.rmtree(directory, ignore_errors=True)
    return {
        "run": number,
        "code": done.returncode,
        "rows": len(told["outcomes"]),
        "open": told["outcomes"].count("undecided"),
        "crossed": told["crossed"],
        "rounds": told["rounds"],
    }


def main() -> None:
    """Run what is missing, and say how many runs were red."""
    name, runs, place = sys.argv[1], int(sys.argv[2]), Path(sys.argv[3])
    place.mkdir(parents=True, exist_ok=True)
    kept = place / f"{name}.jsonl"
    done = [json.loads(line) for line in kept.read_text().splitlines()] if kept.exists() else []
    words = SUITES[name](place)
    for number in range(len(done) + 1, runs + 1):
        done.append(run(place, name, number, words))
        with kept.open("a") as file:
            file.write(json.dumps(done[-1]) + "\n")
    red = sum(one["code"] == 1 for one in done)
    sys.stdout.write(f"{name}: {red} of {len(done)} runs red\n")


if __name__ == "__main__":
    main()
