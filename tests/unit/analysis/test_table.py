from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from trialwise.analysis.results import Analysis
from trialwise.analysis.table import TableColumns, analyse_table
from trialwise.errors import AnalysisError
from trialwise.experiment.model import Convergence, Kpi, Measure, Metric
from trialwise.experiment.sources import ReturnSource

SHARED = Path(__file__).parents[4] / "shared" / "data"

Write = Callable[[str | bytes], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write(content: str | bytes) -> Path:
        path = tmp_path / "table.csv"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def _analyse(path: Path, name: str = "v", measure: Measure = "mean", **columns: object) -> Analysis:
    metric = Metric(name, ReturnSource(name), measure=measure, kpis=(Kpi(50, 75, "upper"),))
    return analyse_table(path, TableColumns(**columns), [metric])  # type: ignore[arg-type]


def _values(analysis: Analysis) -> list[float | None]:
    return [trial.value for trial in analysis.metrics[0].trials]


def test_each_row_is_a_trial(write: Write) -> None:
    found = _analyse(write("v\n3\n1\n2\n"))
    assert _values(found) == [3, 1, 2]
    assert (found.treatments, found.series, found.planned) == (("-",), ("1",), 3)


def test_groups_make_treatments_and_series_are_kept_apart(write: Write) -> None:
    found = _analyse(write("a,b,s,v\nx,1,p,1\ny,1,p,2\nx,1,q,3\n"), groups=("a", "b"), series="s")
    assert found.treatments == ("a=x b=1", "a=y b=1")
    assert found.series == ("p", "q")
    assert [(kpi.treatment, kpi.series, kpi.n) for kpi in found.metrics[0].kpis] == [
        ("a=x b=1", "p", 1),
        ("a=y b=1", "p", 1),
        ("a=x b=1", "q", 1),
    ]


def test_the_order_column_orders_numbers_as_numbers(write: Write) -> None:
    assert _values(_analyse(write("o,v\n10,3\n9,2\n1,1\n"), order="o")) == [1, 2, 3]


def test_rows_of_one_trial_are_its_samples_in_the_order_of_time(write: Write) -> None:
    text = "run,t,v\nb,0,10\na,1,2\na,0,1\nb,1,20\n"
    found = _analyse(write(text), measure="max", trial="run", time="t")
    assert _values(found) == [20, 2]
    assert [trial.samples for trial in found.metrics[0].trials] == [2, 2]
    assert found.metrics[0].traces[1].lows.tolist() == [1, 2]


def test_the_same_trial_name_in_two_groups_is_two_trials(write: Write) -> None:
    assert _values(_analyse(write("g,run,v\nx,1,1\nx,1,3\ny,1,10\n"), groups=("g",), trial="run")) == [2, 10]


def test_dates_are_times(write: Write) -> None:
    found = _analyse(write("t,v\n1970-01-02 00:00:00+00:00,2\n1970-01-01 00:00:01+00:00,1\n"), time="t")
    assert [trial.started for trial in found.metrics[0].trials] == [1.0, 86400.0]


@pytest.mark.parametrize("missing", ["", "NA", "NaN", "null"])
def test_missing_values_are_counted_and_said(write: Write, missing: str) -> None:
    found = _analyse(write(f"a,v\n1,1\n1,{missing}\n1,3\n"))
    assert _values(found) == [1, 3]
    assert found.notes == ("1 of 3 values of v are missing and were left out",)


def test_other_separators_and_compression_are_read(write: Write) -> None:
    assert _values(_analyse(write("a;v\n1;5\n"))) == [5]
    assert _values(_analyse(write("a\tv\n1\t6\n"))) == [6]
    assert _values(_analyse(write(gzip.compress(b"a,v\n1,7\n")))) == [7]
    assert _values(_analyse(write("\ufeffv,a\n8,1\n"))) == [8]


def test_parquet_is_read_whatever_its_name(tmp_path: Path) -> None:
    path = tmp_path / "data.bin"
    pl.DataFrame({"v": [1, 2, None], "g": ["x", "y", "y"]}).write_parquet(path)
    found = _analyse(path, groups=("g",))
    assert _values(found) == [1, 2]
    assert found.treatments == ("g=x", "g=y")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "the file is empty"),
        ("v\n", "there is a header, but no row"),
        ("w\n1\n", "no column 'v'"),
        ("v\n1\nfast\n3\nslow\n", "line 3: 'fast' in column 'v' is not a finite number (and 1 more like it)"),
        ("v\n1\ninf\n", "line 3: 'inf' in column 'v' is not a finite number"),
        ("v;a\n1,500;2\n", "may be 1500 or 1.500"),
        ("v;a\n9 ms;2\n9 s;3\n", "is in several units: ms, s"),
        ("v;a\n9 ms;2\n9;3\n", "some cells of column 'v' have a unit (ms), and others have none"),
        ("v\nNA\n\n", "holds no number"),
        (b"\x89PNG\r\n\x1a\n\0\0\0", "is a binary file"),
        (b"PAR1 and then nothing", "cannot be read"),
        (b"\x1f\x8b and then nothing", "is not a complete gzip file"),
        (b"v,a\n\xff\xfe,1\n", "cannot be read"),
    ],
)
def test_what_cannot_be_used_is_named(write: Write, content: str | bytes, message: str) -> None:
    with pytest.raises(AnalysisError) as raised:
        _analyse(write(content))
    assert message in str(raised.value)


def test_the_nearest_column_is_named(write: Write) -> None:
    with pytest.raises(AnalysisError, match="'delay' is there"):
        _analyse(write("delay,x\n1,2\n"), "dealy")


def test_the_line_of_a_text_is_that_of_the_file_also_after_sorting(write: Write) -> None:
    with pytest.raises(AnalysisError, match="line 2: 'oops'"):
        _analyse(write("o,v\n9,oops\n1,1\n2,2\n"), order="o")


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(AnalysisError, match="cannot be read"):
        _analyse(tmp_path / "none.csv")


def test_one_run_of_the_paper_is_one_trial_with_its_convergence_test(tmp_path: Path) -> None:
    source = SHARED / "triscale" / "triscale_raw_delay.csv"
    if not source.is_file():
        pytest.skip("the shared data are not here")
    path = tmp_path / "run.parquet"
    pl.read_csv(source).with_columns(run=pl.lit(1)).write_parquet(path)
    metric = Metric("y", ReturnSource("y"), measure=95.0, convergence=Convergence(95, 5))
    (trial,) = analyse_table(path, TableColumns(trial="run", time="x"), [metric], "paper").metrics[0].trials
    assert trial.samples > 10_000
    assert trial.convergence is not None
    assert len(trial.convergence.batches) == 100


def test_wide_tables_have_several_metrics() -> None:
    path = SHARED / "triscale" / "triscale_glossy.csv"
    if not path.is_file():
        pytest.skip("the shared data are not here")
    metrics = [
        Metric(name, ReturnSource(name), kpis=(Kpi(50, 95, "lower"),)) for name in ("PRR_N1", "PRR_N2")
    ]
    found = analyse_table(path, TableColumns(time="date_time"), metrics)
    assert [metric.metric.name for metric in found.metrics] == ["PRR_N1", "PRR_N2"]
    for metric in found.metrics:
        starts = [trial.started or 0.0 for trial in metric.trials]
        assert starts == sorted(starts)


def test_fifty_thousand_rows_are_read_by_columns(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    rows, made = 50_000, list[int]()
    path = write("a,s,v\n" + "".join(f"{'xyz'[i % 3]},{i % 2},{i * 7919 % 50_021}\n" for i in range(rows)))
    create = pl.DataFrame._from_pydf

    def counting(frame: object) -> pl.DataFrame:
        made.append(1)
        return create(frame)  # type: ignore[arg-type]

    monkeypatch.setattr(pl.DataFrame, "_from_pydf", staticmethod(counting))
    found = _analyse(path, groups=("a",), series="s")
    assert _values(found) == [i * 7919 % 50_021 for i in range(rows)]
    trials = found.metrics[0].trials
    assert [(one.treatment, one.series, one.round) for one in trials[-3:]] == [
        ("a=z", "1", 8333), ("a=x", "0", 8334), ("a=y", "1", 8334),
    ]  # fmt: skip
    assert len(made) < 200


def test_samples_of_a_trial_stay_together_in_the_order_of_time(write: Write) -> None:
    """The first row of p, with which it is numbered, has no value; so q comes first."""
    rows = "p,0,\nq,2,20\np,3,3\nq,1,10\nq,3,40\np,1,1\n"
    found = _analyse(write(f"r,t,v\n{rows}"), trial="r", time="t", measure=50)
    assert [(one.number, one.samples, one.value) for one in found.metrics[0].trials] == [
        (2, 3, 20),
        (1, 2, 2),
    ]
    assert [trace.lows.tolist() for trace in found.metrics[0].traces] == [[1, 3], [10, 20, 40]]
