"""The example of a matrix of harm, with fewer and shorter trials, and its numbers once more from the values of the trials."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import fmean

import pytest
from tests.system.conftest import Bench

EXAMPLE = Path(__file__).parents[2] / "examples" / "competition" / "experiment.toml"
SCHEMES = ("udp-newreno", "udp-cubic", "udp-copa", "udp-ledbat")


def test_the_example_tells_who_harms_whom(bench: Bench) -> None:
    text = EXAMPLE.read_text()
    for key, value in {"rounds = 10": "rounds = 3", 'runtime = "35s"': 'runtime = "25s"'}.items():
        assert key in text
        text = text.replace(key, value)
    bench.file.write_text(text)
    done = bench.command_line("run", bench.file, "-d", bench.directory)
    assert done.returncode == 0, done.stderr
    found = json.loads(bench.compute("analyze", bench.directory, "--json").stdout)
    harm = found["path"]["harm"]
    assert (harm["factor"], harm["flows"], harm["family"]) == ("beside", [2], 2 * (16 + 12))
    values: dict[tuple[str, str, str], list[float]] = {}
    for metric in found["metrics"]:
        for trial in metric["trials"]:
            place = metric["metric"]["name"], trial["factors"]["scheme"], trial["factors"]["beside"]
            values.setdefault(place, []).append(trial["value"])
    cells = {(cell["metric"], cell["name"], cell["other"]): cell for cell in harm["cells"]}
    assert cells.keys() == {
        (metric, scheme, other)
        for metric in ("throughput", "delay")
        for scheme in SCHEMES
        for other in SCHEMES
    }
    for (metric, scheme, other), cell in cells.items():
        alone, beside = (fmean(values[metric, scheme, rival]) for rival in ("none", other))
        wanted = (alone - beside) / alone if metric == "throughput" else (beside - alone) / beside
        assert cell["harm"] == pytest.approx(wanted)
        if cell["low"] is None:  # the delays of a full queue, to the packet
            assert "no trial differs from another" in cell["reason"]
        else:
            assert cell["low"] <= cell["harm"] <= cell["high"]
    # Copa alone keeps the queue short; CUBIC fills it for both. Equal flows take half from each other.
    assert cells["delay", "udp-copa", "udp-cubic"]["harm"] > 0.5
    assert cells["delay", "udp-copa", "udp-cubic"]["than_itself"] == "more"
    assert abs(cells["delay", "udp-cubic", "udp-copa"]["harm"]) < 0.1
    assert cells["throughput", "udp-copa", "udp-copa"]["harm"] == pytest.approx(0.5, abs=0.1)
    shares = [
        flow["share"]["median"]
        for one in found["path"]["treatments"]
        for flow in one["flows"]
        if flow["share"]
    ]
    assert len(shares) == 32
    page = bench.folder / "report.html"
    assert bench.compute("report", bench.directory, "--out", page).returncode == 0
    assert "Who harms whom: throughput" in page.read_text()
