"""What `ab` of two commands says of so few trials that a change has no bounds, or no inference."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from scipy import stats

from made_documents import commands_found
from trialwise.analysis.comparison.comparing import CompareOptions, compare
from trialwise.analysis.versions.results import VersionsResult
from trialwise.exchange.result_files import read_trials
from trialwise.experiment.model import Extent
from trialwise.report.documents import commands
from trialwise.report.render.terminal import terminal


def few(folder: Path, base: list[float], head: list[float]) -> VersionsResult:
    """The comparison of two commands whose trials took these times, in seconds."""
    (folder / "few").mkdir()
    sides = []
    for name, times in (("a", base), ("b", head)):
        file = folder / "few" / f"{name}.json"
        result = {"command": "x", "times": times, "exit_codes": [0] * len(times)}
        file.write_text(json.dumps({"results": [result]}))
        sides.append(read_trials(file))
    comparison = compare(*sides, CompareOptions(confidence=97.5, margin=Extent(3, relative=True)))
    rows = (replace(comparison.rows[0], treatment="v2"),)
    found = commands_found(folder)
    return replace(
        found,
        comparison=replace(comparison, rows=rows),
        outcomes=("undecided",),
        outcome="undecided",
        versions=found.versions[:2],
        commands=found.commands[:2],
    )


def said(found: VersionsResult) -> list[str]:
    return ["".join(span.text for span in line) for line in terminal(commands.document(found), width=200)]


def test_a_change_without_bounds_says_why_it_has_none(tmp_path: Path):
    base = [0.1, 1.2, 0.4]
    # The interval of the first mean at the level of the sentence holds 0, where a ratio to it has no bounds (Fieller 1954).
    assert stats.ttest_1samp(base, 0).confidence_interval(0.975).low < 0
    lines = said(few(tmp_path, base, [0.9, 1.5, 0.2]))
    assert "(no bounds in percent at 97.5 %: the first mean may be 0, n = 3 each)" in lines[0]
    assert "–" not in lines[0]


def test_without_inference_no_method_and_no_margin_are_named(tmp_path: Path):
    lines = said(few(tmp_path, [0.5], [0.6]))
    [done] = [line for line in lines if "beyond timing" in line]
    assert done.strip() == "beyond timing: order random within each of 1 round"
