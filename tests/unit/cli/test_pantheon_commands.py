"""`analyze` and `report` on results of a Pantheon test: the summary that Pantheon's own report has, from a folder or an archive."""

from __future__ import annotations

import gzip
import json
import re
import statistics
import tarfile
from datetime import UTC, datetime
from pathlib import Path

import pytest

import in_process
from trialwise.cli.analyze import analyze
from trialwise.cli.order import ColumnOptions, order
from trialwise.cli.report import report
from trialwise.cli.tables import TableOptions
from trialwise.errors import AnalysisError
from trialwise.exchange.result_files import read_results

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


@pytest.mark.parametrize("name", ["pantheon_perf.json", "nepal.json", "nepal.json.gz"])
def test_pantheons_file_alone_will_do(tmp_path: Path, name: str, capsys):
    perf = {
        scheme: {
            str(run): {"all": {"tput": t, "delay": d, "loss": loss}}
            for run, (t, d, loss) in enumerate(runs, 1)
        }
        for scheme, runs in RUNS.items()
    }
    content = json.dumps(perf).encode()
    path = tmp_path / name
    path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    assert analyze(path, json=True) == 0
    document = json.loads(capsys.readouterr().out)
    regions = document["path"]["planes"][0]["regions"]
    means = {region["treatment"]: region["mean_throughput"] for region in regions}
    assert means == pytest.approx(
        {f"scheme={scheme}": statistics.fmean(t for t, _, _ in runs) for scheme, runs in RUNS.items()}
    )
    assert report(path) == 0
    page = path.with_name(f"{path.stem}.report.html").read_text()
    assert "results of Pantheon do not say in which order" in page
    with pytest.raises(AnalysisError, match="do not say in which order"):
        order(path)


def test_metadata_alone_are_refused_with_what_to_name(tmp_path: Path):
    path = tmp_path / "pantheon_metadata.json"
    path.write_text(json.dumps({"cc_schemes": ["a"], "run_times": 1, "runtime": 30}))
    for command in (analyze, report, order):
        with pytest.raises(AnalysisError, match=r"is JSON of Pantheon's test\.py") as raised:
            command(path)
        assert raised.value.hint == "name the folder that it lies in"


def with_times(folder: Path, orders: list[str]) -> None:
    """Say that the schemes of each run began in this order, 40 s after each other."""
    moment = 1_700_000_000
    for run, schemes in enumerate(orders, 1):
        for scheme in schemes.split():
            began = datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%d %H:%M:%S")
            (folder / f"{scheme}_stats_run{run}.log").write_text(f"Start at: {began}\nEnd at: {began}\n")
            moment += 40


@pytest.mark.parametrize("results", ["folder"], indirect=True)
def test_the_order_of_runs_is_judged_where_their_times_are_known(results: Path, tmp_path: Path, capsys):
    with_times(results, ["cubic vegas", "vegas bbr cubic", "cubic vegas"])
    packed = tmp_path / "x.tar.xz"
    with tarfile.open(packed, "w:xz") as archive:
        archive.add(results, "nepal")
    for path in (results, packed):
        order(path, json=True, columns=ColumnOptions(metric=("pantheon_delay",)))
        document = json.loads(capsys.readouterr().out)
        assert (document["rounds_fixed"], document["rounds_random"]) == (0, 3)
        assert report(path) == 0
    page = packed.with_name("x.tar.report.html").read_text()
    assert "The order is not judged" not in page
    with pytest.raises(AnalysisError, match="no metric 'rtt'"):
        order(results, columns=ColumnOptions(metric=("rtt",)))
    with pytest.raises(AnalysisError, match="whose columns are known"):
        order(results, columns=ColumnOptions(value="rtt"))


@pytest.mark.parametrize("results", ["folder"], indirect=True)
def test_one_order_in_all_runs_is_a_fixed_order(results: Path, capsys):
    """As Pantheon runs them, even with --random-order; a scheme that is missing once changes no order."""
    with_times(results, ["cubic bbr vegas", "cubic vegas", "cubic bbr vegas"])
    order(results, json=True)
    document = json.loads(capsys.readouterr().out)
    assert (document["rounds_fixed"], document["rounds_random"]) == (3, 0)


@pytest.mark.parametrize("results", ["folder"], indirect=True)
def test_a_run_that_does_not_count_took_its_place(results: Path):
    with_times(results, ["cubic bbr vegas", "cubic vegas bbr", "vegas bbr cubic"])
    table = read_results([results]).order(("pantheon_delay",)).table
    columns = ("round", "position", "treatment", "value", "follows")
    assert list(table.select(columns).iter_rows()) == [
        ("1", 1.0, "scheme=cubic", 60.0, False), ("1", 2.0, "scheme=bbr", None, True),
        ("1", 3.0, "scheme=vegas", 40.0, True), ("2", 1.0, "scheme=cubic", 64.0, False),
        ("2", 2.0, "scheme=vegas", 39.0, True), ("2", 3.0, "scheme=bbr", None, True),
        ("3", 1.0, "scheme=vegas", 41.0, False), ("3", 2.0, "scheme=bbr", None, True),
        ("3", 3.0, "scheme=cubic", 61.0, True),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "words", ["analyze {} --json", "order {} --json", "compare {} --a scheme=cubic --b scheme=vegas --json"]
)
def test_an_import_says_what_the_results_themselves_say(results: Path, tmp_path: Path, words: str):
    """Also which runs took their place without a value, and no change while sizes and times are the same."""
    if results.is_dir():
        with_times(results, ["cubic vegas"] * 3 + ["vegas cubic"])
    place = tmp_path / ("x" * len(results.name))
    done = in_process.trialwise("import", results, "-o", place, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    said = [
        in_process.trialwise(*words.replace("{}", path.name).split(), cwd=tmp_path)
        for path in (results, place)
    ]
    assert said[0].returncode == said[1].returncode
    assert said[0].stdout.replace(results.name, place.name) == said[1].stdout
    assert (
        said[0].stderr.replace(results.name, place.name).splitlines()[-1:] == said[1].stderr.splitlines()[-1:]
    )


def test_an_import_of_a_test_says_that_its_files_have_changed(results: Path, tmp_path: Path):
    assert in_process.trialwise("import", results, "-o", "study", cwd=tmp_path).returncode == 0
    content = results / "pantheon_metadata.json" if results.is_dir() else results
    content.write_bytes(content.read_bytes() + b" ")
    done = in_process.trialwise("analyze", "study", cwd=tmp_path)
    assert "has changed since it was imported" in done.stdout


def test_options_of_tables_are_refused(results: Path):
    with pytest.raises(AnalysisError, match="whose columns are known"):
        analyze(results, table=TableOptions(group=("scheme",)))
    with pytest.raises(AnalysisError, match="no metric 'rtt'"):
        analyze(results, table=TableOptions(value=("rtt",)))
