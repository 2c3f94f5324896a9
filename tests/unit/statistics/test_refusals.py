"""What a statistic refuses is told from mistakes: it is a StatisticsError, and commands say it as a sentence."""

import ast
from pathlib import Path

import pytest

import trialwise
from trialwise import statistics as st
from trialwise.errors import AnalysisError, StatisticsError

ROOT = Path(trialwise.__file__).parent


@pytest.mark.parametrize(
    "refused",
    [
        lambda: st.kpi([], 50, 95),
        lambda: st.kpi([1, 2, 3], 150, 95),
        lambda: st.variability([1.0], 50, 175),
        lambda: st.theil_sen([1, 1, 1], [1, 2, 3], 95),
        lambda: st.samples_needed(50, 0),
        lambda: st.difference([1.0], [1.0], confidence=95),
        lambda: st.two_stage_size([1.0], 1.0),
        lambda: st.cdf_band([], 95),
    ],
)
def test_refusals_are_of_one_kind(refused):
    with pytest.raises(StatisticsError) as raised:
        refused()
    assert isinstance(raised.value, ValueError | AnalysisError)
    assert raised.value.message == str(raised.value)


def test_statistics_raises_nothing_else_of_values():
    """A bare ValueError from there would be taken for a mistake of Trialwise."""
    found = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in sorted(ROOT.joinpath("statistics").rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Raise) and "ValueError" in ast.unparse(node)
    ]
    assert found == []


def test_analysis_takes_nothing_else_for_a_refusal():
    """Except where it reads texts of others."""
    reading = {"effects/trials.py", "context.py", "directory.py"}
    found = {
        str(path.relative_to(ROOT / "analysis"))
        for path in ROOT.joinpath("analysis").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ExceptHandler) and node.type and "ValueError" in ast.unparse(node.type)
    }
    assert {name for name in found if not name.startswith("reading/")} == reading
