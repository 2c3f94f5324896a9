"""What is recorded of real programs beside their metrics."""

from __future__ import annotations

import os
import socket
import subprocess
import sys

import pytest
from tests.system.conftest import Bench

from trialwise import study
from trialwise._linux import run_command
from trialwise.errors import PlanError
from trialwise.experiment.instruments import INTERRUPTS, RESOURCES
from trialwise.store.ledger import Ledger

CPU = min(os.sched_getaffinity(0))


def is_counted(name: str) -> bool:
    run = run_command(["true"], environment=os.environ, working_directory="/", counters=[name])
    return run.counted[0][1] is not None


NEEDS_COUNTERS = pytest.mark.skipif(not is_counted("task-clock"), reason="this kernel lets nobody count")


def recorded(bench: Bench) -> dict[str, list[float]]:
    ledger = Ledger.open(bench.directory / "ledger.sqlite", read_only=True)
    try:
        found: dict[str, list[float]] = {}
        for _, _, source, value, _, _ in ledger.values():
            found.setdefault(source, []).append(value)
        return found
    finally:
        ledger.close()


def remarks(bench: Bench) -> list[str]:
    ledger = Ledger.open(bench.directory / "ledger.sqlite", read_only=True)
    try:
        return [event.text for event in ledger.events() if event.kind == "remark"]
    finally:
        ledger.close()


@NEEDS_COUNTERS
@pytest.mark.parametrize("kind", ["command", "python"])
def test_everything_is_recorded_and_can_be_a_metric(bench: Bench, kind: str):
    (bench.folder / "work.py").write_text(
        "import os\ndef run():\n    sum(range(10**6))\n    return min(os.sched_getaffinity(0))\n"
    )
    program = f"{sys.executable} -c 'import work; print(work.run())'"
    bench.write(
        program if kind == "command" else "",
        'instrument = "task-clock"' + ("\n[metrics.cpu]\nstdout = '([0-9]+)'" if kind == "command" else "\n[metrics.cpu]"),
        trial='kind = "python"\ncall = "work:run"' if kind == "python" else "",
        rest=f'[instrumentation]\nperf = ["task-clock", "page-faults"]\ncpus = [{CPU}]\nresources = true\ninterrupts = true',
    )  # fmt: skip
    assert bench.run().counts == {"finished": 2}
    found = recorded(bench)
    expected = {"task-clock", "page-faults", *RESOURCES, *INTERRUPTS}
    assert {key.removeprefix("instrument:") for key in found if key.startswith("instrument:")} == expected
    times = zip(
        found["instrument:task-clock"], found["instrument:user"], found["instrument:system"], strict=True
    )
    assert all(0.5 < clock / (user + system) < 2 for clock, user, system in times)
    assert min(found["instrument:max_rss"]) > 1e6
    assert remarks(bench) == []
    assert study.analyse(bench.directory)


def test_a_counter_that_is_not_there_is_named_once_and_left_out(bench: Bench):
    bench.write("true", rest='[instrumentation]\nperf = ["rfffffffffff", "task-clock"]', rounds=3)
    done = bench.command_line("run", bench.file, "--directory", bench.directory)
    assert done.returncode == 0
    assert bench.run().counts == {"finished": 3}
    told = remarks(bench)
    assert told[0].startswith("rfffffffffff is not counted and left out: ")
    assert len(told) == (1 if is_counted("task-clock") else 2)
    assert (done.stdout + done.stderr).count("rfffffffffff is not counted") == 1
    assert "instrument:rfffffffffff" not in recorded(bench)


@pytest.mark.skipif(is_counted("instructions"), reason="untested: this processor has its counters")
@NEEDS_COUNTERS
def test_counters_of_a_processor_that_shows_none_are_named_once_beside_those_of_the_kernel(bench: Bench):
    bench.write(
        "sh -c 'i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done'", rounds=3,
        rest='[instrumentation]\nperf = ["instructions", "cycles", "task-clock", "page-faults", "context-switches"]',
    )  # fmt: skip
    assert bench.run().counts == {"finished": 3}
    told = remarks(bench)
    assert [text.partition(" is not counted and left out: ")[0] for text in told] == [
        "instructions",
        "cycles",
    ]
    found = recorded(bench)
    assert not {"instrument:instructions", "instrument:cycles"} & set(found)
    assert min(found["instrument:task-clock"]) > 1e-3
    assert min(found["instrument:page-faults"]) > 10
    assert len(found["instrument:context-switches"]) == 3


def test_a_metric_of_a_counter_that_is_not_there_is_refused_before_anything_runs(bench: Bench):
    bench.write("true", 'instrument = "rfffffffffff"', rest='[instrumentation]\nperf = ["rfffffffffff"]')
    with pytest.raises(PlanError, match=r"metrics\.m\.instrument: rfffffffffff is not counted: "):
        bench.run()
    bench.write("true", rest="[instrumentation]\ncpus = [1023]")
    with pytest.raises(PlanError, match="CPU 1023 is not available"):
        bench.run()
    assert not bench.directory.exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to become somebody else")
def test_what_an_ordinary_user_may_not_count_is_said_so():
    """The kernel of this machine may be closed (paranoid 2 or more) or open; either way nothing breaks."""
    probe = """
import os
from trialwise._linux import run_command
print(run_command(["true"], environment=os.environ, working_directory="/", counters=["task-clock:u"], isolate=["ipc"]).counted)
"""
    done = subprocess.run(
        ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", sys.executable, "-c", probe],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if "Permission denied" in done.stderr and "python" in done.stderr:
        pytest.skip("nobody may not read this Python")
    assert "'task-clock:u'" in done.stdout or "cannot make namespaces" in done.stderr, done.stderr


def test_an_isolated_trial_cannot_see_a_server_of_another(bench: Bench):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        script = f"import socket; socket.create_server(('127.0.0.1', {port})); print('port', {port})"
        bench.write(
            f'{sys.executable} -c "{script}"',
            "stdout = 'port ([0-9]+)'",
            trial='isolate = ["network", "ipc"]',
        )
        result = bench.run()
    if "cannot make namespaces" in str(bench.rows()[0].reason):
        pytest.skip("this machine lets nobody have a namespace")
    assert result.counts == {"finished": 2}
