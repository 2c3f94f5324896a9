"""Simulated trials: the same flows for all treatments of a round, classes, phases, and what cannot be simulated."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from trialwise import _core
from trialwise.errors import PlanError
from trialwise.experiment.model import Experiment
from trialwise.experiment.reading import parse_experiment
from trialwise.experiment.simulation import Workload
from trialwise.trials.base import TrialOutcome, TrialRequest
from trialwise.trials.drawn_flows import Flows, flow_list
from trialwise.trials.simulation import SimulationKind, flows_by_treatment, loads_by_treatment

FILE = """
[experiment]
name = "data-centre"
seed = 3
[factors]
scheme = ["dctcp", "hpcc"]
[trial]
kind = "simulation"
scheme = "{scheme}"
topology = "dumbbell:4x4,10Gbit/s,1us"
workload = { sizes = "fixed:20kB", load = "30%", duration = "1ms" }
[metrics.fct]
[metrics.all]
quantity = "flows"
phase = "all"
[metrics.queue]
[metrics.peak_queue]
[metrics.drops]
"""


@pytest.fixture
def never() -> Iterator[int]:
    """A descriptor that does not become readable."""
    reading, writing = os.pipe()
    yield reading
    os.close(reading)
    os.close(writing)


def experiment(folder: Path, text: str = FILE) -> Experiment:
    return parse_experiment(text, folder / "experiment.toml")


def execute(
    found: Experiment, scratch: Path, cancel: int, scheme: str = "dctcp", **place: int
) -> TrialOutcome:
    numbers = {"number": 1, "attempt": 1, "series": 1, "round": 1, "position": 1, "seed": 5} | place
    request = TrialRequest(
        experiment=found,
        factors={"scheme": scheme},
        scratch=scratch,
        marker="",
        cancel=cancel,
        **numbers,  # pyright: ignore[reportArgumentType]
    )
    return SimulationKind().execute(request)


def flows_of(outcome: TrialOutcome) -> pl.DataFrame:
    assert outcome.record is not None, outcome.reason
    return pl.read_parquet(outcome.record[1])


def check(folder: Path, text: str, **factors: str) -> None:
    SimulationKind().check(experiment(folder, text), [{"scheme": "dctcp"} | factors])


def test_all_treatments_of_a_round_meet_the_same_flows(tmp_path: Path, never: int) -> None:
    found = experiment(tmp_path)
    asked = ["flow_id", "src", "dst", "size_bytes", "start_ps"]
    first = flows_of(execute(found, tmp_path, never, seed=1, number=1))
    second = flows_of(execute(found, tmp_path, never, "hpcc", seed=2, number=2))
    later = flows_of(execute(found, tmp_path, never, round=2, number=3))
    assert first[asked].equals(second[asked])
    assert not first["fct_ps"].equals(second["fct_ps"])
    assert not first[asked].equals(later[asked])


def test_samples_are_what_the_metrics_ask_for(tmp_path: Path, never: int) -> None:
    outcome = execute(experiment(tmp_path), tmp_path, never)
    flows = flows_of(outcome)
    assert outcome.status == "finished"
    assert np.array_equal(outcome.samples["simulation:fct"].values, flows["fct_ps"].to_numpy() / 1e12)
    assert outcome.samples["simulation:flows|phase:all"].values.tolist() == [flows.height]
    queue, looks = outcome.samples["simulation:queue"].values, outcome.samples["simulation:queue"].times
    assert len(queue) > 50
    assert looks is not None
    assert np.allclose(np.diff(looks), looks[1] - looks[0])
    ends = (flows["start_ps"] + flows["fct_ps"]).to_numpy() / 1e12
    assert 0.9 * ends.max() < looks[-1] <= ends.max()
    assert queue.max() <= outcome.samples["simulation:peak_queue"].values[0]
    assert outcome.samples["simulator:data_sent"].values[0] == 20 * flows.height


def test_warm_up_and_cool_down_are_set_apart(tmp_path: Path, never: int) -> None:
    text = FILE.replace("[metrics.fct]", 'warmup = "200us"\ncooldown = "300us"\n[metrics.fct]')
    outcome = execute(experiment(tmp_path, text), tmp_path, never)
    stable = flows_of(outcome).filter(pl.col("start_ps").is_between(200e6, 700e6, closed="left"))
    assert 0 < stable.height < flows_of(outcome).height
    assert np.array_equal(outcome.samples["simulation:fct"].values, stable["fct_ps"].to_numpy() / 1e12)


def test_a_trial_without_a_flow_of_the_class_has_no_sample_of_it(tmp_path: Path, never: int) -> None:
    text = FILE.replace("[metrics.fct]", '[metrics.fct]\nsizes = "1MB.."')
    outcome = execute(experiment(tmp_path, text), tmp_path, never)
    assert outcome.status == "finished"
    assert len(outcome.samples["simulation:fct|sizes:1MB.."]) == 0
    assert outcome.samples["simulation:flows|phase:all"].values[0] > 0


def test_a_metric_of_flows_that_do_not_finish_leaves_the_others(tmp_path: Path, never: int) -> None:
    text = FILE.replace("[metrics.fct]", 'network = { stop = "500us" }\n[metrics.fct]')
    outcome = execute(experiment(tmp_path, text), tmp_path, never)
    assert outcome.status == "finished"
    assert len(outcome.samples["simulation:fct"]) == 0
    assert len(outcome.samples["simulation:queue"]) > 0
    assert any("metric fct" in remark and "did not finish" in remark for remark in outcome.remarks)
    assert flows_of(outcome)["fct_ps"].null_count() > 0


def test_a_trial_without_any_metric_is_invalid(tmp_path: Path, never: int) -> None:
    text = FILE[: FILE.index("[metrics.all]")].replace(
        "[metrics.fct]", 'network = { stop = "500us" }\n[metrics.fct]'
    )
    outcome = execute(experiment(tmp_path, text), tmp_path, never)
    assert outcome.status == "invalid"
    assert "did not finish" in (outcome.reason or "")


def test_a_long_lived_flow_has_the_throughput_until_the_stop(tmp_path: Path, never: int) -> None:
    """Four flows share 100 Gbit/s, of which packets of 1000 bytes with 48 of headers carry 95.42 as payload."""
    lines = [f"{sender},{sender},4,1000000000,0" for sender in range(4)]
    (tmp_path / "long.csv").write_text("\n".join(["flow_id,src,dst,size_bytes,start_ns", *lines]))
    text = (
        FILE.replace("dumbbell:4x4,10Gbit/s,1us", "dumbbell:4x1,100Gbit/s,1us")
        .replace('{ sizes = "fixed:20kB", load = "30%", duration = "1ms" }', '{ flows = "long.csv" }')
        .replace("[metrics.fct]", 'network = { stop = "2ms" }\n[metrics.throughput]\n[metrics.fct]')
    )
    outcome = execute(experiment(tmp_path, text), tmp_path, never)
    assert outcome.status == "finished"
    assert outcome.samples["simulation:throughput"].values == pytest.approx([23.855e9] * 4, rel=0.01)
    assert len(outcome.samples["simulation:fct"]) == 0


def test_a_trial_ends_when_it_is_asked_to(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.write(writing, b"x")
    text = FILE.replace("1ms", "10s")
    try:
        outcome = execute(experiment(tmp_path, text), tmp_path, reading)
    finally:
        os.close(reading)
        os.close(writing)
    assert outcome.status == "abandoned"


def test_a_trial_that_takes_longer_than_its_timeout_has_failed(tmp_path: Path, never: int) -> None:
    """Twenty million packet-hops are more than any machine has done after 10 ms."""
    text = FILE.replace("1ms", "10s").replace("[metrics.fct]", 'timeout = "10ms"\n[metrics.fct]')
    outcome = execute(experiment(tmp_path, text), tmp_path, never)
    assert (outcome.status, outcome.cause) == ("failed", "timeout")
    assert outcome.reason == "took longer than the timeout of 0.01 s and was ended"


WRONG: Mapping[str, tuple[str, str, str]] = {
    "load over capacity": ('load = "30%"', 'load = "130%"', "at most 1"),
    "load of hosts": ('load = "30%"', 'load = "30%", load_of = "host"', "at most 0.250"),
    "of nothing": ('load = "30%"', 'load = "30%", load_of = "core"', "host or bottleneck"),
    "no controller": ('"{scheme}"', '"vegas-{scheme}"', "timely_patched"),
    "no parameter": ("[metrics.fct]", "controller = { gian = 0.1 }\n[metrics.fct]", "gain, increase"),
    "no network": ("[metrics.fct]", 'network = { kmn = "1kB" }\n[metrics.fct]', "kmin"),
    "mode": ("[metrics.fct]", 'mode = "dirty"\n[metrics.fct]', "clean or compatible"),
    "shape": ("dumbbell:4x4,", "dumbbell:4,", "dumbbell:10x10"),
    "no file": ("dumbbell:4x4,10Gbit/s,1us", "nowhere.txt", "nowhere.txt"),
    "sizes of 0": ("fixed:20kB", "fixed:0B", "above zero"),
    "metric that no flow has": ("[metrics.fct]", '[metrics.fct]\nsizes = "1MB.."', "no flow of 1MB.."),
    "only warm-up": ("[metrics.fct]", 'warmup = "2ms"\n[metrics.fct]', "stable phase"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_cannot_be_simulated_is_said_before_anything_runs(tmp_path: Path, name: str) -> None:
    old, new, said = WRONG[name]
    assert old in FILE
    with pytest.raises(PlanError) as raised:
        check(tmp_path, FILE.replace(old, new, 1))
    assert said in str(raised.value)


@pytest.mark.parametrize("engine", ["trialwise", "ns3"])
@pytest.mark.parametrize(
    ("line", "said"),
    [("1,0,4,0,20", "size 0"), ("1,0,4,100,5", "sort the list"), ("1,0,9,100,20", "must be hosts")],
)
def test_wrong_flow_lists_are_refused(tmp_path: Path, line: str, said: str, engine: str) -> None:
    (tmp_path / "flows.csv").write_text(f"flow_id,src,dst,size_bytes,start_ns\n0,0,4,100,10\n{line}\n")
    text = FILE.replace(
        '{ sizes = "fixed:20kB", load = "30%", duration = "1ms" }',
        f'{{ flows = "flows.csv" }}\nengine = "{engine}"',
    )
    with pytest.raises(PlanError) as raised:
        check(tmp_path, text)
    assert said in str(raised.value)


def test_a_line_of_a_flow_list_that_is_wrong_is_named_with_its_file(tmp_path: Path) -> None:
    (tmp_path / "flows.csv").write_text("flow_id,src,dst,size_bytes,start_ns\n0,0,4,1MB,10\n")
    text = FILE.replace('sizes = "fixed:20kB", load = "30%", duration = "1ms"', 'flows = "flows.csv"')
    with pytest.raises(PlanError) as raised:
        check(tmp_path, text)
    assert str(raised.value).endswith('flows.csv: line 2: size_bytes is "1MB": write a whole number')


def test_a_flow_list_of_a_spreadsheet_is_read(tmp_path: Path) -> None:
    header = "flow_id,src,dst,size_bytes,start_ns\r\n"
    (tmp_path / "flows.csv").write_text(header + "0,0,4,100,10\r\n", encoding="utf-8-sig", newline="")
    text = FILE.replace('sizes = "fixed:20kB", load = "30%", duration = "1ms"', 'flows = "flows.csv"')
    check(tmp_path, text)


def test_a_topology_that_is_not_connected_is_refused(tmp_path: Path) -> None:
    lines = ["6 2 4", "4 5", "0 4 10Gbps 1us 0", "1 4 10Gbps 1us 0", "2 5 10Gbps 1us 0", "3 5 10Gbps 1us 0"]
    (tmp_path / "apart.txt").write_text("\n".join(lines) + "\n")
    with pytest.raises(PlanError) as raised:
        check(tmp_path, FILE.replace("dumbbell:4x4,10Gbit/s,1us", "apart.txt"))
    assert "not connected" in str(raised.value)


def test_files_are_attached_and_expected_flows_are_told(tmp_path: Path) -> None:
    fabric = _core.Fabric("dumbbell:4x4,10Gbit/s,1us")
    (tmp_path / "topology.txt").write_text(fabric.to_hpcc())
    (tmp_path / "sizes.txt").write_text("0 0\n20000 50\n40000 100\n")
    text = FILE.replace("dumbbell:4x4,10Gbit/s,1us", "topology.txt").replace("fixed:20kB", "sizes.txt")
    found = experiment(tmp_path, text)
    factors = [{"scheme": "dctcp"}, {"scheme": "hpcc"}]
    assert dict(SimulationKind().attachments(found, factors)) == {
        "topology.txt": tmp_path / "topology.txt",
        "sizes.txt": tmp_path / "sizes.txt",
    }
    assert [str(load and load.load_of) for load in loads_by_treatment(found, factors)] == ["host", "host"]
    # A file has no bottleneck: 30 % of eight hosts of 10 Gbit/s for 1 ms, in flows of 20 kB in the mean.
    expected = pytest.approx(0.3 * 8 * 10e9 * 1e-3 / (8 * 20_000))
    assert flows_by_treatment(found, factors) == [expected, expected]


def test_treatments_with_the_same_flows_are_looked_at_with_the_same_lists(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = list[str]()

    def counted(workload: Workload, *rest: Any) -> Flows:
        drawn.append(workload.load)
        return flow_list(workload, *rest)

    monkeypatch.setattr("trialwise.trials.simulation.flow_list", counted)
    # Some 2000 and 4000 flows: one list of each is enough.
    text = (
        FILE.replace("30%", "{load}")
        .replace('"1ms"', '"100ms"')
        .replace("[trial]", "load = [0.3, 0.6]\n[trial]")
    )
    factors = [{"scheme": scheme, "load": load} for scheme in ("dctcp", "hpcc") for load in (0.3, 0.6)]
    SimulationKind().check(experiment(tmp_path, text), factors)
    assert drawn == ["0.3", "0.6"]


def test_a_round_in_which_no_flow_comes_is_a_trial_without_flows(tmp_path: Path, never: int) -> None:
    text = FILE.replace('duration = "1ms"', 'duration = "1ns"') + "[metrics.bytes]\n[metrics.largest_flow]\n"
    outcome = execute(experiment(tmp_path, text), tmp_path, never)
    assert (outcome.status, outcome.reason) == ("finished", None)
    values = {
        key: found.values.tolist() for key, found in outcome.samples.items() if key.startswith("simulation:")
    }
    assert values == {
        "simulation:fct": [],
        "simulation:flows|phase:all": [0],
        "simulation:queue": [],
        "simulation:peak_queue": [0],
        "simulation:drops": [0],
        "simulation:bytes": [0],
        "simulation:largest_flow": [],
    }
    assert outcome.record is not None


def test_a_file_without_flows_is_named(tmp_path: Path) -> None:
    (tmp_path / "none.csv").write_text("flow_id,src,dst,size_bytes,start_ns\n")
    text = FILE.replace('sizes = "fixed:20kB", load = "30%", duration = "1ms"', 'flows = "none.csv"')
    with pytest.raises(PlanError, match=r"none\.csv: it has no flows"):
        SimulationKind().check(experiment(tmp_path, text), [{"scheme": "dctcp"}])


def test_a_wrong_table_of_sizes_is_named(tmp_path: Path) -> None:
    text = FILE.replace("fixed:20kB", "sizes.txt")
    for table, said in (
        ("0 0\n10 50\n5 100\n", "sizes.txt: line 3: sizes and"),
        ("0 0\n10 50\n", "sizes.txt: a table"),
    ):
        (tmp_path / "sizes.txt").write_text(table)
        with pytest.raises(PlanError) as raised:
            check(tmp_path, text)
        assert said in str(raised.value)


def test_a_topology_that_ends_too_early_is_refused(tmp_path: Path) -> None:
    (tmp_path / "short.txt").write_text("3 1 2\n2\n0 2 10Gbps 1us 0\n")
    with pytest.raises(PlanError) as raised:
        check(tmp_path, FILE.replace("dumbbell:4x4,10Gbit/s,1us", "short.txt"))
    assert "short.txt: the file ends before all links are there" in str(raised.value)


def test_uplinks_that_are_asked_for_more_than_they_carry_are_named(tmp_path: Path) -> None:
    text = FILE.replace("dumbbell:4x4,10Gbit/s,1us", "leaf-spine:4x2x8,100Gbit/s,1us").replace(
        '"30%"', '"60%"'
    )
    with pytest.raises(PlanError) as raised:
        check(tmp_path, text)
    assert "1.86 of the capacity of the link from node 32 to node 36" in str(raised.value)
    assert "at most 0.3229" in str(raised.value)


def test_flows_that_are_cut_off_for_good_have_no_metric(tmp_path: Path, never: int) -> None:
    text = FILE.replace("[metrics.fct]", 'network = { faults = "8-9 down 500us" }\n[metrics.fct]')
    outcome = execute(experiment(tmp_path, text), tmp_path, never)
    assert len(outcome.samples["simulation:fct"]) == 0
    assert any("did not finish" in remark for remark in outcome.remarks)
