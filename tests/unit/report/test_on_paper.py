"""What a page marks for paper, and what is left out since there are too few trials."""

from __future__ import annotations

import re
from pathlib import Path

import polars as pl
import pytest

from trialwise.analysis.results import Analysis
from trialwise.analysis.table import TableColumns, analyse_table
from trialwise.experiment.model import Kpi, Metric
from trialwise.experiment.sources import TextSource
from trialwise.report import plot_rows
from trialwise.report.document import Chapter, Document, Figure, Figures, Note, Verdict, plain, table_of
from trialwise.report.render.html import html
from trialwise.report.tables import independence_tables, intervals_left_out, result_tables, untested_series


def analysed(folder: Path, values: dict[str, list[float]], *kpis: Kpi) -> Analysis:
    rows = [(name, value) for name, each in values.items() for value in each]
    pl.DataFrame(rows, schema=["side", "m"], orient="row").write_csv(table := folder / "runs.csv")
    metric = Metric(name="m", source=TextSource(path=str(table), csv="m"), kpis=kpis)
    return analyse_table(table, TableColumns(("side",)), [metric])


def test_series_that_are_too_short_to_test_are_named_once(tmp_path: Path) -> None:
    found = analysed(tmp_path, {"a": [1, 2, 4], "b": [3, 5, 4], "c": [1, 3, 2, 5, 4, 7, 6]})
    (table,) = independence_tables(found)
    assert len(table.rows) == 1, "c alone is tested"
    assert {row["treatment"] for row in plot_rows.lag_rows(found.metrics[0])} == {"side=c"}
    (said,) = untested_series(found)
    assert "5 values are needed" in said, "of 4 the least p of a trend is 2/24, twice that by Holm"
    assert said.endswith("(series of trials: m: 2).")


def test_where_every_series_is_tested_nothing_is_named(tmp_path: Path) -> None:
    found = analysed(tmp_path, {"a": [1, 3, 2, 5, 4, 7, 6]})
    assert list(untested_series(found)) == []


def test_intervals_that_no_series_has_are_left_out_and_named_once(tmp_path: Path) -> None:
    """Two-sided bounds of a median at 85 % take 4 values: 1 - 2/2^4 = 0.875, and of 3 there are 1 - 2/2^3 = 0.75."""
    found = analysed(tmp_path, {"a": [1, 2, 4], "b": [3, 5, 4]}, Kpi(50, 85, "lower"))
    (table, *_) = result_tables(found)
    assert [column.title for column in table.columns] == [
        "treatment",
        "series",
        "n",
        "KPI",
        "attained %",
        "standing",
    ]
    assert "two-sided" not in plain(table.caption)
    (said,) = intervals_left_out(found)
    assert said.endswith(
        "the 85 % two-sided interval of p50 needs 4 values; there are 3 (series of trials: m: 2)."
    )


def test_an_interval_that_one_series_has_is_shown(tmp_path: Path) -> None:
    found = analysed(tmp_path, {"a": [1, 2, 4], "b": [3, 5, 4, 7]}, Kpi(50, 85, "lower"))
    (table, *_) = result_tables(found)
    assert {"low", "high"} < {column.title for column in table.columns}
    assert plain(table.caption).endswith("low and high: two-sided")
    assert list(intervals_left_out(found)) == []


def figure(key: str, caption: str) -> Figure:
    return Figure(key, key, caption, "seen", {})


def test_a_caption_or_remark_that_stood_before_is_marked_wherever_it_stands() -> None:
    table = table_of("t", "T", ("x",), (("1",),))
    first = Chapter("one", "One", (Figures("", (figure("a", "Each mark."),)), Note(("said",)), table))
    second = Chapter(
        "two", "Two", (Figures("", (figure("b", "Each mark."), figure("c", "Other."))), Note(("said",)))
    )
    text = str(html(Document("d", Verdict("plain", ("answer",)), (first, second))))
    assert re.findall("<figcaption[^>]*>", text) == [
        "<figcaption>",
        '<figcaption class="again">',
        "<figcaption>",
    ]
    assert re.findall('<p class="lead[^>]*>said', text) == [
        '<p class="lead">said',
        '<p class="lead again">said',
    ]


@pytest.mark.parametrize(("rows", "look"), [(12, "wide short"), (13, "wide"), (31, "wide tall-table")])
def test_a_table_says_how_long_it_is(rows: int, look: str) -> None:
    table = table_of("t", "T", ("x",), tuple((str(number),) for number in range(rows)))
    assert f'<div class="{look}"' in str(html(Document("d", Verdict("plain", ("answer",)), (table,))))
