"""Where figures of trials in order have the bounds of series."""

from pathlib import Path

import polars as pl

from trialwise.analysis.results import Analysis
from trialwise.cli.reading import ReadingOptions
from trialwise.cli.tables import TableOptions, analysis_of, source_of
from trialwise.report import plot_rows

DAYS = ["Monday", "Tuesday", "Wednesday"]


def analysed(folder: Path, rows: list[tuple[str, str, int]]) -> Analysis:
    path = folder / "trials.csv"
    pl.DataFrame(rows, schema=["cc", "day", "value"], orient="row").write_csv(path)
    table = TableOptions(value=("value",), group=("cc",), series="day")
    return analysis_of(source_of([path], table, ReadingOptions()), table, "default")


def starts(analysis: Analysis) -> list[tuple[object, object]]:
    return [(row["start"], row["series"]) for row in plot_rows.series_starts(analysis.metrics[0])]


def test_series_that_stand_together_have_bounds(tmp_path: Path):
    rows = [(cc, day, number) for day in DAYS for number in range(5) for cc in ("a", "b")]
    assert starts(analysed(tmp_path, rows)) == [(10.5, "series Tuesday"), (20.5, "series Wednesday")]


def test_a_table_that_is_sorted_by_treatment_has_none(tmp_path: Path):
    rows = [(cc, day, number) for cc in ("a", "b") for day in DAYS for number in range(5)]
    assert starts(analysed(tmp_path, rows)) == []


def test_one_series_has_none(tmp_path: Path):
    assert starts(analysed(tmp_path, [("a", "Monday", number) for number in range(5)])) == []


def test_a_label_without_room_is_left_out_whole(tmp_path: Path):
    rows = [("a", day, number) for day in ("d1", "d2", "d3") for number in range(2 if day == "d2" else 40)]
    assert starts(analysed(tmp_path, rows)) == [(40.5, ""), (42.5, "series d3")]


def test_the_axis_of_a_table_promises_no_order_of_a_plan(tmp_path: Path):
    analysis = analysed(tmp_path, [("a", "Monday", number) for number in range(5)])
    along, advice = plot_rows.order_words(analysis)
    assert along == "trial, in the order of the table"
    assert "--order" in advice
