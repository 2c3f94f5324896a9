"""A notebook gets what the commands print: the same numbers, from every source."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pandas as pd
import polars as pl
import pytest
from scipy import stats

import trialwise as tw
from example_directory import write_example
from in_process import trialwise
from trialwise.errors import AnalysisError, StoreError

RESULTS = Path(__file__).parents[1] / "exchange" / "results"
PASSES = Path(__file__).parents[3] / "docs" / "notebooks" / "hyperfine"


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("example") / "compressors.results"
    return write_example(path, algorithms=("xz", "<script>alert(1)</script>"), rounds=8, series=2)


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("table") / "runs.csv"
    rows = "".join(f"{'ab'[n % 2]},{n % 7 + 0.5 * (n % 2)},{n % 5}\n" for n in range(60))
    path.write_text(f"treatment,value,delay\n{rows}")
    return path


def printed(*words: object, cwd: Path) -> object:
    done = trialwise(*words, "--json", cwd=cwd)
    assert done.stdout.startswith("{"), done.stderr
    return json.loads(done.stdout)


def same(result: tw.Result, expected: object) -> bool:
    return json.loads(json.dumps(result.json())) == expected


def test_a_directory_answers_as_the_commands_do(directory: Path):
    data, here = tw.load(directory), directory.parent
    assert same(data.kpi(), printed("analyze", directory, cwd=here))
    assert same(data.order(), printed("order", directory, cwd=here))
    assert same(
        data.effects(margin="3%", base={"level": "6"}),
        printed("effects", directory, "--margin", "3%", "--base", "level=6", cwd=here),
    )
    assert same(data.aa("speed"), printed("aa", directory, "--metric", "speed", cwd=here))
    sides = ["--a", "level=1", "--b", "level=6", "--margin", "speed=0.5"]
    assert same(
        data.compare(a={"level": "1"}, b={"level": "6"}, margin={"speed": 0.5}),
        printed("compare", directory, *sides, cwd=here),
    )


def test_files_of_another_tool_answer_as_the_commands_do(tmp_path: Path):
    base, head = RESULTS / "hyperfine-base.json", RESULTS / "hyperfine-head.json"
    found = tw.load(base).compare(tw.load(str(head)), margin="3%")
    assert same(found, printed("compare", base, head, "--margin", "3%", cwd=tmp_path))
    both = tw.load(base, head)
    assert both.trials.height == tw.load(base).trials.height + tw.load(head).trials.height
    times = [json.loads(path.read_text())["results"][0]["times"] for path in (base, head)]
    welch = stats.ttest_ind(times[1], times[0], equal_var=False)
    assert found.record.rows[0].difference.p_value == pytest.approx(welch.pvalue)


def test_a_folder_of_files_answers_as_the_commands_do(tmp_path: Path):
    data = tw.load(PASSES)
    expected = printed("analyze", PASSES, "--objective", "percentile=75", cwd=tmp_path)
    assert same(data.kpi(percentile=75), expected)
    assert same(data.effects(margin="5%"), printed("effects", PASSES, "--margin", "5%", cwd=tmp_path))
    sides = ["--a", "program=gzip", "--b", "program=xz"]
    expected = printed("compare", PASSES, *sides, cwd=tmp_path)
    assert same(data.compare(a={"program": "gzip"}, b={"program": "xz"}), expected)
    refused = trialwise("order", PASSES, cwd=tmp_path)
    with pytest.raises(AnalysisError) as error:
        data.order()
    assert error.value.message in " ".join(refused.stderr.split())
    times = [
        time
        for path in sorted(PASSES.glob("*.json"))
        for one in json.loads(path.read_text())["results"]
        if one["parameters"] == {"program": "xz", "level": "6"}
        for time in one["times"]
    ]
    own = data.trials.filter(pl.col("program") == "xz", pl.col("level") == "6")
    assert own["value"].to_list() == times
    with pytest.raises(AnalysisError, match="no samples inside"):
        data.samples("time")


def test_samples_inside_files_are_those_of_the_files():
    path = RESULTS / "pyperf-base.json"
    data = tw.load(path)
    samples = data.samples(data.metrics[0]).collect()
    runs = [run for one in json.loads(path.read_text())["benchmarks"] for run in one["runs"]]
    values = [value for run in runs for value in run.get("values", ())]
    assert samples["value"].to_list() == pytest.approx(values)
    assert samples["process"].n_unique() == sum("values" in run for run in runs)


def test_a_table_answers_as_the_commands_do(table: Path):
    data = tw.load(table, value=["value", "delay"], group="treatment", better={"delay": "lower"})
    words = ["--value", "value", "--value", "delay", "--group", "treatment", "--better", "delay=lower"]
    objectives = ["--objective", "value=percentile=25", "--objective", "delay=percentile=25"]
    expected = printed("analyze", table, *words, *objectives, cwd=table.parent)
    assert same(data.kpi(percentile=25), expected)
    sides = ["--a", "treatment=a", "--b", "treatment=b"]
    assert same(
        data.compare(a={"treatment": "a"}, b={"treatment": "b"}),
        printed("compare", table, *words, *sides, cwd=table.parent),
    )
    effects = [*words[:4], "--group", "treatment", "--margin", "3%"]
    assert same(data.effects(margin="3%"), printed("effects", table, *effects, cwd=table.parent))


@pytest.mark.parametrize("kind", [pl.DataFrame, pd.DataFrame, pl.LazyFrame])
def test_a_data_frame_is_a_table(table: Path, kind: type):
    columns = pl.read_csv(table).to_dict(as_series=False)
    found = tw.load(kind(columns)).compare(margin="3%").record.rows
    expected = tw.load(table).compare(margin="3%").record.rows
    assert [row.difference for row in found] == [row.difference for row in expected]


def test_the_pairs_of_an_experiment_are_one_family(directory: Path):
    from trialwise import study

    found = tw.load(directory).compare().record
    judged = study.verdict_view(directory).comparison
    assert [row.difference for row in found.rows] == [row.difference for row in judged.rows]
    assert len(found.rows) == 18


def test_trials_have_their_factors(directory: Path):
    trials = tw.load(directory).trials
    speed = trials.filter(pl.col("metric") == "speed", pl.col("algorithm") == "xz", pl.col("level") == 6)
    analysed = printed("analyze", directory, cwd=directory.parent)["metrics"][0]["trials"]
    values = [one["value"] for one in analysed if one["treatment"] == "algorithm=xz level=6"]
    assert sorted(speed["value"]) == sorted(value for value in values if value is not None)


def test_pandas_gets_the_same_values_without_pyarrow(directory: Path):
    data = tw.load(directory)
    for ours, theirs in (
        (data.trials, data.to_pandas()),
        (data.samples("latency").collect(), data.to_pandas("latency")),
    ):
        assert list(theirs.columns) == ours.columns
        for name in ours.columns:
            told = [None if pd.isna(one) else one for one in theirs[name]]
            assert told == ours[name].to_list()
        assert theirs["value"].dtype == "float64"


def test_samples_are_those_of_the_files(directory: Path):
    samples = tw.load(directory).samples("latency")
    assert isinstance(samples, pl.LazyFrame)
    whole = samples.collect()
    stored = [pl.read_parquet(path) for path in sorted((directory / "samples").glob("*.parquet"))]
    assert samples.head(7).collect().equals(whole.head(7))
    (first,) = {whole["trial"][0]}
    own = whole.filter(pl.col("trial") == first)
    assert any(own.select("time", "value").equals(frame) for frame in stored)
    assert samples.filter(pl.col("trial") == first).select("value").collect().equals(own.select("value"))


def test_a_result_shows_its_document_and_no_markup_of_others(directory: Path):
    from trialwise.report.render.html import html

    found = tw.load(directory).kpi()
    assert repr(found) == f"<analyze: {found.answer}>"
    assert "trials" in found.answer
    shown = found._repr_html_()
    assert str(html(found.document)) in shown
    assert "<script" not in shown
    assert found.answer in str(found)


def test_figures_are_those_that_the_command_writes(table: Path, tmp_path: Path):
    sides = ["--a", "treatment=a", "--b", "treatment=b", "--svg", "figures"]
    done = trialwise("compare", table, *sides, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    plots = tw.load(table).compare(a={"treatment": "a"}, b={"treatment": "b"}).plots
    assert {path.stem for path in (tmp_path / "figures").iterdir()} == {*plots}
    for name, plot in plots.items():
        assert plot._repr_svg_() == (tmp_path / f"figures/{name}.svg").read_text()


def test_a_figure_is_saved_in_the_format_of_its_ending(table: Path, tmp_path: Path):
    plot = tw.load(table, value="value", group="treatment").plot.distribution("value")
    assert plot.save(tmp_path / "own.svg").read_text() == plot._repr_svg_()
    assert plot.save(tmp_path / "own.png").read_bytes()[:4] == b"\x89PNG"
    assert plot.save(str(tmp_path / "own.pdf")).read_bytes()[:5] == b"%PDF-"
    with pytest.raises(AnalysisError, match="the ending says the format"):
        plot.save(tmp_path / "own.gif")
    with pytest.raises(StoreError, match="nowhere"):
        plot.save(tmp_path / "nowhere" / "own.svg")
    with pytest.raises(AnalysisError, match="there is no figure 'value-autocorrelatio'"):
        tw.load(table).kpi("value").plots["value-autocorrelatio"]


def test_the_report_is_that_of_the_command(directory: Path, tmp_path: Path):
    assert trialwise("report", directory, "--out", "report.html", cwd=tmp_path).returncode == 0
    page = tw.load(directory).report()
    assert page.save(tmp_path / "own.html").read_text() == (tmp_path / "report.html").read_text()
    assert page._repr_html_().startswith("<iframe srcdoc=")


def test_what_is_not_there_is_refused(directory: Path, table: Path):
    with pytest.raises(AnalysisError, match="no metric 'sped'"):
        tw.load(directory).kpi("sped")
    with pytest.raises(AnalysisError, match="its experiment file says what is claimed"):
        tw.load(directory).kpi(percentile=50)
    with pytest.raises(AnalysisError, match="is an experiment directory; columns are for tables"):
        tw.load(directory, value="speed")
    with pytest.raises(AnalysisError, match="no samples inside"):
        tw.load(table).samples("value")
    with pytest.raises(AnalysisError, match="neither a path nor a DataFrame"):
        tw.load(7)
    with pytest.raises(AnalysisError, match="margin 'much'"):
        tw.load(table).compare(margin="much")
    with pytest.raises(AnalysisError, match="no such file"):
        tw.load("nothing-here")


def test_a_notebook_shows_an_error_without_traceback():
    error = AnalysisError("no metric '\x1b[31m'", hint="there is: a")
    assert error._render_traceback_() == ["AnalysisError: no metric '\\x1b[31m'", "  try: there is: a"]


def test_the_import_is_as_light_as_that_of_json():
    code = (
        "import sys, json; before = set(sys.modules); import trialwise as tw; "
        "print(sorted(set(sys.modules) - before)); print('load' in dir(tw), tw.load.__module__)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["['trialwise']", "True trialwise.notebook.loading"]


@pytest.mark.parametrize(
    ("columns", "ask"),
    [
        ({"value": "delay"}, lambda data: data.trials),
        ({"value": "delay"}, lambda data: data.kpi()),
        ({"value": "time", "group": "side"}, lambda data: data.effects()),
        ({}, lambda data: data.order()),
    ],
)
def test_errors_on_a_dataframe_do_not_name_a_temporary_file(columns, ask):
    data = tw.load(pl.DataFrame({"scheme": ["a", "b"], "time": [1.0, 2.0]}), **columns)
    with pytest.raises(AnalysisError) as refused:
        ask(data)
    assert "parquet" not in str(refused.value)
