"""`analyze` and `report` on results of a Pantheon test: the summary that Pantheon's own report has, from a folder or an archive."""

from __future__ import annotations

import json
import re
import statistics
import tarfile
from pathlib import Path

import pytest

from trialwise.cli.analyze import analyze
from trialwise.cli.report import report
from trialwise.cli.tables import TableOptions
from trialwise.errors import AnalysisError

RUNS = {
    "cubic": [(9.5, 60.0, 0.01), (9.1, 64.0, 0.02), (9.3, 61.0, 0.0)],
    "vegas": [(4.0, 40.0, 0.0), (4.4, 39.0, 0.0), (4.1, 41.0, 0.005)],
}
"""Scheme: Mbit/s, ms and share lost of each run."""


@pytest.fixture(params=["folder", "archive"])
def results(request, tmp_path: Path) -> Path:
    folder = tmp_path / "nepal"
    folder.mkdir()
    perf = {
        scheme: {
            str(run): {"all": dict(zip(("tput", "delay", "loss"), values, strict=True))}
            for run, values in enumerate(runs, 1)
        }
        for scheme, runs in RUNS.items()
    }
    (folder / "pantheon_perf.json").write_text(json.dumps(perf))
    (folder / "pantheon_metadata.json").write_text(json.dumps({"runtime": 30}))
    if request.param == "folder":
        return folder
    with tarfile.open(tmp_path / "nepal.tar.xz", "w:xz") as archive:
        archive.add(folder, "nepal")
    return tmp_path / "nepal.tar.xz"


def test_analyze_has_the_medians_of_every_scheme(results: Path, capsys):
    assert analyze(results) == 0
    printed = capsys.readouterr().out
    assert "Runs of 30 s: 6 valid trials." in printed
    for scheme, runs in RUNS.items():
        row = next(line.split() for line in printed.splitlines() if line.split()[:1] == [f"scheme={scheme}"])
        medians = [statistics.median(each) for each in zip(*runs, strict=True)]
        found = [float(cell) for cell in row[-3:]]
        assert row[1:3] == ["all", "3"]
        assert found == pytest.approx([medians[0], medians[1], 100 * medians[2]], rel=1e-3)


def test_an_objective_bounds_on_the_side_that_each_metric_has(results: Path, capsys):
    analyze(results, table=TableOptions(objective=("percentile=50,confidence=75",)), json=True)
    document = json.loads(capsys.readouterr().out)
    bounds = {
        found["metric"]["name"]: {kpi["objective"]["bound"] for kpi in found["kpis"]}
        for found in document["metrics"]
    }
    assert bounds == {
        "pantheon_throughput": {"lower"},
        "pantheon_delay": {"upper"},
        "pantheon_loss": {"upper"},
    }
    plane = document["path"]["planes"][0]
    means = {
        region["treatment"]: (region["mean_throughput"], region["mean_delay"]) for region in plane["regions"]
    }
    for scheme, runs in RUNS.items():
        throughput, delay, _ = zip(*runs, strict=True)
        expected = (statistics.fmean(throughput), statistics.fmean(delay))
        assert means[f"scheme={scheme}"] == pytest.approx(expected)


def test_the_report_stands_beside_what_others_made(results: Path):
    before = set(results.iterdir()) if results.is_dir() else set()
    assert report(results) == 0
    name = "nepal.report.html" if results.is_dir() else "nepal.tar.report.html"
    page = results.with_name(name).read_text()
    assert (set(results.iterdir()) if results.is_dir() else set()) == before
    assert "Runs of 30 s: 6 valid trials." in page
    for text in ("cubic", "vegas", "pantheon_throughput", "results of Pantheon do not say in which order"):
        assert text in page
    assert not re.search(r"emulator was the bottleneck|by its own account", page)


def test_options_of_tables_are_refused(results: Path):
    with pytest.raises(AnalysisError, match="whose columns are known"):
        analyze(results, table=TableOptions(group=("scheme",)))
    with pytest.raises(AnalysisError, match="no metric 'rtt'"):
        analyze(results, table=TableOptions(value=("rtt",)))
