"""Run suites of benchmarks, and keep what their harnesses write: `python tests/golden/formats/make_harnesses.py`.

Needs an environment with pytest, pytest-benchmark and hyperfine 2 (`astral-dev-toolchain-hyperfine` of PyPI), and g++ with
libbenchmark-dev and catch2 of Debian 12; for divan, cargo and the registry.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

DATA = Path(__file__).parent / "data"
SUITE = """\
import pytest

@pytest.mark.parametrize("n", [10, 1000])
def test_sum(benchmark, n):
    benchmark(sum, range(n))

def test_bad(benchmark):
    assert benchmark(int) == 1

@pytest.mark.skip(reason="no device")
def test_skipped():
    pass
"""

LOOPS = """\
#include <benchmark/benchmark.h>
static void BM(benchmark::State& state) {
  for (auto _ : state)
    for (int i = 0; i < state.range(0); i++) benchmark::DoNotOptimize(i);
  state.SetBytesProcessed(state.iterations() * state.range(0));
  state.counters["rate"] = benchmark::Counter(state.iterations(), benchmark::Counter::kIsRate);
  if (state.range(0) == 64) state.SkipWithError("bad");
}
BENCHMARK(BM)->Arg(8)->Arg(64)->Arg(512)->Threads(2)->UseRealTime()->Unit(benchmark::kMicrosecond);
BENCHMARK_MAIN();
"""


CASES = r"""#define CATCH_CONFIG_MAIN
#define CATCH_CONFIG_ENABLE_BENCHMARKING
#include <catch2/catch.hpp>
#include <numeric>
#include <vector>

TEST_CASE("sums") {
  for (int n : {10, 1000}) {
    std::vector<int> values(n, 1);
    BENCHMARK("sum of " + std::to_string(n)) { return std::accumulate(values.begin(), values.end(), 0); };
  }
}

TEST_CASE("a benchmark that throws") {
  BENCHMARK("bad") -> int { throw std::runtime_error("no device"); };
}

TEST_CASE("a failed check") {
  BENCHMARK("beside a failure") { return 1; };
  CHECK(1 == 2);
}
"""


CRATE = """\
[package]
name = "sums"
version = "0.1.0"
edition = "2021"

[dev-dependencies]
divan = "0.1"

[[bench]]
name = "sums"
harness = false
"""
LIBRARY = "pub fn sum(n: u64) -> u64 { (0..n).fold(0, |a, b| a ^ b.wrapping_mul(31)) }\n"
SUMS = """\
use divan::{black_box, counter::BytesCount, AllocProfiler, Bencher};

#[global_allocator]
static ALLOC: AllocProfiler = AllocProfiler::system();

fn main() {
    divan::main();
}

#[divan::bench]
fn plain() -> u64 {
    sums::sum(black_box(100))
}

#[divan::bench(args = [1, 100, 1000])]
fn sum(n: u64) -> u64 {
    sums::sum(black_box(n))
}

#[divan::bench(consts = [8, 4096])]
fn fill<const N: usize>(bencher: Bencher) {
    bencher.counter(BytesCount::new(N)).bench(|| vec![black_box(1u8); N]);
}

mod grouped {
    #[divan::bench(threads = [1, 2])]
    fn threaded() -> u64 {
        sums::sum(divan::black_box(50))
    }

    #[divan::bench(ignore)]
    fn ignored() {}

    #[divan::bench(types = [Vec<u8>, String])]
    fn made<T: Default>() -> T {
        T::default()
    }
}
"""


def make_divan():
    """Make the fixture of divan: groups, arguments, throughput, allocations, threads, and one that is ignored."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in (("Cargo.toml", CRATE), ("src/lib.rs", LIBRARY), ("benches/sums.rs", SUMS)):
            Path(folder, name).parent.mkdir(exist_ok=True)
            Path(folder, name).write_text(text)
        path = DATA / "divan/sums.txt"
        path.parent.mkdir(exist_ok=True)
        with path.open("wb") as file:
            subprocess.run(["cargo", "bench", "--bench", "sums"], cwd=folder, stdout=file, check=True)


def make_hyperfine():
    """Make the fixtures of hyperfine 2: one of three runs of the second command fails."""
    into = DATA / "hyperfine"
    into.mkdir(exist_ok=True)
    words = ["hyperfine", "-S", "--ignore-failure", "--runs", "3", "--style", "none", "-L", "n", "1,2"]
    fails = "sleep 0.00{n}; test $HYPERFINE_ITERATION-{n} != 1-2"
    exports = ["--export-json", into / "runs.json", "--export-csv", into / "metrics.csv"]
    units = ["--metrics", "memory_peak_resident:KiB,time_wall_clock:ms"]
    subprocess.run([*words, *units, *exports, "-n", "step {n}", fails], check=True)


def make_google():
    """Make the fixture of Google Benchmark, of which one benchmark fails."""
    with tempfile.TemporaryDirectory() as folder:
        source, program = Path(folder, "loops.cc"), Path(folder, "loops")
        source.write_text(LOOPS)
        subprocess.run(["g++", "-O1", source, "-lbenchmark", "-lpthread", "-o", program], check=True)
        path = DATA / "google-benchmark/errors.csv"
        path.parent.mkdir(exist_ok=True)
        with path.open("wb") as file:
            few = ["--benchmark_min_time=0.01", "--benchmark_format=csv"]
            subprocess.run([program, *few], stdout=file, stderr=subprocess.DEVNULL, check=True)


def make_catch2():
    """Make the fixture of Catch2, of which one benchmark throws, and a check fails beside another."""
    with tempfile.TemporaryDirectory() as folder:
        source, program = Path(folder, "suite.cpp"), Path(folder, "suite")
        source.write_text(CASES)
        subprocess.run(["g++", "-O1", source, "-o", program], check=True)
        path = DATA / "catch2/suite.xml"
        path.parent.mkdir(exist_ok=True)
        few = ["--benchmark-samples", "20", "--benchmark-resamples", "1000", "--benchmark-warmup-time", "1"]
        with path.open("wb") as file:
            subprocess.run([program, "-r", "xml", *few], stdout=file, check=False)


def make():
    """Make all fixtures; one test fails after it was measured."""
    make_divan()
    make_hyperfine()
    make_google()
    make_catch2()
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "test_suite.py").write_text(SUITE)
        few = [
            "--benchmark-max-time=0.0002",
            "--benchmark-min-rounds=5",
            "--benchmark-calibration-precision=1",
        ]
        for name in ("pytest-benchmark/suite.json", "junit/suite.xml"):
            (DATA / name).parent.mkdir(parents=True, exist_ok=True)
        kept = [
            f"--benchmark-json={DATA / 'pytest-benchmark/suite.json'}",
            f"--junitxml={DATA / 'junit/suite.xml'}",
        ]
        subprocess.run([sys.executable, "-m", "pytest", "-q", *few, *kept, "."], cwd=folder, check=False)
    make_table()


def make_table():
    """Make the table that pytest-benchmark computes of its file, twice."""
    words = [sys.executable, "-m", "pytest_benchmark", "compare", DATA / "pytest-benchmark/suite.json"]
    with tempfile.TemporaryDirectory() as folder:
        again = shutil.copy(DATA / "pytest-benchmark/suite.json", Path(folder, "again.json"))
        table = f"--csv={DATA / 'pytest-benchmark/compared.csv'}"
        subprocess.run([*words, again, table], cwd=folder, check=True, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    make()
