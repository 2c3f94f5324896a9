"""A large file takes four times its size in memory at most, beside what the libraries take for a small one.

What is in use counts. By itself the allocator of polars keeps freed memory for half a second and then leaves it to the kernel to take
back, which does so when it needs some: until then it counts as resident, more or less of it by the load of the machine.
"""

import os
import random
import subprocess
import sys

import pytest

LOOK = """
import sys
from pathlib import Path
from trialwise.study.looking import look
def most(): return int(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0]) << 10
for path in sys.argv[1:]:
    found = look([Path(path)])
    print(sum(each.n for each in found.seen[0].metrics[0].treatments), most())
"""
GIVES_BACK_AT_ONCE = {"_RJEM_MALLOC_CONF": "dirty_decay_ms:0,muzzy_decay_ms:0"}
SIZE = 40_000_000


def table(size: int) -> tuple[str, int]:
    rng = random.Random(1)
    rows = "".join(
        f"{'abcd'[row % 4]},{row // 4},{rng.gauss(100, 5):.4f},{rng.gauss(20, 1):.3f}\n"
        for row in range(4_000)
    )
    times = size // len(rows)
    return "scheme,run,rate_mbit,delay_ms\n" + rows * times, 4_000 * times


def runs(size: int) -> tuple[str, int]:
    rng = random.Random(1)
    values = "".join(f", {rng.gauss(0.1, 0.01):.17g}" for _ in range(4_000))
    times = size // len(values)
    each = [f'{{"command": "{name}", "mean": 0.1, "times": [0.1{values * (times // 2)}]}}' for name in "ab"]
    return f'{{"results": [{", ".join(each)}]}}', 2 + 4_000 * (times // 2 * 2)


@pytest.mark.parametrize(("kind", "most"), [(table, 3.5), (runs, 2.5)])
def test_a_large_file_takes_few_times_its_size(kind, most, tmp_path):
    paths = [tmp_path / "small", tmp_path / "large"]
    expected = []
    for path, size in zip(paths, (200_000, SIZE), strict=True):
        text, count = kind(size)
        path.write_text(text)
        expected.append(count)
    done = subprocess.run(
        [sys.executable, "-c", LOOK, *map(str, paths)],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, **GIVES_BACK_AT_ONCE},
    )
    (few, before), (many, after) = (map(int, line.split()) for line in done.stdout.splitlines())
    assert [few, many] == expected

    assert after - before < most * SIZE
