"""Simulated experiments that run until an interval is narrow: the same bits again, and after a kill."""

from __future__ import annotations

import pytest
from tests.system.conftest import Bench

TEXT = """
[experiment]
name = "flows"
[factors]
scheme = ["dctcp", "hpcc"]
[trial]
kind = "simulation"
scheme = "{scheme}"
topology = "dumbbell:2x2,10Gbit/s,1us"
workload = { sizes = "fixed:20kB", load = "50%", duration = "1ms" }
[metrics.slowdown]
stop = { precision = "8%" }
[metrics.tail]
quantity = "slowdown"
measure = "p90"
stop = { precision = "20%" }
[design]
max_trials = 400
"""


@pytest.fixture(scope="module")
def straight(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    """A run without an interruption, which several tests look at."""
    bench = Bench(tmp_path_factory.mktemp("straight"))
    bench.file.write_text(TEXT)
    bench.run()
    return bench


def test_it_stops_when_every_claim_is_known_and_is_the_same_bits_again(bench: Bench, straight: Bench):
    bench.file.write_text(TEXT)
    done = bench.command_line("run", bench.file, "-d", bench.directory)
    assert done.returncode == 0, done.stderr
    assert "trials in all are expected" in done.stderr
    assert done.stderr.count("everything asked for is known (4 claims)") == 1
    one, two = (each.status(each.directory)["stopping"] for each in (bench, straight))
    assert one["claims"] == two["claims"]
    assert (one["looks"], one["rounds"]) == ("geometric", max(claim["n"][0] for claim in one["claims"]))
    assert {claim["estimand"] for claim in one["claims"]} == {"pooled"}
    assert {claim["convention"] for claim in one["claims"]} == {"", "nearest_rank"}
    assert all(claim["width"] <= claim["target"] and claim["looks"] >= 1 for claim in one["claims"])


def test_a_run_that_was_killed_comes_to_the_same_end(bench: Bench, straight: Bench):
    bench.file.write_text(TEXT)
    bench.kill_while_computing("run", bench.file, "-d", bench.directory)
    bench.run()
    one, two = (each.status(each.directory)["stopping"] for each in (straight, bench))
    assert (one["claims"], one["rounds"]) == (two["claims"], two["rounds"])


def test_anytime_is_for_the_beginning(bench: Bench, straight: Bench):
    bench.file.write_text(TEXT)
    assert bench.command_line("run", bench.file, "-d", bench.directory, "--anytime", "-q").returncode == 0
    found = bench.status(bench.directory)["stopping"]
    assert found["looks"] == "anytime"
    assert "asymptotic confidence sequence" in found["claims"][0]["method"]
    assert bench.run(anytime=True).ending.reason == "stopped"
    refused = bench.compute("run", straight.file, "-d", straight.directory, "--anytime")
    assert refused.returncode == 2
    assert "has to be there from the beginning" in refused.stderr
    assert straight.status(straight.directory)["stopping"]["looks"] == "geometric"


def test_anytime_needs_something_that_stops(bench: Bench):
    bench.file.write_text("\n".join(line for line in TEXT.splitlines() if not line.startswith("stop")))
    refused = bench.compute("run", bench.file, "--anytime")
    assert refused.returncode == 2
    assert "nothing says when to stop" in refused.stderr


def test_a_pilot_says_what_a_margin_would_take(bench: Bench):
    bench.file.write_text(TEXT.replace('"8%"', '"0.00001%"'))
    done = bench.command_line("plan", bench.file, "--pilot")
    shown = " ".join(done.stdout.split())
    assert done.returncode == 0, done.stderr
    assert (
        "slowdown scheme=hpcc: mean of all samples ±0.00001 %: more than 1,000,000,000 trials ! max_trials is"
        in shown
    )
    assert "tail scheme=hpcc: p90 of all samples ±20 %: " in shown
