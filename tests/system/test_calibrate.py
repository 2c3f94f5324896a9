"""A planted path with real packets: what is identified of it, and its example judged as the page of the example says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.system.conftest import EMULATOR_LATE, Bench
from tests.system.paths import needs_paths

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "calibrate-walkthrough" / "experiment.toml"
PLANTED = """
[experiment]
name = "planted"
seed = 7

[factors]
scheme = ["udp-cubic", "udp-newreno"]

[trial]
kind = "path"
scheme = "{scheme}"
runtime = "4s"
lateness = "10s"  # of no importance here: the log has the times of the path
path = { rate = "12Mbit/s", delay = "28ms", uplink = { queue = "droptail:packets=50", loss = "0.2%" } }

[metrics.throughput]
measure = "mean"

[design]
series = 1
rounds = 3
"""


@needs_paths
@pytest.mark.alone
def test_the_parameters_of_a_path_are_identified_from_real_packets(bench: Bench) -> None:
    bench.file.write_text(PLANTED)
    done = bench.command_line("run", bench.file, "-d", bench.directory)
    assert done.returncode == 0, done.stderr
    out = bench.file.with_name("planted.path")
    done = bench.compute("calibrate", bench.directory, "-o", out, "--budget", "60s", "--json")
    assert done.returncode == 0, done.stderr
    found = {one["name"]: one for one in json.loads(done.stdout)["parameters"]}
    for name, planted in {"rate": 12e6, "delay": 0.028, "loss": 0.002}.items():
        assert found[name]["low"] <= planted <= found[name]["high"], found[name]
    if found["queue"]["source"] != "assumed":  # a busy machine may never fill it
        assert found["queue"]["low"] <= 50 <= found["queue"]["high"]


def simulated(bench: Bench) -> Path:
    """Simulate two rounds over the planted path, of CUBIC and Copa."""
    changed = {
        '"udp-newreno"': '"udp-copa"',
        'runtime = "4s"': 'engine = "simulated"\nruntime = "2s"',
        'lateness = "10s"  # of no importance here: the log has the times of the path\n': "",
        ', loss = "0.2%"': "",
        "rounds = 3": "rounds = 2",
    }
    text = PLANTED
    for old, new in changed.items():
        assert old in text
        text = text.replace(old, new)
    bench.file.write_text(text)
    assert bench.command_line("run", bench.file, "-d", bench.directory).returncode == 0
    return bench.directory


@needs_paths
@pytest.mark.alone
def test_the_likest_paths_are_compared_and_judged_with_real_packets(bench: Bench) -> None:
    """The trials to fit to are simulated; a path of their parameters with real packets is not different from it."""
    words = ["--hold-out", "scheme=udp-copa", "--real", "--budget", "60s", "--json"]
    out = bench.file.with_name("real.path")
    done = bench.compute("calibrate", simulated(bench), "-o", out, *words)
    if any(words in done.stderr for words in EMULATOR_LATE):
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["engine"] == "emulated"
    rows = {row["metric"]: row for row in found["judged"]}
    assert rows["throughput"]["n"] == [2, 2]
    assert rows["throughput"]["means"][1] != rows["throughput"]["means"][0]
    assert rows["throughput"]["verdict"] != "different"


def test_the_example_tells_the_path_by_hand_from_a_published_one(bench: Bench) -> None:
    text = EXAMPLE.read_text()
    cuts = {
        "rounds = 10": "rounds = 3",
        'runtime = "30s"': 'runtime = "10s"',
        '"../walkthrough/schemes"': json.dumps(str(ROOT / "examples" / "walkthrough" / "schemes")),
        '  "pantheon:india-aws-india",\n  "pantheon:aws-korea-china",\n  "pantheon:aws-california-mexico",\n': "",
        '  "pantheon:mexico-cellular-aws-california",\n  "pantheon:aws-brazil-colombia-cellular",\n': "",
    }
    for old, new in cuts.items():
        assert old in text
        text = text.replace(old, new)
    bench.file.write_text(text)
    done = bench.command_line("run", bench.file, "-d", bench.directory)
    assert done.returncode == 0, done.stderr
    counts: dict[str, dict[str, int]] = {}
    for name in ("hand", "pantheon:nepal-aws-india"):
        out = bench.file.with_name(f"{name.rpartition(':')[2]}.path")
        printed = ROOT / "examples" / "walkthrough" / "printed" / "nepal.csv"
        judged = bench.compute(
            "calibrate", printed, "--judge", bench.directory, "--b", f"path={name}", "-o", out, "--json"
        )
        assert judged.returncode == 0, judged.stderr
        verdicts = [row["verdict"] for row in json.loads(judged.stdout)["judged"]]
        assert len(verdicts) == 24
        counts[name] = {word: verdicts.count(word) for word in ("equivalent", "different")}
    assert counts["hand"]["equivalent"] >= 3
    assert counts["pantheon:nepal-aws-india"]["equivalent"] == 0
    assert counts["pantheon:nepal-aws-india"]["different"] > 2 * counts["hand"]["different"]
