"""Trials over emulated paths: real programs, real packets."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import polars as pl
import pytest
from tests.system.conftest import TRIALWISE, Bench
from tests.system.paths import needs_paths, numbers, packets, write_path_experiment

from trialwise import study
from trialwise.errors import PlanError

pytestmark = [needs_paths, pytest.mark.alone]


def namespace_of(process: Path) -> str | None:
    try:
        return str((process / "ns/net").readlink())
    except OSError:
        return None


def processes_in(namespaces: set[str]) -> list[Path]:
    """The processes inside network namespaces."""
    return [process for process in Path("/proc").glob("[0-9]*") if namespace_of(process) in namespaces]


def namespaces_below(parent: int) -> set[str]:
    """The network namespaces of the descendants of a process that are not its own."""
    parents: dict[int, list[int]] = {}
    for process in Path("/proc").glob("[0-9]*"):
        try:
            above = int((process / "stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
        parents.setdefault(above, []).append(int(process.name))
    found: set[str | None] = set()
    below = [parent]
    while below:
        children = parents.get(below.pop(), [])
        found |= {namespace_of(Path(f"/proc/{child}")) for child in children}
        below += children
    return {name for name in found if name} - {str(namespace_of(Path(f"/proc/{parent}")))}


def test_one_flow_fills_its_path_and_every_packet_is_there(bench: Bench):
    metrics = "".join(
        f"[metrics.{name}]\n"
        for name in (
            "throughput",
            "delay",
            "queueing_delay",
            "loss",
            "utilization",
            "fairness",
            "pantheon_throughput",
            "pantheon_delay",
            "pantheon_loss",
            "pantheon_utilization",
        )
    )
    assert write_path_experiment(bench, metrics=metrics).run().counts == {"finished": 1}
    assert not namespaces_below(os.getpid())
    found, rows = numbers(bench), packets(bench)
    data = rows.filter(
        (pl.col("direction") == "uplink") & (pl.col("event") == "delivered") & pl.col("time").is_between(0, 2)
    )
    assert found["path:throughput|bin:0.1"] == pytest.approx(data["size"].sum() * 8 / 2 / 1e6, rel=1e-3)
    assert 6 < found["path:throughput|bin:0.1"] < 12.01
    assert found["path:utilization"] == pytest.approx(found["path:throughput|bin:0.1"] / 12 * 100, rel=1e-3)
    assert found["path:delay"] == pytest.approx(data["delay"].mean() * 1e3, rel=1e-3)
    assert found["path:delay"] - found["path:queueing_delay"] == pytest.approx(10)
    assert 11 <= found["path:pantheon_delay"] <= 10 + 42 * 1.1, "the queue holds 40 packets of 1 ms"
    assert found["path:fairness"] == 1
    assert found["path:loss"] <= found["path:pantheon_loss"], "Pantheon counts those in flight"
    assert found["emulator:unlogged"] == 0
    assert data["delay"].min() >= 0.010


def test_a_trial_costs_what_the_programs_of_its_flows_and_the_emulator_use(bench: Bench):
    write_path_experiment(bench, runtime="4s")
    sender = bench.folder / "schemes/sender.py"
    works = "import time\nheld = bytearray(48 << 20)\nwhile time.process_time() < 0.2:\n    pass\n"
    sender.write_text(works + sender.read_text())
    assert bench.run().counts == {"finished": 1}
    found = numbers(bench)
    emulator = 4 * found["emulator:processor_share"]
    assert 0.2 + emulator < found["instrument:user"] + found["instrument:system"] < 4 + 2 * emulator
    assert 48 << 20 < found["instrument:max_rss"] < 128 << 20


def test_what_the_machine_spoilt_is_run_anew(bench: Bench, monkeypatch):
    spoilt, quiet = bench.folder / "spoilt.toml", bench.folder / "experiment.toml"
    spoilt.write_text(write_path_experiment(bench, lateness="100ns").file.read_text())
    write_path_experiment(bench, runtime="1s")
    files = [spoilt, spoilt, quiet]
    ran = study.run
    monkeypatch.setattr(study, "run", lambda _, directory, **more: ran(files.pop(0), directory, **more))
    assert bench.run().counts == {"finished": 1}
    assert not files


def test_flows_start_one_after_the_other_and_share(bench: Bench):
    trial = 'flows = [{ scheme = "plain-cubic" }, { scheme = "plain-reno", start = "1s" }]'
    metrics = (
        '[metrics.throughput]\n[metrics.second]\nquantity = "throughput"\nflow = 2\n[metrics.fairness]\n'
    )
    write_path_experiment(bench, trial=trial, metrics=metrics, runtime="3s").run()
    found, rows = numbers(bench), packets(bench)
    assert set(rows["flow"].unique()) <= {0, 1, 2}
    first = rows.filter(pl.col("flow") == 2)["time"].min()
    assert 1 <= first < 2
    own = rows.filter(
        (pl.col("flow") == 2) & (pl.col("direction") == "uplink") & (pl.col("event") == "delivered")
    )
    own = own.filter(pl.col("time") < 3)["size"].sum() * 8 / 2 / 1e6
    assert found["path:throughput|flow:2|bin:0.1"] == pytest.approx(own, rel=1e-3)
    assert 0.5 < found["path:fairness"] <= 1


def test_a_flow_that_is_further_away_has_a_longer_way_both_ways(bench: Bench):
    """Of the same path, each packet of the second flow takes 30 ms more, and each of its acknowledgements too."""
    trial = 'flows = [{ scheme = "plain-cubic" }, { scheme = "plain-cubic", delay = "30ms" }]'
    metrics = "".join(
        f'[metrics.{quantity}{flow}]\nquantity = "{quantity}"\nflow = {flow}\n'
        for quantity in ("delay", "queueing_delay")
        for flow in (1, 2)
    )
    write_path_experiment(
        bench, trial=trial, metrics=metrics, path='{ rate = "100Mbit/s", delay = "10ms" }'
    ).run()
    rows = packets(bench).filter(pl.col("event") == "delivered")
    for direction in ("uplink", "downlink"):
        way = rows.filter(pl.col("direction") == direction)
        near, far = (way.filter(pl.col("flow") == flow)["delay"].min() for flow in (1, 2))
        assert 0.010 <= near < 0.030
        assert 0.040 <= far < 0.060
    found = numbers(bench)
    assert found["path:delay|flow:2"] - found["path:queueing_delay|flow:2"] == pytest.approx(40)
    assert found["path:delay|flow:1"] - found["path:queueing_delay|flow:1"] == pytest.approx(10)


def test_data_of_a_downlink_flow_come_back_over_the_downlink(bench: Bench):
    trial = 'flows = [{ scheme = "plain-cubic", direction = "downlink" }]'
    path = (
        '{ rate = "12Mbit/s", delay = "5ms", downlink = { rate = "3Mbit/s", queue = "droptail:packets=20" } }'
    )
    write_path_experiment(bench, trial=trial, path=path).run()
    assert 1.5 < numbers(bench)["path:throughput|bin:0.1"] < 3.01


def test_a_warm_up_is_cut_from_series_and_single_numbers_alike(bench: Bench):
    metrics = "[metrics.throughput]\n[metrics.utilization]\n"
    write_path_experiment(bench, metrics=metrics)
    text = bench.file.read_text()
    bench.file.write_text(text.replace('runtime = "2s"', 'runtime = "2s"\nwarmup = "1s"'))
    bench.run()
    analysis = study.analyse(bench.directory)
    throughput, utilization = (metric.trials[0].value for metric in analysis.metrics)
    assert throughput is not None
    assert utilization == pytest.approx(throughput / 12 * 100, rel=1e-3)
    assert throughput > 8, "the start was slower"


def test_levels_reach_the_path(bench: Bench):
    rest = "[factors]\nrate = [3, 6]\n"
    path = '{ rate = "{rate}Mbit/s", delay = "5ms", queue = "droptail:packets=20" }'
    assert write_path_experiment(bench, rest=rest, path=path).run().counts == {"finished": 2}
    rates = {
        row.factors["rate"]: numbers(bench, row.number)["path:throughput|bin:0.1"] for row in bench.rows()
    }
    assert 1.5 < rates[3] < 3.01
    assert 3.1 < rates[6] < 6.01


def test_an_emulator_that_was_late_makes_the_trial_invalid(bench: Bench):
    write_path_experiment(bench, lateness="100ns")
    assert study.run(bench.file, bench.directory).counts == {"invalid": 1}
    assert bench.is_spoilt
    assert bench.command_line("run", bench.file, "--directory", bench.directory).returncode == 4


def test_named_paths_ship(bench: Bench):
    write_path_experiment(bench, path="pantheon:policer-12", runtime="1s")
    assert bench.run().counts == {"finished": 1}
    write_path_experiment(bench, path="pantheon:policer-13")
    with pytest.raises(PlanError, match="did you mean pantheon:policer-12"):
        study.run(bench.file, bench.folder / "other")


def test_a_path_of_traces_beside_the_experiment(bench: Bench):
    (bench.folder / "up.trace").write_text("1\n2\n3\n4\n6\n")
    path = '{ rate = "trace:up.trace", delay = "5ms", queue = "droptail:packets=50" }'
    write_path_experiment(bench, path=path).run()
    assert 5 < numbers(bench)["path:throughput|bin:0.1"] < 10.01
    assert (bench.directory / "up.trace").read_text() == "1\n2\n3\n4\n6\n"
    assert "TCP cubic" in (bench.directory / "schemes/plain-cubic.toml").read_text()


@pytest.mark.parametrize(
    ("content", "said"),
    [("", "empty"), ("3\n2\n", "2"), ("-1\n", "-1"), ("x\n", "x"), (None, "nowhere.trace")],
    ids=["empty", "unsorted", "negative", "no number", "absent"],
)
def test_a_trace_that_is_none_is_refused_before_anything_runs(bench: Bench, content: str | None, said: str):
    if content is not None:
        (bench.folder / "nowhere.trace").write_text(content)
    write_path_experiment(bench, path='{ rate = "trace:nowhere.trace" }')
    with pytest.raises(PlanError, match=said):
        bench.run()
    assert not bench.directory.exists()


@pytest.mark.parametrize("ending", [signal.SIGKILL, signal.SIGTERM])
def test_a_killed_runner_leaves_nothing_and_goes_on(bench: Bench, ending: signal.Signals):
    write_path_experiment(bench, runtime="5s")
    runner = subprocess.Popen(
        [*TRIALWISE, "run", str(bench.file), "--directory", str(bench.directory)], stderr=subprocess.DEVNULL
    )
    deadline = time.monotonic() + 60
    while len(inside := namespaces_below(runner.pid)) < 2 or not processes_in(inside):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    time.sleep(0.5)
    runner.send_signal(ending)
    runner.wait(timeout=60)
    deadline = time.monotonic() + 30
    while left := processes_in(inside):
        assert time.monotonic() < deadline, left
        time.sleep(0.02)
    assert bench.run().counts.get("finished") == 1


def test_schemes_of_our_own_keep_to_the_mtu_of_the_path(bench: Bench):
    path = '{ rate = "12Mbit/s", delay = "5ms", queue = "droptail:packets=40", mtu = 1280 }'
    write_path_experiment(bench, trial='scheme = "udp-cubic"', path=path, runtime="1s")
    assert bench.run().counts == {"finished": 1}
    assert packets(bench)["size"].max() == 1280
