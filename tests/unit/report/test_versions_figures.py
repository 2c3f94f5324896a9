"""The figure of several commands uses the words of the sentence above it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from made_documents import commands_found
from trialwise.report.documents import commands
from trialwise.report.figures.plot_data import ColumnData
from trialwise.report.figures.versions import versions_figures
from trialwise.report.render.terminal import terminal


def drawn(found) -> str:
    sheets: dict[str, ColumnData] = {}
    (figure,) = versions_figures(found, sheets)
    return json.dumps(figure.spec if isinstance(figure.spec, dict) else figure.spec.to_dict())


@pytest.mark.parametrize(("name", "word"), [("time", "faster"), ("throughput", "better")])
def test_text_and_figure_say_the_same(tmp_path: Path, name: str, word: str):
    found = commands_found(tmp_path)
    assert found.comparison is not None
    rows = tuple(replace(row, metric=replace(row.metric, name=name)) for row in found.comparison.rows)
    found = replace(found, comparison=replace(found.comparison, rows=rows))
    (other,) = {"faster", "better"} - {word}
    said = " ".join(
        line.text if hasattr(line, "text") else str(line)
        for line in terminal(commands.document(found), width=120)
    )
    figure = drawn(found)
    assert word in said
    assert other not in said
    assert f'"{word}"' in figure
    assert f'"{other}"' not in figure
