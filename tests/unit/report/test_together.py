"""The plane of two KPIs and the matrix of scores show the numbers of SciPy, of any table; so does the slope's interval."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from in_process import trialwise
from trialwise.analysis.results import Analysis
from trialwise.analysis.table import TableColumns, analyse_table
from trialwise.errors import AnalysisError
from trialwise.experiment.model import Convergence, Kpi, Metric, Variability
from trialwise.experiment.sources import TextSource
from trialwise.report.document import Figure
from trialwise.report.figures.plot_data import ColumnData, unpacked
from trialwise.report.figures.together import together_figures

SERIES, TRIALS = 6, 10
RNG = np.random.default_rng(5)
DRAWN = {
    (scheme, series): (RNG.normal(40 + 10 * place, 3, TRIALS), RNG.normal(80 - 20 * place, 5, TRIALS))
    for place, scheme in enumerate(("reno", "<b>cubic</b>"))
    for series in range(SERIES)
}


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("together") / "runs.csv"
    rows = [
        f"{scheme},{series},{rate!r},{delay!r}\n"
        for (scheme, series), values in DRAWN.items()
        for rate, delay in zip(*map(np.ndarray.tolist, values), strict=True)
    ]
    path.write_text("scheme,series,rate,delay\n" + "".join(rows))
    return path


def metric(path: Path, name: str, kpi: Kpi, better: str) -> Metric:
    score = Variability(50, 75)
    source = TextSource(path=str(path), csv=name)
    return Metric(name=name, source=source, kpis=(kpi,), better=better, variability=score)


@pytest.fixture(scope="module")
def analysis(table: Path) -> Analysis:
    metrics = [
        metric(table, "rate", Kpi(25, 75, "lower"), "higher"),
        metric(table, "delay", Kpi(75, 75, "upper"), "lower"),
    ]
    return analyse_table(table, TableColumns(("scheme",), "series"), metrics)


def drawn(analysis: Analysis, pairs=()) -> tuple[list[Figure], list[dict[str, object]]]:
    sheets: dict[str, ColumnData] = {}
    figures = list(together_figures(analysis, sheets, pairs))
    return figures, [row for sheet in sheets.values() for row in unpacked(sheet)]


def lower_bound(values: np.ndarray, share: float, confidence: float) -> float:
    interval = stats.quantile_test(values, p=share, alternative="greater").confidence_interval(confidence)
    return float(interval.low)


def test_the_plane_has_the_bounds_of_both_kpis(analysis: Analysis):
    (plane, _), rows = drawn(analysis)
    assert (plane.key, plane.file) == ("plane-delay-rate", "plane-delay-rate")
    assert "at least 50 % (Bonferroni)" in plane.caption
    heads = {(row["treatment"], row["series"]): row for row in rows if "x" in row and row.get("standing")}
    for (scheme, series), (rate, delay) in DRAWN.items():
        head = heads[scheme, str(series)]
        assert head["y"] == pytest.approx(lower_bound(rate, 0.25, 0.75), rel=1e-6)
        assert head["x"] == pytest.approx(-lower_bound(-delay, 0.25, 0.75), rel=1e-6)


def test_what_is_better_if_it_is_lower_falls_to_the_right(analysis: Analysis):
    (plane, *_), _ = drawn(analysis, [("delay", "rate")])
    encodings = plane.spec["layer"][0]["encoding"]
    assert encodings["x"]["scale"]["reverse"] is True
    assert encodings["y"]["scale"]["reverse"] is False
    (turned, *_), _ = drawn(analysis, [("rate", "delay")])
    assert turned.spec["layer"][0]["encoding"]["y"]["scale"]["reverse"] is True


def test_the_matrix_has_the_ranges_of_the_kpis(analysis: Analysis):
    (_, matrix), rows = drawn(analysis)
    assert matrix.file == "scores"
    scores = {(row["treatment"], row["metric"]): row for row in rows if "score" in row}
    assert len(scores) == 4
    for scheme in ("reno", "<b>cubic</b>"):
        kpis = np.array([lower_bound(DRAWN[scheme, series][0], 0.25, 0.75) for series in range(SERIES)])
        low = lower_bound(kpis, 0.5, 0.75)
        high = -lower_bound(-kpis, 0.5, 0.75)
        row = scores[scheme, "rate"]
        assert row["score"] == pytest.approx(high - low, rel=1e-6)
        assert row["share"] == pytest.approx(100 * (high - low) / ((high + low) / 2), rel=1e-6)


def test_a_metric_that_cannot_span_a_plane_is_refused(analysis: Analysis, table: Path):
    with pytest.raises(AnalysisError, match="there is no such metric") as refused:
        drawn(analysis, [("delay", "speed")])
    assert refused.value.hint == "there are: rate, delay"
    words = ["--value", "rate", "--value", "delay", "--group", "scheme", "--out", "r.html"]
    done = trialwise("report", table, *words, "--plane", "delay,rate", cwd=table.parent)
    assert done.returncode == 7
    assert "has no KPI" in done.stderr
    done = trialwise("report", table, *words, "--plane", "delay", cwd=table.parent)
    assert (done.returncode, "expected two metrics" in done.stderr) == (2, True)


def test_the_report_of_a_table_has_both(table: Path, tmp_path: Path):
    words = ["--value", "rate", "--value", "delay", "--group", "scheme", "--series", "series"]
    words += ["--objective", "percentile=25,confidence=75", "--variability", "50,75", "--plane", "rate,delay"]
    done = trialwise("report", table, *words, "--out", "r.html", "--svg", "figures", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    written = {path.name for path in (tmp_path / "figures").iterdir()}
    assert {"plane-rate-delay.svg", "scores.svg"} <= written
    assert "Metrics together" in (tmp_path / "r.html").read_text()


@pytest.mark.parametrize("method", ["paper", "default"])
def test_the_interval_of_the_slope_is_that_of_the_test(tmp_path: Path, method: str):
    path = tmp_path / "samples.csv"
    values = np.random.default_rng(2).normal(50, 4, 4000) + np.linspace(0, 1, 4000)
    path.write_text("t,v\n" + "".join(f"{n / 100},{value!r}\n" for n, value in enumerate(values.tolist())))
    asked = Metric(
        name="v",
        source=TextSource(path=str(path), csv="v", time="t"),
        convergence=Convergence(95, 5),
    )
    found = analyse_table(path, TableColumns(time="t", samples=True), [asked], method)
    (trace,) = found.metrics[0].traces
    assert trace.interval is not None
    assert trace.tolerated is not None
    within = -trace.tolerated <= trace.interval[0] and trace.interval[1] <= trace.tolerated
    assert within == trace.converged
    if method == "paper":  # Sen's interval, for the whole trial
        slopes = stats.theilslopes(trace.batches, trace.batch_starts, 0.95)
        length = trace.batch_starts[-1] - trace.batch_starts[0]
        assert trace.interval == pytest.approx((length * slopes.low_slope, length * slopes.high_slope))
