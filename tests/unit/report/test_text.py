from __future__ import annotations

import io

import pytest
from rich.console import Console

from trialwise.analysis.results import Analysis
from trialwise.report.numbers import Number
from trialwise.report.tables import kpi_tables, result_tables
from trialwise.report.text import text_report


def _printed(analysis: Analysis, width: int) -> str:
    console = Console(width=width, file=io.StringIO(), color_system=None)
    for part in text_report(analysis):
        console.print(part)
    text = console.file.getvalue()  # type: ignore[attr-defined]
    assert isinstance(text, str)
    return text


@pytest.mark.parametrize("width", [80, 120])
def test_no_line_is_wider_than_the_terminal(analysis: Analysis, width: int) -> None:
    assert max(map(len, _printed(analysis, width).splitlines())) <= width


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
    words = [row[-1] for table in kpi_tables(analysis) for row in table.without_remarks.rows]
    assert all(printed.count(str(word)) >= words.count(word) for word in set(words))
    assert "…" not in "".join(printed).replace("= …", "")
