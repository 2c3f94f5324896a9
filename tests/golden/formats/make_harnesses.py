"""Run a suite of benchmarks with pytest-benchmark, and keep what it writes: `python tests/golden/formats/make_harnesses.py`.

Needs an environment with pytest and pytest-benchmark.
"""

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


def make():
    """Make all fixtures; one test fails after it was measured."""
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


if __name__ == "__main__":
    make()
