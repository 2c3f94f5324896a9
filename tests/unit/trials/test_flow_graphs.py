"""Flows that wait for others: jobs and lists, from the workload to the metric."""

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from trialwise.errors import PlanError
from trialwise.experiment.model import Experiment
from trialwise.experiment.reading import parse_experiment
from trialwise.experiment.simulation import SimulationTrial, Workload
from trialwise.trials.base import TrialOutcome, TrialRequest
from trialwise.trials.drawn_flows import expected_flows, of_jobs
from trialwise.trials.fabrics import open_fabric
from trialwise.trials.simulating import simulate
from trialwise.trials.simulation import SimulationKind

STAR = "leaf-spine:1x1x8,100Gbit/s,1us"
WAY = 83.84e-9 + 2e-6
"""From the begin of a packet of 1000 bytes with its headers on the first link to its arrival behind a switch, in seconds."""


def trial(workload: Workload) -> SimulationTrial:
    return SimulationTrial(scheme="dctcp", topology=STAR, workload=workload)


def experiment(folder: Path, workload: str, rest: str = "[metrics.jct]", more: str = "") -> Experiment:
    text = f"""
    [experiment]
    name = "training"
    [trial]
    kind = "simulation"
    scheme = "dctcp"
    topology = "{STAR}"
    workload = {workload}
    {more}
    {rest}
    """
    return parse_experiment(text, folder / "experiment.toml")


def refusal(folder: Path, workload: str, rest: str = "[metrics.jct]", more: str = "") -> str:
    with pytest.raises(PlanError) as caught:
        SimulationKind().check(experiment(folder, workload, rest, more), [{}])
    return str(caught.value)


@pytest.fixture
def never() -> Iterator[int]:
    """A descriptor that does not become readable."""
    reading, writing = os.pipe()
    yield reading
    os.close(reading)
    os.close(writing)


def execute(found: Experiment, scratch: Path, cancel: int, **place: int) -> TrialOutcome:
    numbers = {"number": 1, "attempt": 1, "series": 1, "round": 1, "position": 1, "seed": 5} | place
    return SimulationKind().execute(
        TrialRequest(experiment=found, factors={}, scratch=scratch, marker="", cancel=cancel, **numbers)  # pyright: ignore[reportArgumentType]
    )


def test_a_job_takes_what_its_closed_form_says() -> None:
    """Every link carries data one way and acknowledgements of as much data the other."""
    found = simulate(trial(Workload(job="ring-all-reduce:8MB")), Path(), flow_seed=1, seed=1)
    assert found.jct.tolist() == pytest.approx([14 * (1000 * (83.84e-9 + 4.8e-9) + WAY)], rel=2e-3)
    assert np.array_equal(np.bincount(found.flows["job"]), [8 * 14])
    assert (np.diff(found.flows["start_ps"]) >= 0).all()


def test_drawn_flows_beside_a_job_are_of_no_job() -> None:
    drawn = Workload(sizes="fixed:10kB", load="5%", duration="2ms", job="ring-all-reduce:8MB")
    found = simulate(trial(drawn), Path(), flow_seed=1, seed=1)
    alone = simulate(trial(Workload(job="ring-all-reduce:8MB")), Path(), flow_seed=1, seed=1)
    others = of_jobs(found.flows) < 0
    expected = expected_flows(drawn, open_fabric(trial(drawn), Path()), Path()) - 112
    assert abs(others.sum() - expected) < 5 * expected**0.5
    assert found.jct[0] > alone.jct[0]
    assert len(set(found.flows["flow_id"].tolist())) == len(found.flows["flow_id"])


def test_flows_of_a_list_start_when_those_before_are_over(tmp_path: Path) -> None:
    (tmp_path / "flows.csv").write_text(
        "flow_id,src,dst,size_bytes,start_ns,after,on,delay_ns,job\n"
        "5,0,1,1000,700,,,,9\n"
        "6,1,2,1000,,5,,1000,9\n"
        "7,3,4,1000,0,,,,\n"
    )
    found = simulate(trial(Workload(flows="flows.csv")), tmp_path, flow_seed=1, seed=1)
    starts = dict(zip(found.flows["flow_id"].tolist(), found.start.tolist(), strict=True))
    received = 2 * 83.84e-9 + 2e-6
    assert starts == pytest.approx({7: 0.0, 5: 700e-9, 6: 700e-9 + received + 1e-6}, abs=1e-11)
    assert found.jct.tolist() == pytest.approx([1e-6 + 2 * received], abs=1e-11)
    assert found.flows["job"].tolist() == [-1, 0, 0]


def test_a_connection_matrix_with_triggers_runs(tmp_path: Path) -> None:
    (tmp_path / "flows.cm").write_text(
        "Nodes 8\nConnections 3\nTriggers 1\n0->7 id 1 start 0 size 1000000 send_done_trigger 1\n"
        "1->6 id 2 start 0 size 2000000 recv_done_trigger 1\n7->0 id 3 trigger 1 size 1000\n"
        "trigger id 1 barrier count 2\n"
    )
    found = simulate(trial(Workload(flows="flows.cm")), tmp_path, flow_seed=1, seed=1)
    start = found.start[found.flows["flow_id"] == 3]
    assert start.tolist() == pytest.approx([2000 * 83.84e-9 + WAY], rel=1e-6)


def test_a_trial_has_a_value_for_each_job_and_keeps_the_jobs_of_flows(tmp_path: Path, never: int) -> None:
    found = experiment(tmp_path, '{ job = "all-to-all:1MB,hosts=4,placement=random" }')
    outcomes = [execute(found, tmp_path, never, round=number) for number in (1, 2)]
    assert [outcome.status for outcome in outcomes] == ["finished"] * 2
    key = found.metrics[0].source.key
    assert outcomes[0].samples is not None
    assert len(outcomes[0].samples[key].values) == 1
    records = [pl.read_parquet(outcome.record[1]) for outcome in outcomes if outcome.record]
    assert records[0]["job"].to_list() == [0] * 12
    assert records[0]["src"].to_list() != records[1]["src"].to_list()


def test_a_job_that_does_not_end_has_no_value(tmp_path: Path, never: int) -> None:
    rest = "network = { stop = '100us' }\n[metrics.jct]\n[metrics.flows]\nphase = 'all'"
    outcome = execute(experiment(tmp_path, '{ job = "ring-all-reduce:8MB" }', rest), tmp_path, never)
    assert outcome.status == "finished"
    assert outcome.remarks == ("metric jct: 1 of 1 jobs did not end",)


def test_what_cannot_be_is_refused(tmp_path: Path) -> None:
    job = '{ job = "ring-all-reduce:8MB" }'
    drawn = '{ sizes = "fixed:1kB", load = "5%", duration = "1ms" }'
    assert "the workload has no jobs" in refusal(tmp_path, drawn)
    assert "waits for others" not in refusal(tmp_path, drawn)
    assert "the job needs 9 hosts" in refusal(tmp_path, '{ job = "ring-all-reduce:8MB,hosts=9" }')
    assert "unknown job `star`" in refusal(tmp_path, '{ job = "star:8MB" }')
    assert "does not go with a job" in refusal(tmp_path, job, more='warmup = "1ms"')
    assert 'engine = "ns3" is given the starts' in refusal(tmp_path, job, "[metrics.fct]", 'engine = "ns3"')
    assert "does not go with flows" in refusal(tmp_path, '{ job = "ring-all-reduce:8MB", flows = "x" }')
    assert "sobol" in refusal(tmp_path, '{ job = "ring-all-reduce:8MB", sampling = "sobol" }')
    (tmp_path / "round.csv").write_text(
        "flow_id,src,dst,size_bytes,start_ns,after\n4,0,1,1000,,5\n5,1,0,1000,,4\n"
    )
    assert "4, then 5, then 4" in refusal(tmp_path, '{ flows = "round.csv" }')
    (tmp_path / "late.csv").write_text(
        "flow_id,src,dst,size_bytes,start_ns,after\n4,0,1,1000,0,\n5,1,0,1000,,4\n"
    )
    assert "warmup and cooldown" in refusal(tmp_path, '{ flows = "late.csv" }', more='warmup = "1us"')
