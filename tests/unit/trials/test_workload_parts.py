"""Background, incasts and permutations in one workload."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from trialwise.errors import PlanError
from trialwise.experiment.simulation import SimulationTrial, Workload
from trialwise.trials.drawn_flows import expected_flows, flow_list, offered_load
from trialwise.trials.fabrics import open_fabric
from trialwise.trials.simulating import simulate

TREE = "fat-tree:4,100Gbit/s,1us"
BACKGROUND = Workload(sizes="fixed:10kB", load="30%", duration="10ms")
MIXED = replace(BACKGROUND, beside="incast:8 fixed:500kB 2%; permutation fixed:1MB 10%")


def trial(workload: Workload, topology: str = TREE) -> SimulationTrial:
    return SimulationTrial(scheme="dctcp", topology=topology, workload=workload)


def flows_of(workload: Workload, seed: int = 1):
    return flow_list(workload, open_fabric(trial(workload), Path()), Path(), seed)


def test_parts_come_at_their_rates() -> None:
    """Of 16 hosts at 100 Gbit/s: 2 % are 0.02 · 16 · 1e11/(8 · 4e6) = 1000 incasts a second of eight flows of 500 kB."""
    lists = [flows_of(MIXED, seed) for seed in range(20)]
    sizes = np.concatenate([flows["size_bytes"] for flows in lists])
    seconds = 20 * 0.01
    for size, events, together in (
        (500_000, 1000 * seconds, 8),
        (1_000_000, 0.1 * 16 * 1e11 / 8e6 * seconds, 1),
    ):
        found = np.count_nonzero(sizes == size) / together
        assert abs(found - events) < 4 * events**0.5, size
    fabric = open_fabric(trial(MIXED), Path())
    assert expected_flows(MIXED, fabric, Path()) == pytest.approx(
        0.01 * (0.3 * 16 * 1e11 / 8e4 + 8 * 1000 + 0.1 * 16 * 1e11 / 8e6)
    )


def test_background_stays_what_it_is_alone() -> None:
    mixed, alone = flows_of(MIXED), flows_of(BACKGROUND)
    own = mixed["size_bytes"] == 10_000
    for name in ("src", "dst", "start_ps"):
        assert np.array_equal(mixed[name][own], alone[name])
    assert (np.diff(mixed["start_ps"]) >= 0).all()
    assert np.array_equal(mixed["flow_id"], np.arange(len(own)))


def test_loads_add_up() -> None:
    fabric = open_fabric(trial(MIXED), Path())
    offered = offered_load(trial(MIXED), fabric, Path(), [flows_of(MIXED)])
    assert offered is not None
    assert (offered.load, offered.fullest_load) == pytest.approx((0.42, 0.42))
    short = replace(MIXED, duration="200us")
    found = simulate(trial(short), Path(), flow_seed=1, seed=1)
    assert not np.isnan(found.fct).any()


@pytest.mark.parametrize(
    ("beside", "topology", "said"),
    [
        ("incast:8 fixed:500kB", TREE, "not a pattern, sizes and a load"),
        ("incast:8 fixed:500kB 2%;", TREE, "not a pattern, sizes and a load"),
        ("permutation fixed:1MB 71%", TREE, "all parts together ask 1.01"),
        ("incast:99 fixed:1MB 1%", TREE, "needs 100 hosts"),
        ("all-to-all fixed:1MB 1%", "dumbbell:4x4,100Gbit/s,1us", "loads of the hosts"),
    ],
)
def test_parts_that_cannot_be_are_refused(beside: str, topology: str, said: str) -> None:
    asked = trial(replace(BACKGROUND, beside=beside), topology)
    with pytest.raises(PlanError, match=said):
        simulate(asked, Path(), flow_seed=1, seed=1)
