"""A script that runs an experiment of simulated trials, as people write one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from simulation_directory import simulation_text

EXPERIMENT = simulation_text(
    """
[metrics.fct]
[design]
series = 1
rounds = 2
""",
    workload='sizes = "fixed:10kB", load = "30%", duration = "1ms"',
)
SCRIPT = """
from pathlib import Path
from trialwise import study
with Path("started").open("a") as started:
    started.write("once\\n")
print(study.run(Path("experiment.toml"), Path("results"), jobs=2).counts)
"""


def test_a_script_needs_no_guard_and_runs_once(tmp_path: Path) -> None:
    (tmp_path / "experiment.toml").write_text(EXPERIMENT)
    (tmp_path / "script.py").write_text(SCRIPT)
    command = [sys.executable, "script.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout, done.stderr) == ("{'finished': 4}\n", "")
    assert (tmp_path / "started").read_text() == "once\n"
