"""What a simulated trial is said to take before it starts."""

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from trialwise import _core
from trialwise.experiment.simulation import SimulationTrial, Workload
from trialwise.trials.simulating import simulate
from trialwise.trials.simulation_cost import _paths_over_packets, cost_caution, paths_caution

TREE = "fat-tree:4,100Gbit/s,1us"


def flows_of(count: int, size: int) -> dict[str, np.ndarray]:
    """Return flows between pods: six links each way."""
    columns = {"src": 0, "dst": 15, "size_bytes": size, "start_ps": 0}
    return {"flow_id": np.arange(count)} | {name: np.full(count, value) for name, value in columns.items()}


def caution(count: int, size: int, expected: float, **network: str) -> str | None:
    trial = SimulationTrial(
        scheme="dctcp", topology=TREE, workload=Workload(), network=tuple(network.items())
    )
    return cost_caution(trial, _core.Fabric(TREE), [flows_of(count, size)], expected)


def test_hops_are_those_that_the_simulator_counts() -> None:
    """A million flows of 10 kB: ten packets over six links there and back, at 60 ns each."""
    text = caution(3, 10_000, 1e9)
    assert text is not None
    assert (
        "about 1,000,000,000 flows and 120,000,000,000 packet-hops: some 2h of one processor and 4e+02 GB"
        in text
    )
    counted = _core.simulate(_core.Fabric(TREE), flows_of(3, 10_000), controller="dctcp").totals["hops"]
    assert counted == 3 * 10 * 12
    assert caution(3, 10_000, 1000.0) is None


def test_larger_segments_take_less() -> None:
    assert "18,000,000,000 packet-hops" in str(caution(3, 10_000, 1.5e8))
    assert "1,800,000,000 packet-hops" in str(caution(3, 10_000, 1.5e8, segment="10kB"))


@pytest.mark.parametrize(
    ("topology", "dearer"),
    [("leaf-spine:3x4x4,100Gbit/s,1us", True), ("leaf-spine:8x16x64,100Gbit/s,1us", False)],
)
def test_sampled_paths_that_are_dearer_than_packets_are_told(topology: str, *, dearer: bool) -> None:
    """Against the packet-hops that both count."""
    fabric = _core.Fabric(topology)
    trial = SimulationTrial(
        scheme="dcqcn", topology=topology, workload=Workload(), engine="paths", sampled_paths=40
    )
    workload: dict[str, Any] = {
        "sizes": "fixed:20kB",
        "arrivals": "poisson",
        "pattern": "all-to-all",
        "load": 0.25,
        "load_of": "host",
        "duration_ps": 4 * 10**7,
    }
    flows = _core.generate_flows(fabric, seed=1, **workload)
    expected = _core.expected_flows(fabric, **workload)
    whole = _core.simulate(fabric, flows, controller="dcqcn", seed=1).totals["hops"]
    _, _, (_, _, parts) = _core.estimate(
        "paths", fabric, flows, controller="dcqcn", seed=1, paths=40, expected=expected
    )
    said = paths_caution(trial, fabric, [flows], expected)
    assert (parts > whole) is dearer
    assert _paths_over_packets(fabric, flows, min(40, expected)) == pytest.approx(parts / whole, rel=0.4)
    assert (said is not None) is dearer
    if said:
        assert "times the packet-hops of the whole network here: 40 paths" in said
        assert "among 12 hosts" in said
    assert paths_caution(dataclasses.replace(trial, engine="links"), fabric, [flows], expected) is None
    assert paths_caution(trial, fabric, [], expected) is None


def test_what_the_trial_refuses_is_left_to_it() -> None:
    """Flows from a host to itself, and segments of no size."""
    trial = SimulationTrial(scheme="dctcp", topology=TREE, workload=Workload())
    to_itself = flows_of(3, 10_000) | {"dst": np.zeros(3, dtype=np.int64)}
    assert cost_caution(trial, _core.Fabric(TREE), [to_itself], 1e9) is None
    assert caution(3, 10_000, 1e9, segment="x") is None
    assert caution(3, 10_000, 1e9, segment="0B") is not None


def test_a_list_without_a_flow_says_nothing_of_routes() -> None:
    """Where a list has a flow or two, the first one may have none."""
    trial = SimulationTrial(scheme="dctcp", topology=TREE, workload=Workload())
    lists = [flows_of(0, 10_000), flows_of(3, 10_000)]
    assert cost_caution(trial, _core.Fabric(TREE), lists, 1e9) == caution(3, 10_000, 1e9)
    assert cost_caution(trial, _core.Fabric(TREE), lists[:1], 1e9) is None


def test_a_trial_says_so_before_it_starts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trialwise.trials.simulation_cost._LONG", 1e-9)
    said: list[str] = []
    trial = SimulationTrial(
        scheme="dctcp", topology=TREE, workload=Workload(sizes="fixed:10kB", load="5%", duration="1ms")
    )
    simulate(trial, tmp_path, flow_seed=1, seed=1, announce=said.append)
    assert [("packet-hops" in each) for each in said] == [True]
