"""The matrix of harm and its table, from one record."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import altair as alt
import pytest

from path_directory import analyse_paths, write_paths
from trialwise.analysis.path.results import Harm, HarmCell
from trialwise.analysis.results import Analysis
from trialwise.report.beside import words_of
from trialwise.report.document import Chapter, Figures, plain
from trialwise.report.figures.path_harm import harm_figures
from trialwise.report.figures.plot_data import ColumnData, unpacked
from trialwise.report.notes import path_notes
from trialwise.report.path_tables import harm_tables


def cell(name: str, other: str, harm: float | None, **more: object) -> HarmCell:
    given: dict[str, object] = {
        "metric": "throughput", "name": name, "other": other, "alone": "x", "beside": "y", "n": (9, 8), "means": (10.0, 4.0),
        "harm": harm, "low": None, "high": None, "p_value": 0.01, "verdict": "harms", "trials_needed": 0, "reason": "",
    }  # fmt: skip
    return HarmCell(**(given | more))  # type: ignore[arg-type]


HARM = Harm(
    factor="beside",
    flows=(2,),
    confidence=95.0,
    family=3,
    method="Welch",
    cells=(
        cell("a", "a", 0.5, low=0.41, high=0.62),
        cell("a", "b <i>", 0.8, low=0.7, high=0.9, than_itself="more"),
        cell("b <i>", "a", -0.25, low=-0.4, high=-0.1, verdict="helps", than_itself="less"),
        cell("b <i>", "b <i>", None, verdict="no inference", p_value=None, n=(0, 1), reason="no trial alone"),
    ),
)


@pytest.fixture(scope="module")
def analysis(tmp_path_factory: pytest.TempPathFactory) -> Analysis:
    found = analyse_paths(write_paths(tmp_path_factory.mktemp("harm") / "results", rounds=2, kpi=False))
    assert found.path is not None
    return dataclasses.replace(found, path=dataclasses.replace(found.path, harm=HARM))


def test_a_matrix_has_every_cell_with_its_bounds_and_marks() -> None:
    sheets: dict[str, ColumnData] = {}
    (figure,) = harm_figures(HARM, sheets)
    alt.Chart.from_dict(figure.spec, validate=True)
    (sheet,) = sheets.values()
    rows = unpacked(sheet)
    shown = [(row["text"], row["bounds"], row["decided"]) for row in rows]
    assert shown == [
        ("0.50", "0.41 to 0.62", True),
        ("0.80 ▲", "0.70 to 0.90", True),
        ("-0.25 ▼", "-0.40 to -0.10", True),
        ("–", "", False),
    ]
    assert "2 of 4 cells show harm" in figure.caption
    assert "all 3 verdicts" in figure.caption.lower()
    assert figure.title == "Who harms whom: throughput"


def test_a_matrix_of_many_columns_is_printed_without_bounds() -> None:
    def texts(printed: bool, columns: int) -> set[str]:
        cells = tuple(cell("a", f"other {place}", 0.5, low=0.4, high=0.6) for place in range(columns))
        (figure,) = harm_figures(dataclasses.replace(HARM, cells=cells), {}, printed=printed)
        return {
            layer["encoding"]["text"]["field"]
            for layer in figure.spec["layer"]
            if "text" in layer["encoding"]
        }

    assert texts(printed=True, columns=4) == {"text", "bounds"}
    assert texts(printed=True, columns=5) == {"text"}
    assert texts(printed=False, columns=9) == {"text", "bounds"}


def test_the_table_has_what_the_matrix_has_and_the_reasons(analysis: Analysis) -> None:
    assert analysis.path is not None
    (table,) = harm_tables(analysis.path)
    cells = [[plain(each) for each in row] for row in table.rows]
    assert [row[:2] for row in cells] == [["a", "a"], ["a", "b <i>"], ["b <i>", "a"], ["b <i>", "b <i>"]]
    assert cells[0][2] == "0.50 (0.41 to 0.62)"
    assert cells[3][-1] == "no trial alone"
    assert [column.title for column in table.without_remarks.columns] == [
        "harm to", "beside", "harm", "verdict", "than by itself",
    ]  # fmt: skip


def test_the_report_begins_with_who_harms_whom(analysis: Analysis) -> None:
    chapters = list(words_of(analysis).chapters())
    assert [chapter.key for chapter in chapters] == ["harm", "plane"]
    assert isinstance(chapters[0], Chapter)
    assert [len(block.figures) for block in chapters[0].blocks if isinstance(block, Figures)] == [1]
    assert analysis.path is not None
    assert path_notes(analysis.path)[0].title == "Harm"


def test_an_experiment_without_harm_says_nothing_of_it(tmp_path: Path) -> None:
    found = analyse_paths(write_paths(tmp_path / "results", rounds=2, kpi=False))
    assert found.path is not None
    assert found.path.harm is None
    assert harm_tables(found.path) == []
    assert [chapter.key for chapter in words_of(found).chapters()] == ["plane"]
