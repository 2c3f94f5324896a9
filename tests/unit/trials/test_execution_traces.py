"""Chakra execution traces. Those in `chakra/` were written by Google's protobuf from mlcommons/chakra's et_def.proto."""

import contextlib
from pathlib import Path

import pytest

from trialwise.errors import PlanError
from trialwise.experiment.simulation import SimulationTrial, Workload
from trialwise.trials.execution_traces import trace_graph
from trialwise.trials.simulating import simulate

FOLDER = Path(__file__).parent / "chakra"
RANKS = [(FOLDER / f"training.{rank}.et").read_bytes() for rank in range(3)]
HOSTS = range(8)


def simulated(flows: str, folder: Path, topology: str = "leaf-spine:1x1x8,100Gbit/s,1us"):
    trial = SimulationTrial(scheme="dctcp", topology=topology, workload=Workload(flows=flows))
    return simulate(trial, folder, flow_seed=1, seed=1)


def test_a_trace_takes_its_computations_and_its_flows() -> None:
    """40 us, an all-reduce of 3 MB over three ranks, 1 MB from rank 0 to 1, and 50 us.

    A round of the ring is 1000 packets both ways, a packet's time and two links' delays.
    """
    found = simulated("training.*.et", FOLDER)
    last = 83.84e-9 + 2e-6
    ring = 4 * (1000 * (83.84e-9 + 4.8e-9) + last)
    assert found.jct.tolist() == pytest.approx([40e-6 + ring + 1000 * 83.84e-9 + last + 50e-6], rel=2e-3)
    assert sorted(found.flows["size_bytes"].tolist()) == [1_000_000] * (3 * 4 + 1)


def varint(number: int) -> bytes:
    return bytes([number]) if number < 128 else bytes([number & 127 | 128]) + varint(number >> 7)


def text(key: int, value: bytes) -> bytes:
    return varint(key << 3 | 2) + varint(len(value)) + value


def number(key: int, value: int) -> bytes:
    return varint(key << 3) + varint(value)


def node(kind: int, *after: int, at: int = 1, **numbers: int) -> bytes:
    attributes = (text(10, text(1, name.encode()) + number(9, value)) for name, value in numbers.items())
    dependencies = (number(4, each) for each in after)
    message = number(1, at) + text(2, b"n\x1b[2J") + number(3, kind) + b"".join((*dependencies, *attributes))
    return text(0, message)[1:]


def refusal(*ranks: bytes) -> str:
    with pytest.raises(ValueError, match=r".") as caught:
        trace_graph([b"\x00" + rank for rank in ranks], HOSTS).flows()
    return str(caught.value)


def test_what_is_no_trace_is_refused() -> None:
    assert "it ends early" in refusal(RANKS[0][:-1])
    assert "does not end" in refusal(b"\xff" * 20)
    assert "it ends early" in refusal(varint(2**62))


def test_a_damaged_trace_is_read_or_refused() -> None:
    for place in range(len(RANKS[0])):
        for data in (RANKS[0][:place], RANKS[0][:place] + b"\xff" + RANKS[0][place + 1 :]):
            with contextlib.suppress(ValueError):  # anything else fails the test
                trace_graph([data, *RANKS[1:]], HOSTS)


def test_what_is_not_simulated_is_named() -> None:
    said = refusal(node(7, comm_type=2, comm_size=8), node(7, comm_type=2, comm_size=8))
    assert "rank 0, node 1" in said
    assert "all-gather is not simulated" in said
    assert "\x1b" not in said
    assert "type 9 is not known" in refusal(node(9))
    assert "it depends on node 4" in refusal(node(4, 4))
    assert "wait for one another" in refusal(node(4, 2) + node(4, 1, at=2))
    assert "two nodes have the same number" in refusal(node(4) + node(4))
    assert "sends 1 times to rank 1" in refusal(node(5, comm_dst=1, comm_size=5), b"")
    assert "it sends to rank 3" in refusal(node(5, comm_dst=3, comm_size=5))
    assert "it has no comm_size" in refusal(node(5, comm_dst=1), b"")
    assert "different numbers of collectives" in refusal(
        node(7, comm_type=9) * 1 + node(7, at=2, comm_type=9), node(7, comm_type=9)
    )
    assert "another collective" in refusal(node(7, comm_type=9), node(7, comm_type=6, comm_size=9))


def test_files_of_ranks_are_found(tmp_path: Path) -> None:
    for rank in (0, 2):
        (tmp_path / f"training.{rank}.et").write_bytes(RANKS[rank])
    with pytest.raises(PlanError, match=r"files of ranks 0, 1, … are expected, and there are \[0, 2\]"):
        simulated("training.*.et", tmp_path)
    with pytest.raises(PlanError, match="none"):
        simulated("other.*.et", tmp_path)
    with pytest.raises(PlanError, match="3 ranks and the topology 2 hosts"):
        simulated("training.*.et", FOLDER, "dumbbell:1x1,100Gbit/s,1us")
