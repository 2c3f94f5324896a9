from __future__ import annotations

import pytest

from trialwise.analysis.results import Analysis
from trialwise.report.documents.analyze import document
from trialwise.report.numbers import Number
from trialwise.report.overview import overview_tables, reasons
from trialwise.report.render.terminal import terminal
from trialwise.report.tables import kpi_tables, result_tables


def _printed(analysis: Analysis, width: int, *, full: bool = True) -> str:
    lines = terminal(document(analysis, full=full), width, full=full)
    return "\n".join("".join(span.text for span in line) for line in lines)


@pytest.mark.parametrize("full", [True, False])
@pytest.mark.parametrize("width", [80, 120])
def test_no_line_is_wider_than_the_terminal(analysis: Analysis, width: int, full: bool) -> None:
    assert max(map(len, _printed(analysis, width, full=full).splitlines())) <= width


def test_the_overview_has_each_kpi_once_and_marks_what_is_descriptive(analysis: Analysis) -> None:
    printed = _printed(analysis, 120, full=False).split()
    for table in overview_tables(analysis):
        for row in table.rows:
            assert all(str(cell) in printed for cell in row[1:])
    kpis = [kpi for found in analysis.metrics for kpi in found.kpis]
    had = [kpi for kpi in kpis if kpi.result is not None and kpi.result.value is not None]
    cells = [
        str(cell)
        for table in overview_tables(analysis)
        for row in table.rows
        for cell in row[2 : 2 + len(analysis.series)]
    ]
    assert len([cell for cell in cells if cell != "–"]) == len(had)
    assert len([cell for cell in cells if cell.startswith("~")]) == len(
        [kpi for kpi in had if kpi.descriptive]
    )


def test_each_reason_is_given_with_those_whom_it_concerns(analysis: Analysis) -> None:
    given = " ".join(reasons(analysis))
    for found in analysis.metrics:
        for kpi in found.kpis:
            if kpi.descriptive and kpi.note:
                assert kpi.note.replace("descriptive only: ", "") in given


def test_texts_of_users_are_printed_as_they_are(analysis: Analysis) -> None:
    printed = " ".join(_printed(analysis, 120).split())
    assert "algorithm=<script>alert(1)</script> level=1" in printed
    assert "KPI of speed [MB/s]: 25th percentile" in printed
    assert "\x1b" not in printed


@pytest.mark.parametrize("width", [80, 120])
def test_tables_are_printed_whole(analysis: Analysis, width: int) -> None:
    printed = _printed(analysis, width).split()
    for table in result_tables(analysis):
        for row in table.without_remarks.rows:
            assert all(cell.text in printed for cell in row if isinstance(cell, Number))
    words = [
        row[-1]
        for place in range(len(analysis.metrics))
        for table in kpi_tables(analysis, place)
        for row in table.without_remarks.rows
    ]
    assert all(printed.count(str(word)) >= words.count(word) for word in set(words))
    assert "…" not in "".join(printed).replace("= …", "")
