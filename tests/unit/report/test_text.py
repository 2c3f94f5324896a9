from __future__ import annotations

import io

import pytest
from rich.console import Console

from trialwise.analysis.results import Analysis
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


def test_numbers_of_tables_are_never_cut(analysis: Analysis) -> None:
    kpi = analysis.metrics[0].kpis[0]
    assert kpi.result is not None
    lines = [line for line in _printed(analysis, 80).splitlines() if " holds" in line]
    assert lines
    assert "…" not in "".join(lines)
