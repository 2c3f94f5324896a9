"""What is recorded of programs on workers that ssh reaches."""

from __future__ import annotations

from tests.system.conftest import Bench
from tests.system.test_instrumentation import CPU, NEEDS_COUNTERS, recorded, remarks
from tests.system.test_workers import configuration, lost, two, workers
from tests.system.worker_machines import Machines

from trialwise.experiment.instruments import INTERRUPTS, RESOURCES

__all__ = ["configuration", "two"]


@NEEDS_COUNTERS
def test_everything_is_recorded_there_as_here(bench: Bench, two: Machines):
    program = "python3 -c 'import os; sum(range(10**6)); print(min(os.sched_getaffinity(0)))'"
    settings = f'perf = ["task-clock", "rfffffffffff"]\ncpus = [{CPU}]\nresources = true\ninterrupts = true'
    metrics = "stdout = '([0-9]+)'\n[metrics.clock]\ninstrument = \"task-clock\""
    rest = f"[instrumentation]\n{settings}\n{workers(two)}"
    bench.write(program, metrics, rest=rest, rounds=3)
    assert bench.run(workers=[*two.names, "local"]).counts == {"finished": 9}
    found = {name.removeprefix("instrument:"): values for name, values in recorded(bench).items()}
    assert found.keys() >= {"task-clock", *RESOURCES, *INTERRUPTS}
    assert "rfffffffffff" not in found
    times = zip(found["task-clock"], found["user"], found["system"], strict=True)
    assert all(0.5 < clock / (user + system) < 2 for clock, user, system in times)
    texts = [text for text in remarks(bench) if "rfffffffffff is not counted" in text]
    assert sorted(text.partition(": ")[0] for text in texts)[1:] == two.names
    assert len(texts) == 3, "once for each worker"


def test_what_a_worker_does_not_have_stops_that_worker_before_anything_runs(bench: Bench, two: Machines):
    rest = '[instrumentation]\nperf = ["rfffffffffff"]\n' + workers(two)
    bench.write("true", 'instrument = "rfffffffffff"', rest=rest, rounds=1)
    text = lost(bench, two.names[:1])
    assert f"{two.names[0]}: metrics.m.instrument: rfffffffffff is not counted there: " in text
    assert bench.rows("finished", "failed") == []
    other = Bench(bench.folder / "other")
    other.folder.mkdir()
    other.write("true", rest="[instrumentation]\ncpus = [1023]\n" + workers(two), rounds=1)
    assert "CPU 1023 is not available there" in lost(other, two.names[:1])


def test_an_isolated_trial_sees_no_other_device(bench: Bench, two: Machines):
    counting = "grep -c : /proc/net/dev; true"
    (bench.folder / "program").write_text(counting)
    bench.write(
        "sh program", "stdout = '([0-9]+)'", trial='isolate = ["network", "ipc"]', rest=workers(two), rounds=1
    )
    assert bench.run(workers=two.names[:1]).counts == {"finished": 1}
    assert bench.values() == [1.0], "the loopback device alone; the machine itself has eth0 too"
