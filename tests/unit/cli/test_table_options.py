"""What the options of tables make of a file: by metric, of finished KPIs, of one run, in every dialect."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from trialwise import statistics
from trialwise.cli.analyze import analyze
from trialwise.cli.by_metric import by_metric, directions
from trialwise.cli.compare import compare
from trialwise.cli.effects import EffectsColumns, effects
from trialwise.cli.main import app
from trialwise.cli.order import order
from trialwise.cli.profile import profile
from trialwise.cli.reading import ReadingOptions
from trialwise.cli.runtime import runtime
from trialwise.cli.tables import TableOptions, analysis_of, source_of
from trialwise.errors import AnalysisError, StoreError, TrialwiseError

CASES = Path(__file__).parents[4] / "shared" / "cases"
KPIS = [0.708, 0.703, 0.668, 0.657, 0.667, 0.666, 0.658, 1.019, 0.63, 0.918, 0.619, 0.95, 0.935, 0.63, 0.62]


def of(path, method="default", **options):
    table = TableOptions(**options)
    return analysis_of(source_of([path], table, ReadingOptions()), table, method)


def test_options_belong_to_metrics():
    names = ("rate", "delay")
    assert by_metric(("a", "delay=b"), names, "--unit") == {"rate": ("a",), "delay": ("b",)}
    assert by_metric(("percentile=5", "delay=percentile=95"), names, "--objective", ("percentile",)) == {
        "rate": ("percentile=5",),
        "delay": ("percentile=95",),
    }
    with pytest.raises(TrialwiseError, match=r"--unit dely=…: there is no such metric") as raised:
        by_metric(("dely=ms",), names, "--unit")
    assert raised.value.hint == "there are: rate, delay"
    assert directions(()) is None
    with pytest.raises(TrialwiseError, match="higher or lower"):
        directions(("up",))


def test_each_metric_has_objectives_limits_and_a_direction_of_its_own(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(
        "rate,delay\n" + "".join(f"{10 + place},{20 - place}\n" for place in (3, 1, 4, 2, 5, 0, 6))
    )
    found = of(
        path,
        value=("rate", "delay"),
        objective=("percentile=25,confidence=75", "delay=percentile=75,confidence=75"),
        better=("rate=higher", "delay=lower"),
        unit=("Mbit/s", "delay=ms"),
        limits=("delay=0,100",),
        measure=(),
    )
    rate, delay = (one.metric for one in found.metrics)
    assert [(kpi.percentile, kpi.bound) for kpi in rate.kpis] == [(25, "lower")]
    assert [(kpi.percentile, kpi.bound) for kpi in delay.kpis] == [(75, "upper")]
    assert (rate.unit, rate.better, rate.limits) == ("Mbit/s", "higher", None)
    assert (delay.unit, delay.better, delay.limits) == ("ms", "lower", (0, 100))
    for wrong in ("delay=5", "delay=5,1", "delay=0,inf", "delay=a,b"):
        with pytest.raises(AnalysisError, match="--limits"):
            of(path, value=("delay",), limits=(wrong,))


def test_finished_kpis_have_a_score(tmp_path, capsys):
    path = tmp_path / "kpis.csv"
    path.write_text("Speed_s\n" + "".join(f"{value}\n" for value in KPIS))
    score = of(path, value=("Speed_s",), variability=("75,95",)).metrics[0].variability[0]
    # By the binomial law of 15 KPIs, 95 % bounds on the 25th and 75th percentile are the extremes: TriScale's 0.40 s.
    assert score.result.score == pytest.approx(max(KPIS) - min(KPIS)) == pytest.approx(0.4)
    assert (score.kpi, score.n, score.descriptive) == (None, 15, False)
    analyze(path, table=TableOptions(value=("Speed_s",), variability=("75,95",)), full=True)
    printed = capsys.readouterr().out
    assert "between 0.619 and 1.019" in " ".join(printed.split())
    assert "Nothing is claimed" not in printed
    analyze(path, table=TableOptions(value=("Speed_s",), variability=("75,95",)), json=True)
    assert json.loads(capsys.readouterr().out)["metrics"][0]["variability"][0]["kpi"] is None
    analyze(path, table=TableOptions(value=("Speed_s",), variability=("75,95",)), latex=True)
    assert "variability" in capsys.readouterr().out.lower()


def test_a_file_that_is_one_run_is_one_trial(tmp_path, capsys):
    rng = np.random.default_rng(4)
    values = np.round(40 + 5 * rng.random(1000), 3)
    path = tmp_path / "run.csv"
    path.write_text(
        "time(s),delay\n" + "".join(f"{place / 100},{value}\n" for place, value in enumerate(values))
    )
    options = {"value": ("delay",), "measure": ("p95",), "convergence": ("95,5",)}
    (trial,) = of(path, **options).metrics[0].trials
    assert trial.samples == 1000
    assert trial.value == pytest.approx(np.percentile(values, 95))
    assert trial.converged is True
    analyze(path, table=TableOptions(**options))
    printed = " ".join(capsys.readouterr().out.split())
    assert re.search(
        r"The one trial has a 95th percentile of delay of 44\.\d+ \(1000 samples\)\. It converged", printed
    )
    assert "the times of samples are those of time(s)" in printed
    assert len(of(path, value=("delay",)).metrics[0].trials) == 1000


def test_a_percentile_is_spelled_alike_in_the_library():
    values = np.arange(200.0)
    assert statistics.trial_metric(values, "p95").value == statistics.trial_metric(values, 95).value
    with pytest.raises(ValueError, match="allowed"):
        statistics.trial_metric(values, "q95")


def test_a_runtime_longer_than_every_pilot_is_no_advice(tmp_path, capsys):
    rng = np.random.default_rng(1)
    path = tmp_path / "pilot.csv"
    path.write_text(
        "t,v\n" + "".join(f"{place},{value}\n" for place, value in enumerate(rng.normal(1, 2, 400)))
    )
    runtime(path, json=True, tolerance=1)
    found = json.loads(capsys.readouterr().out)
    assert (found["runtime"], found["runtime_line"]) == (None, None)
    assert "longest pilot" in found["reason"] or "longer than any pilot" in found["reason"]


def test_every_command_reads_every_dialect(tmp_path, capsys):
    lines = ["treatment;round;position;when;value"]
    for number in range(48):
        name = "ab"[number % 2]
        lines.append(
            f"{name};{number // 2};{number % 2};{13 + number // 4:02}.0{1 + number % 9}.2024 10:00;{number % 7},{number}"
        )
    path = tmp_path / "t.csv"
    path.write_bytes("\r\n".join(["# a remark", *lines]).encode("utf-16"))
    other = tmp_path / "other.csv"
    other.write_text("\n".join(lines).replace(",", "."))
    table = TableOptions(value=("value",), group=("treatment",), time="when")
    for one in (path, other):
        assert analyze(one, table=table) == 0
        effects(one, columns=EffectsColumns(group=("treatment",), value=("value",)))
        order(one)
        assert profile(one, time="when", value="value") == 0
        assert runtime(one, value="value") == 0
    assert compare(path, other) == 0
    printed = capsys.readouterr().out
    assert "decimal commas" in printed
    assert compare(path, other, json=True) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert all(len(set(row["difference"]["means"])) == 1 for row in rows if row["difference"])


def test_options_of_dialects_reach_the_reader(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("1:1.234\n2:lost\n3:2.345\n")
    reading = ReadingOptions(delimiter=":", decimal=",", missing=("lost",), header=False)
    table = TableOptions(value=("column_2",))
    found = analysis_of(source_of([path], table, reading), table, "default", reading=reading)
    assert [trial.value for trial in found.metrics[0].trials] == [1234, 2345]
    for wrong in ("", "ab", '"'):
        with pytest.raises(TrialwiseError, match="--delimiter"):
            ReadingOptions(delimiter=wrong).dialect()
    with pytest.raises(TrialwiseError, match="neither a pattern nor known"):
        ReadingOptions(time_format="yyyy").dialect()


@pytest.mark.parametrize(("option", "header"), [("--no-header", False), ("--header", True)])
def test_whether_there_is_a_header_can_be_said(option, header):
    _, bound, _ = app.parse_args(["profile", "t.csv", option])
    assert bound.kwargs["reading"].header is header


def test_folders_say_what_they_hold(tmp_path):
    for number in range(3):
        (tmp_path / f"{number}.json").write_text('{"start": 1, "intervals": []}')
    for read in (lambda: of(tmp_path, value=("x",)), lambda: order(tmp_path), lambda: runtime(tmp_path)):
        with pytest.raises(
            StoreError,
            match="no ledger here: the folder is not an experiment directory, and holds 3 files: JSON",
        ):
            read()


def test_what_compare_reads_the_others_say(tmp_path):
    path = tmp_path / "hf.json"
    path.write_text('{"results": [{"command": "true", "times": [1.0]}]}')
    with pytest.raises(AnalysisError, match="is what hyperfine writes, no table") as raised:
        runtime(path)
    assert raised.value.hint == "`trialwise compare` reads it"
    with pytest.raises(AnalysisError, match="does not say when each trial ran"):
        profile(path)
    with pytest.raises(AnalysisError, match="URLs are not read"):
        analyze(Path("https://example.org/x.tar.xz"))


@pytest.mark.skipif(not CASES.exists(), reason="needs ../shared")
def test_triscale_finds_73_of_85_series_independent_within_its_limits():
    found = of(
        CASES / "tables" / "metrics_wo_convergence.csv",
        "paper",
        value=("throughput_value",),
        group=("cc",),
        series="datetime",
        objective=("percentile=50,confidence=75",),
        limits=("0,120",),
    )
    tests = found.metrics[0].independence
    assert len(tests) == 85
    assert sum(test.result is not None and test.result.independent is True for test in tests) == 73
