"""What ns-3 is asked for, and what it is not: none of this needs ns-3."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from trialwise import _core
from trialwise.errors import PlanError
from trialwise.experiment.simulation import SimulationTrial, Workload
from trialwise.trials.ns3 import installation
from trialwise.trials.ns3.request import MAX_FLOWS, ns3_request, ns3_settings

DUMBBELL = "dumbbell:2x2,10Gbit/s,1us,40Gbit/s"


def trial(scheme: str = "dctcp", topology: str = DUMBBELL, controller=(), mode="clean", **network: str):
    return SimulationTrial(
        scheme, topology, Workload(flows="flows.csv"), tuple(network.items()), controller, mode, engine="ns3"
    )


def settings(**given):
    found = trial(**given)
    return ns3_settings(found, _core.Fabric(found.topology))


def test_defaults_are_those_of_our_own_engine() -> None:
    found = settings()
    assert (found.segment, found.threshold, found.buffer) == (1000, 30_000, (32 << 20) // 10)
    assert found.minimum_timeout == 4 * 10**9
    assert found.attributes["ns3::TcpL4Protocol::SocketType"] == "ns3::TcpDctcp"
    # One bandwidth-delay product of the longest way, and ten packets as the others of our own engine.
    assert found.window == _core.Fabric(DUMBBELL).round_trip_ps * 10**10 // (8 * 10**15)
    assert settings(scheme="newreno", marking="false").window == 10


def test_parameters_reach_ns3_under_its_own_names() -> None:
    found = settings(
        controller=(("gain", "0.25"), ("initial_window", "4")), kmin="9kB", kmax="9kB", stop="2ms"
    )
    assert found.attributes["ns3::TcpDctcp::DctcpShiftG"] == "0.25"
    assert found.attributes["ns3::TcpSocket::InitialCwnd"] == "4"
    assert (found.threshold, found.stop) == (9000, 2 * 10**9)
    assert settings(scheme="cubic", marking="false").threshold == 0
    assert settings(segment="4000B").attributes["ns3::PointToPointNetDevice::Mtu"] == "4042"


def request(topology: str, *lines: str) -> dict[str, Any]:
    flows = _core.parse_flows("flow_id,src,dst,size_bytes,start_ns\n" + "\n".join(lines))
    return ns3_request(settings(topology=topology), _core.Fabric(topology), flows, seed=5)


def nodes_along(topology: str, ports: list[int]) -> list[int]:
    """The nodes of a route; AssertionError where a port is not of the node that the one before leads to."""
    ends = [end for first, second, *_ in _core.Fabric(topology).links for end in (first, second)]
    ports = [port for port in ports if port >= 0]
    for before, after in pairwise(ports):
        assert ends[before ^ 1] == ends[after]
    return [ends[ports[0]], *(ends[port ^ 1] for port in ports)]


def test_a_request_has_links_and_thresholds_by_their_rates() -> None:
    fabric, found = _core.Fabric(DUMBBELL), request(DUMBBELL, "0,0,3,5000,7")
    assert found["links"] == fabric.links
    middle = [rate for *_, rate, _ in fabric.links].index(40 * 10**9)
    assert found["thresholds"] == [120_000 if link == middle else 30_000 for link in range(5)]
    assert found["flows"] == [(0, 3, 5000, 7000)]


def test_a_request_has_the_routes_of_data_and_of_acknowledgements() -> None:
    found = request(DUMBBELL, "0,0,3,5000,7", "1,2,1,5000,8")
    assert found["hops"] == 3
    assert [nodes_along(DUMBBELL, found["routes"][:3]), nodes_along(DUMBBELL, found["replies"][3:])] == [
        [0, 4, 5, 3],
        [1, 4, 5, 2],
    ]
    tree = "fat-tree:4,10Gbit/s,1us"
    found = request(tree, "0,0,1,5000,0", *(f"{number},0,15,5000,0" for number in range(1, 9)))
    assert found["hops"] == 6
    assert nodes_along(tree, found["routes"][:6]) == [0, 16, 1]
    ways = {tuple(nodes_along(tree, found["routes"][6 * flow : 6 * flow + 6])) for flow in range(1, 9)}
    assert len(ways) > 1
    assert {(len(way), way[0], way[-1]) for way in ways} == {(7, 0, 15)}


def test_links_that_lose_packets_are_refused(tmp_path: Path) -> None:
    lossy = tmp_path / "lossy.txt"
    lossy.write_text("3 1 2\n2\n0 2 10Gbps 1us 0\n1 2 10Gbps 1us 0.001\n")
    with pytest.raises(PlanError, match=r"link 1-2 loses packets with probability 0\.001") as refused:
        ns3_settings(trial(), _core.Fabric.from_file(lossy))
    assert "write 0" in str(refused.value)


def test_flows_and_routes_that_ns3_cannot_take_are_refused(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="flow 7 goes from node 0 to node 0"):
        request(DUMBBELL, "7,0,0,5000,0")
    many = [f"{number},0,2,1000,{number}" for number in range(MAX_FLOWS + 1)]
    with pytest.raises(PlanError, match="64001 flows") as refused:
        request(DUMBBELL, *many)
    assert "shorten" in str(refused.value)
    assert len(request(DUMBBELL, *many[1:])["flows"]) == MAX_FLOWS
    chain = tmp_path / "chain.txt"
    links = [(0, 2), (1, 257), *((node, node + 1) for node in range(2, 257))]
    chain.write_text(
        f"258 256 {len(links)}\n{' '.join(map(str, range(2, 258)))}\n"
        + "".join(f"{first} {second} 10Gbps 1us 0\n" for first, second in links)
    )
    fabric = _core.Fabric.from_file(chain)
    flows = _core.parse_flows("flow_id,src,dst,size_bytes,start_ns\n0,0,1,5000,0\n")
    with pytest.raises(PlanError, match="257 links"):
        ns3_request(settings(), fabric, flows, seed=5)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"scheme": "hpcc"}, "dctcp, newreno, cubic, bbr"),
        ({"mode": "compatible"}, "mode"),
        ({"scheme": "newreno"}, "marking = false"),
        ({"kmin": "10kB", "kmax": "20kB"}, "same length"),
        ({"pfc": "true"}, "pfc = false"),
        ({"header": "48B"}, "42B"),
        ({"acknowledgement": "60B"}, "42B"),
        ({"minimum_timeout": "none"}, "always has a time-out"),
        ({"faults": "4-5 down 1ms"}, "no equal"),
        ({"bufer": "1MB"}, 'did you mean "buffer"'),
        ({"marking": "maybe"}, "true or false"),
        ({"buffer": "much"}, "much"),
        ({"controller": (("window", "none"),)}, "initial_window, gain"),
        ({"controller": (("initial_window", "0"),)}, "at least 1"),
    ],
)
def test_what_cannot_be_the_same_is_refused_with_what_would_lift_it(given, said: str) -> None:
    with pytest.raises(PlanError) as refused:
        settings(**given)
    assert said in str(refused.value)


def test_an_interpreter_without_ns3_says_how_to_get_it(monkeypatch, tmp_path: Path) -> None:
    empty = tmp_path / "python"
    empty.write_text("#!/bin/sh\nexit 1\n")
    empty.chmod(0o755)
    monkeypatch.setenv(installation.PYTHON, str(empty))
    with pytest.raises(PlanError, match="has no package ns3") as refused:
        installation.ns3_installation()
    assert "trialwise[ns3]" in str(refused.value)
    monkeypatch.setenv(installation.PYTHON, str(tmp_path / "nothing"))
    with pytest.raises(PlanError, match="cannot be started"):
        installation.ns3_installation()
