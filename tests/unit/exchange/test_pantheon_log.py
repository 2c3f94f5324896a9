"""Pantheon's logs: merged against a merge line by line, statistics by hand, written and read back."""

from __future__ import annotations

import heapq
from pathlib import Path

import numpy as np
import pytest

from packet_logs import random_packets
from trialwise.errors import AnalysisError
from trialwise.exchange.mahimahi_log import read_mahimahi_log
from trialwise.exchange.pantheon_log import (
    MergedLog,
    TunnelLog,
    merge_multiple,
    merge_single,
    merged_from_packets,
    read_merged_log,
    read_tunnel_log,
    write_merged_log,
    write_tunnel_log,
)
from trialwise.exchange.pantheon_statistics import pantheon_statistics, perf_document, statistics_text
from trialwise.measurement.packets import EVENTS
from trialwise.measurement.path_metrics import (
    pantheon_delay,
    pantheon_loss,
    pantheon_throughput,
)

INGRESS = "# 'mm-tunnelserver' '--ingress-log=in' '--egress-log=out' ingress: 1795259022262.001\n"
EGRESS = "# 'mm-tunnelclient' 'localhost' '5' egress: 1795259022260.500\n"


def tunnel(tmp_path: Path, seed: int, count: int = 300) -> tuple[Path, Path]:
    """The two logs of a tunnel that loses a tenth, as text."""
    rng = np.random.default_rng(seed)
    sent = np.sort(rng.uniform(0, 5000, count)).round(3)
    sizes = rng.integers(88, 1501, count)
    arrived = np.flatnonzero(rng.uniform(size=count) < 0.9)
    received = (sent[arrived] + 28 + rng.exponential(10, arrived.size)).round(3)
    order = np.argsort(received, kind="stable")
    egress, ingress = tmp_path / f"{seed}-egress.log", tmp_path / f"{seed}-ingress.log"
    egress.write_text(
        EGRESS
        + "".join(f"{t:.3f} - {i} - {s}\n" for i, (t, s) in enumerate(zip(sent, sizes, strict=True), 1))
    )
    rows = [(received[each], arrived[each]) for each in order]
    ingress.write_text(INGRESS + "".join(f"{t:.3f} - {i + 1} - {sizes[i]}\n" for t, i in rows))
    return ingress, egress


def merged_line_by_line(ingress: Path, egress: Path, offset: float) -> list[str]:
    """Every event of both logs, sorted by time, arrivals first."""

    def read(path: Path, correction: float) -> tuple[float, list[tuple[float, int, int]]]:
        first, *rest = path.read_text().splitlines()
        words = [line.split(" - ") for line in rest]
        return float(first.rsplit(":", 1)[1]) + correction, [(float(t), int(u), int(s)) for t, u, s in words]

    (start_in, received), (start_out, sent) = read(ingress, offset), read(egress, 0)
    start = min(start_in, start_out)
    sent_at = {uid: time + start_out - start for time, uid, _ in sent}
    events = [(time + start_out - start, 0, f"+ {size}") for time, _, size in sent]
    for time, uid, size in received:
        at = time + start_in - start
        events.append((at, 1, f"- {size} {at - sent_at[uid]:.3f}"))
    return [f"# init timestamp: {start:.3f}"] + [
        f"{time:.3f} {text}" for time, _, text in sorted(events, key=lambda event: event[:2])
    ]


@pytest.mark.parametrize(("seed", "offset"), [(1, 0.0), (2, 3.25), (3, -40.0)])
def test_one_tunnel_merges_as_line_by_line(tmp_path: Path, seed: int, offset: float):
    ingress, egress = tunnel(tmp_path, seed)
    found = merge_single(read_tunnel_log(ingress), read_tunnel_log(egress), ingress_offset=offset)
    write_merged_log(tmp_path / "merged", found)
    assert (tmp_path / "merged").read_text().splitlines() == merged_line_by_line(ingress, egress, offset)


def test_several_tunnels_merge_as_a_heap_does(tmp_path: Path):
    logs: list[MergedLog] = []
    heads: list[list[tuple[float, int, str]]] = []
    for seed in (1, 2, 3):
        ingress, egress = tunnel(tmp_path, seed)
        log = merge_single(read_tunnel_log(ingress), read_tunnel_log(egress), ingress_offset=float(seed))
        write_merged_log(tmp_path / f"{seed}", log)
        logs.append(read_merged_log(tmp_path / f"{seed}"))
    link = tmp_path / "link.log"
    link.write_text(
        "# init timestamp: 1795259022250\n0 # 1504\n5 + 1504\n6 # 1504\n100 - 1504 95\n1900 # 1504\n"
    )
    start = min([1795259022250.0, *(log.init_timestamp for log in logs)])
    shifts = [log.init_timestamp - start for log in logs]
    for index, shift in enumerate(shifts):
        lines = (tmp_path / f"{index + 1}").read_text().splitlines()[1:]
        parts = [line.split(" ", 1) for line in lines]
        heads.append(
            [(float(t) + shift, index, f"{float(t) + shift:.3f} {rest} {index + 1}") for t, rest in parts]
        )
    slots = [(time + 1795259022250.0 - start, -1) for time in (0.0, 6.0, 1900.0)]
    heads.append([(time, index, f"{time:.3f} # 1500") for time, index in slots])
    expected = [text for *_, text in heapq.merge(*heads, key=lambda event: event[:2])]

    merged = merge_multiple(logs, read_mahimahi_log(link))
    write_merged_log(tmp_path / "all", merged)
    header, *lines = (tmp_path / "all").read_text().splitlines()
    assert header == f"# init timestamp: {start:.3f}"
    assert lines == expected

    again = read_merged_log(tmp_path / "all")
    write_merged_log(tmp_path / "again", again)
    assert (tmp_path / "again").read_text() == (tmp_path / "all").read_text()
    assert statistics_text(pantheon_statistics(again)) == statistics_text(pantheon_statistics(merged))


def test_the_examples_of_the_format_are_read(tmp_path: Path):
    path = tmp_path / "merged.log"
    path.write_text(
        "# init timestamp: 1795259022262.001\n118.972 # 1500\n1696.716 + 96 1\n1726.534 - 96 29.818 1\n"
    )
    log = read_merged_log(path)
    assert (log.opportunities.tolist(), log.opportunity_sizes.tolist()) == ([118.972], [1500])
    assert (log.departures.tolist(), log.delays.tolist(), log.departure_flows.tolist()) == (
        [1726.534],
        [29.818],
        [1],
    )
    path = tmp_path / "tunnel.log"
    path.write_text(INGRESS + "1625.535 - 1 - 88\n")
    tunnel_log = read_tunnel_log(path)
    assert (tunnel_log.init_timestamp, tunnel_log.uid.tolist(), tunnel_log.size.tolist()) == (
        1795259022262.001,
        [1],
        [88],
    )
    write_tunnel_log(tmp_path / "again.log", tunnel_log)
    assert (tmp_path / "again.log").read_text().splitlines()[1:] == ["1625.535 - 1 - 88"]
    assert read_tunnel_log(tmp_path / "again.log").init_timestamp == 1795259022262.001


def small(tmp_path: Path, lines: str) -> MergedLog:
    (tmp_path / "small").write_text("# init timestamp: 0.000\n" + lines)
    return read_merged_log(tmp_path / "small")


TWO_FLOWS = """\
0.000 # 1500
1.000 + 1500 1
500.000 + 1000 2
1000.000 # 1500
1029.000 - 1500 1028.000 1
1100.000 + 1500 1
1200.000 + 1500 1
1300.000 - 1500 200.000 1
1300.000 - 1000 800.000 2
2000.000 # 1500
"""


def test_the_statistics_by_hand(tmp_path: Path):
    assert statistics_text(pantheon_statistics(small(tmp_path, TWO_FLOWS))) == (
        "-- Total of 2 flows:\n"
        "Average capacity: 0.02 Mbit/s\n"  # 36000 bits in 2 s
        "Average throughput: 0.12 Mbit/s (656.0% utilization)\n"  # 32000 bits in 271 ms
        "95th percentile per-packet one-way delay: 1028.000 ms\n"
        "Loss rate: 27.27%\n"  # 1500 of 5500 bytes
        "-- Flow 1:\n"
        "Average throughput: 0.09 Mbit/s\n"
        "95th percentile per-packet one-way delay: 1028.000 ms\n"
        "Loss rate: 33.33%\n"
        "-- Flow 2:\n"
        "Average throughput: 0.00 Mbit/s\n"
        "95th percentile per-packet one-way delay: 800.000 ms\n"
        "Loss rate: 0.00%\n"
    )


def test_perf_has_all_and_the_flows(tmp_path: Path):
    found = pantheon_statistics(small(tmp_path, TWO_FLOWS))
    document = perf_document({"cubic": {1: found}})
    assert document["cubic"]["1"]["all"] == {
        "tput": pytest.approx(32_000 / 271 / 1000), "delay": 1028.0, "loss": pytest.approx(1500 / 5500),
    }  # fmt: skip
    assert set(document["cubic"]["1"]) == {"all", "1", "2"}


def test_without_link_log_and_without_departures(tmp_path: Path):
    found = pantheon_statistics(small(tmp_path, "1.000 + 1500\n2.000 + 1500\n"))
    assert statistics_text(found) == (
        "-- Total of 1 flow:\nAverage throughput: 0.00 Mbit/s\nLoss rate: 100.00%\n-- Flow 0:\nAverage throughput: 0.00 Mbit/s\n"
    )
    assert perf_document({"x": {1: found}})["x"]["1"].keys() == {"all"}


def test_packets_tell_what_was_lost_from_what_was_under_way(tmp_path: Path):
    lines = "1.000 + 1500 1\n2.000 + 1500 1\n3.000 + 1500 1\n4.000 + 1500 1\n31.000 - 1500 28.000 1\n32.000 - 1500 31.001 1\n"
    packets = small(tmp_path, lines).packets()
    events = [EVENTS[number] for number in packets.event]
    assert sorted(zip(np.round(packets.time * 1e3, 3).tolist(), events, strict=True)) == [
        (2.0, "dropped"), (31.0, "delivered"), (32.0, "delivered"), (32.0, "held"),
    ]  # fmt: skip


@pytest.mark.parametrize("seed", range(4))
def test_packets_written_as_pantheon_logs_keep_pantheons_metrics(tmp_path: Path, seed: int):
    packets = random_packets(seed, 600).of("uplink")
    numbered = packets.where(packets.flow > 0)
    write_merged_log(tmp_path / "log", merged_from_packets(packets, np.array([0, 1000])))
    log = read_merged_log(tmp_path / "log")
    found, back = pantheon_statistics(log), log.packets()
    assert found.total.throughput == pytest.approx(pantheon_throughput(numbered), rel=1e-5)
    assert found.total.delay == pytest.approx(pantheon_delay(numbered), abs=0.0011)
    assert 100 * (found.total.loss or 0) == pytest.approx(pantheon_loss(numbered))
    assert pantheon_loss(back) == pytest.approx(pantheon_loss(numbered))
    for flow, each in found.flows.items():
        assert each.throughput == pytest.approx(pantheon_throughput(numbered.of(flow=flow)), rel=1e-5)
        assert each.delay == pytest.approx(pantheon_delay(back.of(flow=flow)), abs=0.0011)


def log_of(uid: list[int], size: list[int]) -> TunnelLog:
    return TunnelLog(
        0.0, np.arange(len(uid)).astype(np.float64), np.array(uid, np.int64), np.array(size, np.int64)
    )


def test_logs_that_do_not_belong_together_are_refused(tmp_path: Path):
    with pytest.raises(AnalysisError, match="packet 3 came out of the tunnel and never went in"):
        merge_single(log_of([1, 3], [88, 88]), log_of([1, 2], [88, 88]))
    with pytest.raises(AnalysisError, match="packet 1 came out of the tunnel"):
        merge_single(log_of([1], [88]), log_of([], []))
    with pytest.raises(
        AnalysisError, match="packet 2 went into the tunnel with 88 bytes and came out with 89"
    ):
        merge_single(log_of([2], [89]), log_of([1, 2], [88, 88]))
    with pytest.raises(AnalysisError, match="a log without events"):
        merge_multiple([merge_single(log_of([], []), log_of([], []))])


@pytest.mark.parametrize(
    ("reader", "text", "problem"),
    [
        (
            read_merged_log,
            "# init timestamp: 1\n1.0 + 88 1 2\n",
            "log:2: `1.0 \\+ 88 1 2` is not a line of a merged",
        ),
        (read_merged_log, "1.0 + 88\n", "log:1: the time is missing"),
        (read_tunnel_log, "# x ingress: soon\n", "log:1: `soon` is not the time"),
        (read_tunnel_log, "# x ingress: 1\n1.0 - 1 88\n", "log:2: `1.0 - 1 88` is not a line of a tunnel"),
        (read_tunnel_log, "# x ingress: 1\n1.0 - 1 - x\n", "log:2: `1.0 - 1 - x`"),
    ],
)
def test_wrong_logs_are_named(tmp_path: Path, reader, text: str, problem: str):
    (tmp_path / "log").write_text(text)
    with pytest.raises(AnalysisError, match=problem):
        reader(tmp_path / "log")
