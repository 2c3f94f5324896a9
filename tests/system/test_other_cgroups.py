"""Programs that move into another cgroup, as `systemd-run --scope` has them: they are measured and ended all the same."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.system.conftest import Bench

MOUNTS = [Path("/sys/fs/cgroup"), Path("/sys/fs/cgroup/unified")]
MOVES = """import os, sys, time
open(sys.argv[1] + "/cgroup.procs", "w").write(str(os.getpid()))
assert open("/proc/self/cgroup").read().count("trialwise-test-")
while time.process_time() < 0.3: pass
print("used", time.process_time())
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        open("left", "a").write(f"{os.getpid()}\\n")
        os.closerange(0, 3)
        time.sleep(600)
    os._exit(0)
os.wait()
"""
MORE = """
[metrics.system]
resource = "system"
[metrics.used]
stdout = 'used ([0-9.]+)'
"""


@pytest.fixture
def cgroup(request: pytest.FixtureRequest) -> Iterator[Path]:
    """A new cgroup of version 2."""
    root = next((each for each in MOUNTS if (each / "cgroup.controllers").exists()), None)
    if root is None:
        pytest.skip("cgroup version 2 is not mounted")
    made = root / f"trialwise-test-{os.getpid()}"
    try:
        made.mkdir()
    except OSError as error:
        pytest.skip(f"no cgroup can be made: {error.strerror}")
    yield made
    deadline = time.monotonic() + 10
    while made.exists() and time.monotonic() < deadline:
        try:
            made.rmdir()
        except OSError:
            time.sleep(0.05)


def test_what_a_program_uses_and_leaves_in_another_cgroup_is_its_own(bench: Bench, cgroup: Path):
    (bench.folder / "moves.py").write_text(MOVES)
    bench.write(f"python3 -IS moves.py {cgroup}", 'resource = "user"', trial='leftovers = "end"', rounds=1)
    bench.file.write_text(bench.file.read_text() + MORE)
    bench.run()
    assert len(bench.rows("finished")) == 1
    values = [value or 0 for value in bench.values()]
    assert sum(values) > 2 * 0.3 - 0.01  # what it says that it used, and again as user and system
    [left] = (bench.folder / "left").read_text().split()
    assert not Path(f"/proc/{left}").exists()
