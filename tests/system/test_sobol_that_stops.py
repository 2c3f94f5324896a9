"""Simulations of Sobol flow lists that run until an interval is narrow: whole blocks of rounds are what is looked at."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.system.conftest import Bench

from trialwise.errors import PlanError
from trialwise.experiment.reading import parse_experiment

TEXT = """
[experiment]
name = "blocks"
[trial]
kind = "simulation"
scheme = "dctcp"
topology = "dumbbell:2x2,10Gbit/s,1us"
workload = { sizes = "fixed:20kB", load = "50%", duration = "300us", sampling = "sobol" }
[metrics.slowdown]
stop = { precision = "5%" }
[metrics.each]
quantity = "slowdown"
estimand = "per_trial"
stop = { precision = "5%" }
[metrics.tail]
quantity = "slowdown"
measure = "p90"
stop = { precision = "10%" }
"""


def test_it_stops_at_whole_blocks_and_says_what_they_gain(bench: Bench):
    bench.file.write_text(TEXT)
    done = bench.command_line("run", bench.file, "-d", bench.directory, "-q")
    assert done.returncode == 0, done.stderr
    found = bench.status()
    analysed = json.loads(bench.compute("analyze", bench.directory, "--json").stdout)["estimation"]
    own = {each["metric"]: each["own"] for each in analysed["estimates"]}
    assert found["stopping"]["rounds"] == max(claim["n"][0] for claim in found["stopping"]["claims"])
    for claim in found["stopping"]["claims"]:
        (n,) = claim["n"]
        assert claim["state"] == "decided"
        assert n >= 8 * 256
        assert n % 256 == 0
        assert claim["width"] <= claim["target"]
        assert f"{n // 256} blocks of 256 trials, each a scrambled Sobol sample" in claim["note"]
        if n == found["stopping"]["rounds"]:  # what the fixed design says of the same blocks
            assert claim["estimate"] == pytest.approx(own[claim["metric"]]["estimate"])
            assert claim["note"].startswith(own[claim["metric"]]["note"])


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (('precision = "5%"', 'precision = "5%", controls = "workload"'), "drawn each by itself"),
        (("[metrics.slowdown]", '[design]\nlooks = "anytime"\n[metrics.slowdown]'), "rule judges no blocks of 256 rounds"),
        (("[metrics.slowdown]", "[design]\nrounds = 2100\n[metrics.slowdown]"), "whole blocks of 256"),
    ],
)  # fmt: skip
def test_what_does_not_go_with_blocks_says_what_does(change: tuple[str, str], said: str):
    with pytest.raises(PlanError, match=said) as refused:
        parse_experiment(TEXT.replace(*change), Path("made.toml"))
    assert refused.value.hint
