"""The report of a real experiment over a path, from the run to the page in a browser."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from tests.system.conftest import Bench
from tests.system.paths import needs_paths, write_path_experiment

from browser import CHROMIUM, browse, console
from report_page import ReportPage
from trialwise import study
from trialwise.exchange.analysis_json import analysis_document

pytestmark = [needs_paths, pytest.mark.alone]

METRICS = """
[metrics.throughput]
kpi = { percentile = 50, confidence = 75 }
[metrics.delay]
measure = "p95"
kpi = { percentile = 50, confidence = 75 }
[metrics.loss]
"""


def test_a_real_run_gives_a_plane_tables_and_a_printed_report(bench: Bench) -> None:
    write_path_experiment(
        bench,
        trial='scheme = "{scheme}"',
        rest='[factors]\nscheme = ["plain-cubic", "plain-reno"]',
        runtime="1s",
        metrics=METRICS,
        rounds=2,
    )
    scheme = bench.folder / "schemes/plain-reno.toml"
    scheme.write_text('color = "#3366aa"\n' + scheme.read_text())
    bench.run()
    said = bench.command_line("report", bench.directory, "--pdf", bench.folder / "print")
    assert said.returncode == 0, said.stderr
    found = json.loads(json.dumps(analysis_document(study.analyse(bench.directory))))["path"]
    assert found["axes"] == {"throughput": "throughput", "delay": "delay"}
    assert [region["n"] for region in found["planes"][0]["regions"]] == [2, 2]
    for treatment in found["treatments"]:
        (flow,) = treatment["flows"]
        assert 3 < flow["throughput"]["median"] <= 12
        assert 10 < flow["delay"]["median"] < 60
        assert treatment["emulator"]["unlogged"] == 0
    assert {scheme["color"] for scheme in found["schemes"]} == {None, "#3366aa"}
    assert found["paths"][0]["uplink"] == "rate 12Mbit/s, queue droptail:packets=40, delay 10ms"
    page = bench.directory / "report.html"
    assert "#3366aa" in page.read_text()
    assert (bench.folder / "print/report.pdf").stat().st_size > 10_000
    _look_at(page)


def _look_at(page: Path) -> None:
    """Every figure draws itself without a word on the console, where there is a browser."""
    if CHROMIUM is None:
        return
    opened = browse(page, "--dump-dom")
    seen = ReportPage(opened.stdout)
    assert console(opened) == []
    assert {figure.get("data-drawn") for figure in seen.figures} == {"yes"}
    plane = re.search(r'data-figure="plane-0".*?</svg>', opened.stdout, re.DOTALL)
    assert plane is not None
    assert "plain-cubic" in plane[0]
