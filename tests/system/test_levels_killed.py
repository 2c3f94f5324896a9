"""A run with levels = "auto" that is killed in its middle and goes on: the same allocation, and no list or trial twice."""

import json
import os
import signal
import subprocess
import time

from tests.system.conftest import TRIALWISE, Bench

from simulation_directory import simulation_text
from trialwise import study

TEXT = simulation_text(
    """
[metrics.fct]
quantity = "fct"
estimand = "per_trial"
stop = { precision = "4%", controls = ["fluid", "links"], levels = "auto" }
[design]
looks = "geometric"
max_trials = 400
""",
    workload='sizes = "fixed:20kB", load = "50%", duration = "100us"',
    topology="dumbbell:2x2,10Gbit/s,1us",
    factors='scheme = ["dctcp"]',
)


def test_levels_of_a_run_that_is_killed_stay(bench: Bench) -> None:
    bench.file.write_text(TEXT)
    process = subprocess.Popen([*TRIALWISE, "run", bench.file, "-d", bench.directory, "-q"], cwd=bench.folder)
    deadline = time.monotonic() + 60
    while not (bench.directory / "ledger.sqlite").exists() or len(bench.rows("finished")) < 20:
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.02)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    before = levels(bench)
    kept = json.loads((bench.directory / "engine-lists.json").read_text())
    result = bench.run()
    assert result.ending.reason == "stopped"
    assert levels(bench) == before
    for key, lists in json.loads((bench.directory / "engine-lists.json").read_text()).items():
        if key in kept:
            assert lists["levels"] == kept[key]["levels"]
            assert lists["drawn"][: len(kept[key]["drawn"])] == kept[key]["drawn"]
    rounds = [row.round for row in bench.rows("finished")]
    assert sorted(rounds) == list(range(1, len(rounds) + 1))
    (claim,) = study.state(bench.directory).stopping.claims  # pyright: ignore[reportOptionalMemberAccess]
    assert 100 <= claim.n[0] <= len(rounds), "those beyond were under way when the rule stopped"
    assert claim.controls in {"fluid", "links", "fluid,links"}


def levels(bench: Bench) -> list[object]:
    return json.loads(bench.compute("plan", bench.directory, "--json").stdout)["levels"]
