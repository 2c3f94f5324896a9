"""The simulator as Python sees it: flow lists, series, losses, faults, and arguments that do not fit."""

from pathlib import Path

import numpy as np
import pytest

from trialwise import _core

FABRIC = _core.Fabric("dumbbell:2x2,10Gbit/s,1us")
MIDDLE = 8
"""The port from the first switch (node 4) to the second (node 5)."""


def two_flows() -> dict[str, np.ndarray]:
    text = "flow_id,src,dst,size_bytes,start_ns\n7,0,2,1000000,0\n8,1,2,1000000,0\n"
    return _core.parse_flows(text)


def test_links_and_hosts_are_numbered() -> None:
    assert FABRIC.hosts.tolist() == [0, 1, 2, 3]
    assert FABRIC.links[MIDDLE // 2] == (4, 5, 10_000_000_000, 1_000_000)
    assert FABRIC.losses.tolist() == [0.0] * len(FABRIC.links)
    assert FABRIC.bottleneck == 10_000_000_000


def test_series_follow_queue_and_progress() -> None:
    result = _core.simulate(
        FABRIC,
        two_flows(),
        controller="dctcp",
        sample_interval_ps=10_000_000,
        ports=[MIDDLE],
        watched_flows=[0, 1],
    )
    series = result.series
    assert series is not None
    assert series.queue.shape == (len(series.time_ps), 1)
    assert series.acknowledged.shape == (len(series.time_ps), 2)
    assert np.all(np.diff(series.time_ps) == 10_000_000)
    assert np.all(np.diff(series.sent[:, 0].astype(np.int64)) >= 0)
    assert 0 < series.queue.max() <= result.port_peak_queue[MIDDLE]
    assert series.acknowledged[-1].max() <= 1_000_000


def test_a_series_with_a_limit_has_even_looks_over_all_of_the_trial() -> None:
    def looked(interval: int, most: int | None) -> _core.SimulationResult:
        return _core.simulate(
            FABRIC,
            two_flows(),
            controller="dctcp",
            sample_interval_ps=interval,
            most_looks=most,
            ports=[MIDDLE, 0],
            watched_flows=[0],
        )

    thinned = looked(1000, 64).series
    assert thinned is not None
    assert 32 <= len(thinned.time_ps) <= 64
    (interval,) = np.unique(np.diff(thinned.time_ps)).tolist()
    result = looked(interval, None)
    assert result.series is not None
    assert thinned.time_ps.tolist() == result.series.time_ps.tolist()
    assert thinned.queue.tolist() == result.series.queue.tolist()
    assert thinned.acknowledged.tolist() == result.series.acknowledged.tolist()
    assert result.end_ps - thinned.time_ps[-1] <= interval


def test_ten_gigabits_carry_two_megabytes_in_their_time() -> None:
    result = _core.simulate(FABRIC, two_flows(), controller="hpcc")
    # 2 MB of payload take 1.6 ms, headers and the controller's margin a tenth more.
    assert 1.6e9 < result.fct_ps.max() < 2.2e9
    assert result.end_ps >= result.fct_ps.max()


def test_losses_and_faults_are_counted() -> None:
    lossy = _core.simulate(FABRIC, two_flows(), controller="dctcp", network=[("loss", "1%")], seed=1)
    assert lossy.totals["dropped_link"] > 0
    assert lossy.totals["data_resent"] > 0
    faults = [("faults", "4-5 down 100us, 4-5 up 300us")]
    faulty = _core.simulate(FABRIC, two_flows(), controller="dctcp", network=faults)
    assert faulty.totals["dropped_fault"] > 0
    assert (faulty.fct_ps > 0).all()


def test_routes_are_those_that_packets_take() -> None:
    fabric = _core.Fabric("fat-tree:4,100Gbit/s,1us")
    lines = (
        f"{number},{number % 16},{(5 * number + 3) % 16},{1 + 700 * number},{200 * number}"
        for number in range(64)
    )
    flows = _core.parse_flows("flow_id,src,dst,size_bytes,start_ns\n" + "\n".join(lines))
    data, replies = fabric.flow_routes(flows)
    packets = -(-flows["size_bytes"] // 1000)
    sent = np.zeros(2 * len(fabric.links) + 1)  # the last for -1
    np.add.at(sent, data, (flows["size_bytes"] + 48 * packets)[:, None])
    np.add.at(sent, replies, 60 * packets[:, None])
    result = _core.simulate(fabric, flows, controller="dctcp")
    assert result.totals["data_resent"] == 0
    assert np.array_equal(result.port_sent, sent[:-1])
    with pytest.raises(ValueError, match="flow 0"):
        fabric.flow_routes(flows | {"size_bytes": 0 * flows["size_bytes"]})


def test_a_flow_list_goes_out_and_comes_back() -> None:
    flows = two_flows()
    again = _core.parse_flows(_core.format_flows(flows))
    assert all(np.array_equal(flows[name], again[name]) for name in flows)
    hpcc = _core.parse_flows(_core.format_flows(flows, hpcc=True))
    assert np.array_equal(flows["size_bytes"], hpcc["size_bytes"])


def test_classes_and_ports_go_out_and_come_back() -> None:
    text = "2\n0 2 3 101 1000000 2\n1 2 5 100 1000000 2\n"
    flows, graph, cautions = _core.read_flow_list(text)
    assert graph is None
    assert (flows["class"].tolist(), flows["dst_port"].tolist(), cautions) == ([3, 5], [101, 100], [])
    for hpcc in (False, True):
        again = _core.parse_flows(_core.format_flows(flows, hpcc=hpcc))
        assert all(np.array_equal(flows[name], again[name]) for name in flows)
    result = _core.simulate(FABRIC, flows, controller="dctcp")
    assert result.csv().startswith("flow_id,src,dst,size_bytes,start_ns,class,dst_port,fct_ns\n")
    assert result.delivered.tolist() == [1_000_000] * 2
    with pytest.raises(ValueError, match="class or port too large"):
        _core.simulate(FABRIC, flows | {"class": flows["class"] + 300}, controller="dctcp")


def test_liberties_with_a_list_or_a_topology_are_told(tmp_path: Path) -> None:
    *_, cautions = _core.read_flow_list("1\n0 2 3 101 1000000 2\n1 2 5 100 1000000 2\n")
    assert cautions == ["the flow list announces 1 flows and has 2: the first of them are taken"]
    file = tmp_path / "topology.txt"
    file.write_text("3 1 1 2\n2\n0 2 25000000000.0 1us 0\n1 2 25G 1us 0\n")
    fabric = _core.Fabric.from_file(file)
    assert [rate for _, _, rate, _ in fabric.links] == [25 * 10**9] * 2
    assert len(fabric.cautions) == 1


def test_what_progress_raises_ends_the_trial() -> None:
    flows = _core.generate_flows(
        FABRIC,
        sizes="fixed:1MB",
        arrivals="poisson",
        pattern="one-way",
        load=0.9,
        load_of="bottleneck",
        duration_ps=20 * 10**12,
        seed=1,
    )

    def enough(*_: int) -> None:
        raise ArithmeticError

    with pytest.raises(ArithmeticError):
        _core.simulate(FABRIC, flows, controller="dctcp", progress=enough)


def test_progress_counts_the_packets_that_are_left_of_one_flow_too() -> None:
    flows = _core.parse_flows("flow_id,src,dst,size_bytes,start_ns\n0,0,2,2000000000,0\n")
    told = list[tuple[int, int, int]]()
    _core.simulate(FABRIC, flows, controller="dctcp", progress=lambda *at: told.append(at))
    unsent = [packets for _, packets, _ in told]
    assert len(told) > 2
    assert unsent == sorted(set(unsent), reverse=True)
    now, packets, unfinished = told[0]
    # At 10 Gbit/s a packet of 1048 bytes takes 838.4 ns.
    assert (2_000_000 - packets) * 838_400 == pytest.approx(now, rel=0.05)
    assert unfinished == 1


def test_arguments_that_do_not_fit_are_refused() -> None:
    flows = two_flows()
    with pytest.raises(ValueError, match="no src"):
        _core.simulate(FABRIC, {"flow_id": flows["flow_id"]}, controller="dctcp")
    with pytest.raises(ValueError, match="differ in length"):
        _core.simulate(FABRIC, flows | {"src": flows["src"][:1]}, controller="dctcp")
    with pytest.raises(ValueError, match="below 0"):
        _core.simulate(FABRIC, flows | {"src": flows["src"] - 1}, controller="dctcp")
    with pytest.raises(ValueError, match="int64"):
        _core.simulate(FABRIC, flows | {"src": flows["src"].astype(np.float64)}, controller="dctcp")
    with pytest.raises(ValueError, match="no port 10"):
        _core.simulate(FABRIC, flows, controller="dctcp", ports=[10])
    with pytest.raises(ValueError, match="2 flows"):
        _core.simulate(FABRIC, flows, controller="dctcp", watched_flows=[2])
