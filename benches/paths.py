"""What emulated paths are faithful to on this machine, beside what mahimahi was measured to be.

Run as root: .venv/bin/python benches/paths.py [FIGURE...]. Without a figure all are measured (about eight minutes) and kept in
benches/results/paths.json; with some, those alone are measured and shown. iperf3 must be installed.

The figures of mahimahi are facts from PATHS.md, section 1 (published with the specification of the emulator): measured on a
two-core Linux 6.18 machine under load with `mm-delay 28 [mm-loss uplink .004] mm-link T T --uplink-queue=droptail
--uplink-queue-args=packets=N`, one iperf3 TCP connection, goodput. So mm-loss dropped on the uplink only, and the queue of the
downlink had no limit. How long its runs were is not said.
"""

from __future__ import annotations

import shutil
import statistics
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np

from many_paths import Crowd, crowd
from measuring import show, write
from path_traffic import Pairs, Transfer, iperf, own_sender, quiet
from trialwise import _linux

SOURCE = "PATHS.md section 1"
MAHIMAHI_GIGABIT = {"cubic": 262.8, "bbr": 333.8}
MAHIMAHI_12 = {"cubic": 11.445, "reno": 11.36, "bbr": 11.23}
"""Middle of the ranges 11.40-11.49 and 11.22-11.24."""
MAHIMAHI_LOSS = {"cubic": 3.92, "reno": 3.90, "bbr": 11.17}
MAHIMAHI_CPU_100 = 15 + 22.5
"""% of a core: mm-delay 15 and mm-link 21-24."""
MAHIMAHI_DELAY_ERROR = 29.19 - 28.0
"""ms, median; a probe of 200 bytes takes 0.13 ms of it at 12 Mbit/s and 0.02 ms at 100 Mbit/s."""
MAHIMAHI_SILENT = 29.0
"""% of datagrams at 600 Mbit/s offered that no log of mm-link records."""

GIGABIT_SHARE, WIRE_ERROR, DELAY_ERROR, PROCESSOR, UNRESTRICTED = 88.0, 1.0, 0.15, 15.0, 12.0
"""What is required: % of the link, % of the capacity, ms, % of a core, Gbit/s."""
FAST, FAST_LATENESS = 5.0, 1.0
"""Gbit/s of TCP payload over a path with a rate, and ms that the 99th percentile of lateness may be there."""
MANY, MANY_DELAY_ERROR = 64, 0.2
"""Paths at once, and ms by which the median delay over them may be wrong."""
LOSSY_BAND = 0.15
"""How far a median goodput under loss may lie from mahimahi's: single runs of 45 s differ by that much."""
LOSSY_SECONDS = 45

Row = dict[str, object]
CONTROLS = ("cubic", "reno", "bbr")


def path(rate: str, packets: int, loss: str | None = None) -> Pairs:
    """One direction: 28 ms, a rate, a droptail queue, random loss."""
    pairs = {"rate": rate, "queue": f"droptail:packets={packets}", "delay": "28ms"}
    return pairs | ({"loss": loss} if loss else {})


def row(figure: str, unit: str, values: Sequence[float], conditions: str, **more: object) -> Row:
    """One line of the table: the median of the values, all of them, and what else is to be said."""
    rounded = [round(value, 3) for value in values]
    middle = round(statistics.median(values), 3)
    return (
        {"figure": figure, "unit": unit, "median": middle, "n": len(rounded), "values": rounded}
        | more
        | {"conditions": conditions}
    )


def beside(published: float, values: Sequence[float]) -> Row:
    """The published figure and our median as a ratio to it."""
    return {"mahimahi": published, "ratio": round(statistics.median(values) / published, 3), "source": SOURCE}


def trouble(transfers: Sequence[Transfer]) -> Row:
    """What would make the figures worthless: packets lost without a record, and an emulator that was itself the bottleneck."""
    late = [each.report.bottleneck for each in transfers if each.report.bottleneck is not None]
    return {"unlogged": sum(each.unlogged for each in transfers), "bottlenecks": late}


def gigabit() -> list[Row]:
    both = path("1Gbit/s", 4670)
    rows: list[Row] = []
    for control, count in (("cubic", 2), ("bbr", 1)):
        runs = [
            iperf(both, both, f"-C {control}", seconds=12, seed=seed, settled=2)
            for seed in range(1, count + 1)
        ]
        goodput = [run.goodput for run in runs]
        more = {"wire": [round(run.wire, 1) for run in runs], "required": f">= {GIGABIT_SHARE} % of the link"}
        met = statistics.median(goodput) >= 10 * GIGABIT_SHARE or control != "cubic"
        said = "1 Gbit/s, 28 ms each way, droptail 4670 (one BDP), iperf3 12 s from its start"
        found = trouble(runs)
        rows.append(
            row(f"TCP goodput at 1 Gbit/s, {control}", "Mbit/s", goodput, said)
            | beside(MAHIMAHI_GIGABIT[control], goodput)
            | more
            | found
            | {"met": met and found["unlogged"] == 0}
        )
    return rows


def fast() -> list[Row]:
    """A rate at which the payload of full packets is over 5 Gbit/s."""
    both = path("5.5Gbit/s", 25_700)
    runs = [iperf(both, both, "-C cubic", seconds=7, seed=seed, settled=2) for seed in (1, 2, 3)]
    payload = [run.wire * 1448 / 1500 / 1e3 for run in runs]
    late = [1e3 * max(way.lateness.p99 for way in (run.report.uplink, run.report.downlink)) for run in runs]
    found = trouble(runs)
    said = "5.5 Gbit/s, 28 ms each way, droptail 25700 (one BDP), iperf3 cubic, from 2 s to 6 s after the first packet"
    met = statistics.median(payload) >= FAST and statistics.median(late) <= FAST_LATENESS
    return [
        row("TCP payload at 5.5 Gbit/s", "Gbit/s", payload, said)
        | {"lateness_p99_ms": [round(each, 3) for each in late]}
        | {"processor": [round(100 * run.report.processor_share, 1) for run in runs]}
        | {"required": f">= {FAST} Gbit/s, lateness p99 <= {FAST_LATENESS} ms"}
        | found
        | {"met": met and found["unlogged"] == 0}
    ]


def wire() -> list[Row]:
    """At 12 Mbit/s without loss: bytes on the wire against the link's capacity, goodput against mahimahi's."""
    both = path("12Mbit/s", 50)
    runs = at_once(
        [(control, seed) for seed in (1, 2) for control in CONTROLS], both, both, seconds=20, settled=5
    )
    rows: list[Row] = []
    for control in CONTROLS:
        mine = runs[control]
        shares = [run.wire / 12 * 100 for run in mine]
        goodput = [run.goodput for run in mine]
        said = "12 Mbit/s, 28 ms, droptail 50, iperf3 20 s; bytes delivered from 5 s to 19 s after the first packet"
        rows.append(
            row(f"bytes on the wire at 12 Mbit/s, {control}", "% of capacity", shares, said)
            | {"required": f"within {WIRE_ERROR} % (cubic)"}
            | {"met": abs(statistics.median(shares) - 100) <= WIRE_ERROR or control != "cubic"}
            | trouble(mine)
        )
        said = "the same runs, iperf3's goodput from start to end"
        rows.append(
            row(f"TCP goodput at 12 Mbit/s, {control}", "Mbit/s", goodput, said)
            | beside(MAHIMAHI_12[control], goodput)
        )
    return rows


def at_once(
    runs: Sequence[tuple[str, int]], uplink: Pairs, downlink: Pairs, *, seconds: int, settled: float
) -> dict[str, list[Transfer]]:
    """Runs of iperf3 (congestion control, seed) side by side, by congestion control."""
    calls = [
        partial(iperf, uplink, downlink, f"-C {control}", seconds=seconds, seed=seed, settled=settled)
        for control, seed in runs
    ]
    found: dict[str, list[Transfer]] = {}
    for (control, _), transfer in zip(runs, side_by_side(calls), strict=True):
        found.setdefault(control, []).append(transfer)
    return found


def side_by_side(calls: Sequence[Callable[[], Transfer]]) -> list[Transfer]:
    """All at once, each over a path of its own."""
    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(lambda call: call(), calls))


def ceiling() -> list[Row]:
    """What `trialwise doctor path` measures: error of delay of an idle path, and a path without limits."""
    found = [_linux.measure_ceiling(15.0, lambda _stage, _share: None) for _ in range(3)]
    errors = [each.delay_error_median * 1e3 for each in found]
    tails = [round(each.delay_error_p99 * 1e3, 3) for each in found]
    free = [each.unrestricted / 1e9 for each in found]
    said = "idle path of 100 Mbit/s and 28 ms, 250 datagrams a second of 200 bytes for 1.5 s, less the model's time"
    return [
        row("error of one-way delay, median", "ms", errors, said)
        | beside(round(MAHIMAHI_DELAY_ERROR, 2), errors)
        | {"p99": tails, "realtime": found[0].realtime}
        | {"required": f"<= {DELAY_ERROR} ms", "met": statistics.median(errors) <= DELAY_ERROR},
        row(
            "TCP without any limit",
            "Gbit/s",
            free,
            "one connection, payload, 0.75 s after a warm-up of 0.4 s",
        )
        | {"required": f">= {UNRESTRICTED} Gbit/s", "met": statistics.median(free) >= UNRESTRICTED},
    ]


def processor() -> list[Row]:
    both = path("100Mbit/s", 470)
    runs = [iperf(both, both, "-C cubic", seconds=10, seed=seed, settled=3) for seed in (1, 2, 3)]
    shares = [run.report.processor_share * 100 for run in runs]
    said = "100 Mbit/s, 28 ms, droptail 470, iperf3 cubic 10 s, with the packet log; the emulator's thread"
    return [
        row("processor time at 100 Mbit/s", "% of a core", shares, said)
        | {"lateness_p50_ms": [round(1e3 * run.report.uplink.lateness.median, 3) for run in runs]}
        | {"lateness_p99_ms": [round(1e3 * run.report.uplink.lateness.p99, 3) for run in runs]}
        | beside(MAHIMAHI_CPU_100, shares)
        | {"goodput": [round(run.goodput, 1) for run in runs]}
        | {"required": f"< {PROCESSOR} %", "met": statistics.median(shares) < PROCESSOR}
        | trouble(runs)
    ]


def silent() -> list[Row]:
    """Datagrams that a sender sent and nothing tells of: no record, and no count of the kernel's drops."""
    both = path("1Gbit/s", 4670)
    words = "--udp --bitrate 600M --length 1448 --window 4M"
    runs = [iperf(both, both, words, seconds=7, seed=seed, settled=2) for seed in (1, 2, 3)]
    sent = [run.said["sum"]["packets"] for run in runs]
    missing = [count - run.recorded for count, run in zip(sent, runs, strict=True)]
    unknown = [
        (gone - run.unlogged) / count * 100 for gone, run, count in zip(missing, runs, sent, strict=True)
    ]
    said = "1 Gbit/s, 28 ms, iperf3 UDP of 1448 bytes, 600 Mbit/s offered for 7 s; sent, less recorded, less counted as dropped"
    return [
        row("datagrams lost silently at 600 Mbit/s", "%", unknown, said)
        | {"mahimahi": MAHIMAHI_SILENT, "source": SOURCE, "required": "none", "met": max(unknown) == 0}
        | {"sent": sent, "without_record": missing, "delivered": [round(run.wire, 1) for run in runs]}
        | trouble(runs)
    ]


def loss() -> list[Row]:
    """0.4 % random loss on the uplink, as mahimahi was measured, and on both ways.

    Runs of 45 s: slow start before the first losses, and the window that it leaves, hold cubic and reno above their steady
    rate for the first ten seconds, so that shorter runs say more (`course` has the wire bytes of each five seconds).
    """
    lossy, clean = path("12Mbit/s", 50, "0.4%"), path("12Mbit/s", 50)
    order = [(control, seed) for seed in (1, 2, 3) for control in CONTROLS]
    rows: list[Row] = []
    for name, downlink in (("on the uplink", clean), ("each way", lossy)):
        runs = at_once(order, lossy, downlink, seconds=LOSSY_SECONDS, settled=10)
        rows += [lossy_row(control, name, runs[control]) for control in CONTROLS]
    return [*rows, own_row(lossy, clean)]


def lossy_row(control: str, where: str, runs: Sequence[Transfer]) -> Row:
    goodput = [run.goodput for run in runs]
    streams = [run.said["streams"][0]["sender"] for run in runs]
    compared = beside(MAHIMAHI_LOSS[control], goodput)
    ratio = statistics.median(goodput) / MAHIMAHI_LOSS[control]
    said = f"12 Mbit/s, 28 ms, droptail 50, iperf3 {LOSSY_SECONDS} s from its start"
    return (
        row(f"TCP goodput, 0.4 % lost {where}, {control}", "Mbit/s", goodput, said)
        | compared
        | {"required": f"within {LOSSY_BAND:.0%} of mahimahi", "met": abs(ratio - 1) <= LOSSY_BAND}
        | {"rtt_ms": [round(stream["mean_rtt"] / 1e3, 1) for stream in streams]}
        | {"retransmits": [stream["retransmits"] for stream in streams]}
        | on_the_wire(runs)
        | trouble(runs)
    )


def own_row(uplink: Pairs, downlink: Pairs) -> Row:
    """Trialwise's own sender in the place of iperf3."""
    runs = side_by_side(
        [
            partial(own_sender, uplink, downlink, "cubic", seconds=LOSSY_SECONDS, seed=seed, settled=10)
            for seed in (1, 2, 3)
        ]
    )
    said = (
        f"the same path for {LOSSY_SECONDS} s, sender of scheme cubic: bytes delivered after 10 s, IP packets"
    )
    name = "wire bytes, 0.4 % lost on the uplink, scheme cubic"
    return row(name, "Mbit/s", [run.wire for run in runs], said) | on_the_wire(runs) | trouble(runs)


def on_the_wire(runs: Sequence[Transfer]) -> Row:
    """Wire bytes after the start, and the median course of them."""
    course = [statistics.median(each) for each in zip(*(run.course for run in runs), strict=True)]
    return {"wire": [round(run.wire, 2) for run in runs], "course": [round(each, 2) for each in course]}


def many() -> list[Row]:
    """Many filled paths at once beside a single one: error of delay, what they carry, processors."""
    both = path("20Mbit/s", 94)
    runs = {count: [crowd(both, count, seconds=8, settled=2) for _ in range(3)] for count in (1, MANY)}
    medians = {count: [float(np.median(run.errors)) for run in each] for count, each in runs.items()}
    alone, found = statistics.median(medians[1]), runs[MANY]
    unlogged = sum(run.unlogged for run in found)
    said = (
        f"{MANY} paths of 20 Mbit/s and 28 ms each way, droptail 94 (one BDP), in one process for 8 s, each with a TCP "
        "connection (cubic) that fills it and 20 probes a second of 200 bytes, stamped by the kernel; less the model's time"
    )
    return [
        row(f"error of one-way delay of {MANY} paths at once, median", "ms", medians[MANY], said)
        | {"single path": round(alone, 3), "ratio": round(statistics.median(medians[MANY]) / alone, 3)}
        | {"p99": [round(float(np.percentile(run.errors, 99)), 3) for run in found]}
        | {"wire": [round(float(np.median(run.wire)), 2) for run in found]}
        | {"least_wire": [round(float(run.wire.min()), 2) for run in found]}
        | {"processors": [round(run.processor[0], 2) for run in found]}
        | {"processors with traffic": [round(run.processor[1], 2) for run in found]}
        | {"required": f"<= {MANY_DELAY_ERROR} ms, nothing unlogged", "unlogged": unlogged}
        | {"late": [late_paths(run) for run in found]}
        | {"met": statistics.median(medians[MANY]) <= MANY_DELAY_ERROR and unlogged == 0}
    ]


def late_paths(run: Crowd) -> int:
    """Paths of which the emulator says that it was itself the bottleneck."""
    return sum(report.bottleneck is not None for report in run.reports)


FIGURES: dict[str, Callable[[], list[Row]]] = {
    "gigabit": gigabit,
    "fast": fast,
    "wire": wire,
    "ceiling": ceiling,
    "processor": processor,
    "silent": silent,
    "loss": loss,
    "many": many,
}


def main() -> None:
    names = sys.argv[1:]
    if unknown := set(names) - set(FIGURES):
        sys.exit(f"no figure {', '.join(sorted(unknown))}; there are {', '.join(FIGURES)}")
    if shutil.which("iperf3") is None:
        sys.exit("there is no iperf3: apt-get install iperf3")
    rows = [
        {**found, "load": load, "command": f"benches/paths.py {name}"}
        for name in names or FIGURES
        for load in [quiet()]
        for found in FIGURES[name]()
    ]
    if names:
        show(rows)
    else:
        write("paths", rows)
    sys.exit(0 if all(found.get("met", True) for found in rows) else 1)


if __name__ == "__main__":
    main()
