"""Suites of some ten short benchmarks for `suites.py`: for each harness, how it is built and how base and head of it are run."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

PLANTED = 50
"""Benchmarks of the suite in which one is slowed down."""
_LONGER = 1.05
_GO = """package suite

import (
	"fmt"
	"sort"
	"strings"
	"testing"
)

var sink int

func BenchmarkSum(b *testing.B) {
	for _, n := range []int{100, 1000, 10000, 100000} {
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
	for _, n := range []int{50, 500, 5000} {
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
	for _, n := range []int{20, 200, 2000} {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			parts := strings.Split(strings.Repeat("ab,", n), ",")
			for i := 0; i < b.N; i++ {
				sink += len(strings.Join(parts, "-"))
			}
		})
	}
}
"""
_GO_PLANTED = """package suite

import (
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"
)

var sink uint64

func BenchmarkLoop(b *testing.B) {
	fmt.Println("Unit fastest-ns better=lower")
	longer := os.Getenv("LONGER")
	for at := 0; at < BENCHMARKS; at++ {
		steps := 50000 + 1000*at
		if strconv.Itoa(at) == longer {
			steps = steps * 105 / 100
		}
		b.Run(fmt.Sprintf("at=%d", at), func(b *testing.B) {
			count, x, fastest := 0, uint64(b.N), time.Hour
			for i := 0; i < b.N; i++ {
				began := time.Now()
				for step := 0; step < steps; step++ {
					x = x*6364136223846793005 + 1442695040888963407
					count++
				}
				fastest = min(fastest, time.Since(began))
			}
			b.ReportMetric(float64(fastest.Nanoseconds()), "fastest-ns")
			b.ReportMetric(float64(count)/float64(b.N), "steps/op")
			sink += x
		})
	}
}
"""
_PYTEST = """import json
import pytest

@pytest.mark.parametrize("n", [100, 1000, 10000])
def test_sort(benchmark, n):
    benchmark.pedantic(sorted, ([(7919 * at) % n for at in range(n)],), rounds=5, iterations=3)

@pytest.mark.parametrize("n", [100, 1000])
def test_sum(benchmark, n):
    benchmark.pedantic(sum, (range(n),), rounds=20, iterations=20)

@pytest.mark.parametrize("n", [20, 200])
def test_dumps(benchmark, n):
    benchmark.pedantic(json.dumps, ({str(at): at for at in range(n)},), rounds=20, iterations=5)

def test_loads(benchmark):
    benchmark.pedantic(json.loads, (json.dumps(list(range(500))),), rounds=20, iterations=5)

def test_join(benchmark):
    benchmark.pedantic(" ".join, ([str(at) for at in range(500)],), rounds=20, iterations=20)

def test_format(benchmark):
    benchmark.pedantic("{:.3f} {:>10}".format, (1.5, "a"), rounds=20, iterations=50)
"""
_CONFTEST = """def pytest_benchmark_generate_machine_info(config):
    return {"node": ""}  # asking a dozen programs for it takes longer than the suite
"""
_CARGO = """[package]
name = "suite"
version = "0.0.0"
edition = "2021"

[workspace]

[lib]
path = "lib.rs"

[dev-dependencies]
criterion = { version = "0.8", default-features = false }

[[bench]]
name = "suite"
path = "suite.rs"
harness = false
"""
_CRITERION = """use criterion::{criterion_group, criterion_main, Criterion};
use std::hint::black_box;

fn suite(criterion: &mut Criterion) {
    for n in [100u64, 1_000, 10_000] {
        criterion.bench_function(&format!("sum/{n}"), |b| {
            b.iter(|| (0..black_box(n)).fold(0u64, |sum, at| sum ^ at.wrapping_mul(7919)))
        });
        let numbers: Vec<u64> = (0..n).map(|at| at * 7919 % n).collect();
        criterion.bench_function(&format!("sort/{n}"), |b| {
            b.iter(|| {
                let mut copy = black_box(&numbers).clone();
                copy.sort();
                copy
            })
        });
        let words: Vec<String> = numbers.iter().map(u64::to_string).collect();
        criterion.bench_function(&format!("join/{n}"), |b| b.iter(|| black_box(&words).join("-")));
    }
    criterion.bench_function("format", |b| b.iter(|| format!("{:?}", black_box([1.5, 2.5]))));
}
criterion_group!(benches, suite);
criterion_main!(benches);
"""


def go(folder: Path, number: int) -> tuple[str, ...]:  # noqa: ARG001 each run of an identical pair is the same
    """Return the options of `ab` for a suite of go and its copy."""
    program = _go_program(folder, "suite", _GO)
    head = shutil.copy(program, folder / "head.test")
    return _go_options(f"./{program.name}", f"./{head.name}", "2ms", "ns/op")


def planted(folder: Path, number: int) -> tuple[str, ...]:
    """Return the options of `ab` for a suite of busy loops, one of which is 5 % longer in head: another one in each run."""
    program = _go_program(folder, "planted", _GO_PLANTED.replace("BENCHMARKS", str(PLANTED)))
    at = number % PLANTED
    _check_steps(program, at)
    return _go_options(f"./{program.name}", f"LONGER={at} ./{program.name}", "20x", "fastest-ns")


def planted_name(number: int) -> str:
    """Return the metric that is slower in this run."""
    return f"Loop/at={number % PLANTED}:fastest-ns"


def _go_program(folder: Path, name: str, source: str) -> Path:
    place, program = folder / name, folder / f"{name}.test"
    if not program.exists():
        place.mkdir(exist_ok=True)
        (place / "go.mod").write_text("module example.org/suite\n\ngo 1.21\n")
        (place / "suite_test.go").write_text(source)
        subprocess.run(["go", "test", "-c", "-o", program, "."], cwd=place, check=True)
    return program


def _go_options(base: str, head: str, each: str, metric: str) -> tuple[str, ...]:
    words = f"-test.run ^$ -test.bench . -test.benchtime {each} -test.cpu 1"
    sides = ("--base", f"{base} {words}", "--head", f"{head} {words}")
    return (*sides, "--format", "go-bench", "--keep", f"*:{metric}")


def _check_steps(program: Path, at: int) -> None:
    """Have the program count its own steps: 5 % more where it was asked for, and nowhere else."""
    base, head = (_steps(program, longer) for longer in ("none", str(at)))
    wrong = [other for other in base if other != at and head[other] != base[other]]
    if wrong or abs(head[at] / base[at] - _LONGER) > 1e-3 * _LONGER:
        sys.exit(f"benchmark {at} is not 5 % longer, or others are: {base}, {head}")


def _steps(program: Path, longer: str) -> dict[int, float]:
    words = ["-test.run", "^$", "-test.bench", ".", "-test.benchtime", "1x", "-test.cpu", "1"]
    done = subprocess.run(
        [program, *words], env={"LONGER": longer}, capture_output=True, text=True, check=True
    )
    lines = [line.split() for line in done.stdout.splitlines() if line.startswith("BenchmarkLoop/at=")]
    return {
        int(line[0].partition("=")[2].partition("-")[0]): float(line[line.index("steps/op") - 1])
        for line in lines
    }


def pytest(folder: Path, number: int) -> tuple[str, ...]:  # noqa: ARG001
    """Return the options of `ab` for a suite of pytest-benchmark and its copy, in an environment of their own."""
    python = folder / "environment/bin/python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", folder / "environment"], check=True)
        packages = ["pytest==9.*", "pytest-benchmark==5.*"]
        subprocess.run([python, "-m", "pip", "install", "-q", *packages], check=True)
    for side in ("base", "head"):
        (folder / side).mkdir(exist_ok=True)
        (folder / side / "test_suite.py").write_text(_PYTEST)
        (folder / side / "conftest.py").write_text(_CONFTEST)
    words = "-q -p no:cacheprovider --benchmark-json {directory}/out.json"
    sides = [f"{python} -B -m pytest {side} {words}" for side in ("base", "head")]
    where = ("--results", "{directory}/out.json", "--keep", "*:time")
    return ("--base", sides[0], "--head", sides[1], "--format", "pytest-benchmark", *where)


def criterion(folder: Path, number: int) -> tuple[str, ...]:  # noqa: ARG001
    """Return the options of `ab` for a suite of criterion and its copy."""
    place, base, head = folder / "criterion", folder / "base.bench", folder / "head.bench"
    if not base.exists():
        place.mkdir(exist_ok=True)
        for name, text in {"Cargo.toml": _CARGO, "lib.rs": "", "suite.rs": _CRITERION}.items():
            (place / name).write_text(text)
        subprocess.run(["cargo", "bench", "-q", "--no-run"], cwd=place, check=True)
        built = [path for path in (place / "target/release/deps").glob("suite-*") if not path.suffix]
        shutil.copy(max(built, key=lambda path: path.stat().st_size), base)
    shutil.copy(base, head)
    short = "--warm-up-time 0.001 --measurement-time 0.005 --sample-size 10 --nresamples 1000"
    words = f"--bench --noplot --discard-baseline --output-format bencher {short}"
    sides = ("--base", f"./{base.name} {words}", "--head", f"./{head.name} {words}")
    return (*sides, "--format", "libtest-bench")


SUITES = {"go": go, "pytest": pytest, "criterion": criterion, "planted": planted}
