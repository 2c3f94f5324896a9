"""The chapter on the largest values stands in the report."""

from __future__ import annotations

from trialwise.analysis.results import Analysis
from trialwise.report.documents import report, slowest
from trialwise.report.numbers import Number


def test_the_largest_values_stand_first(analysis: Analysis):
    chapter = slowest.chapter(analysis)
    assert chapter in report.document(analysis, {}).evidence
    for found, table in zip(analysis.metrics, chapter.blocks[1:], strict=True):
        values = sorted((trial.value for trial in found.trials if trial.value is not None), reverse=True)
        cells = [cell for row in table.rows for cell in row if isinstance(cell, Number)]
        assert [cell.value for cell in cells] == values[: slowest.MAX_TRIALS]
