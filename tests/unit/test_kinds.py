"""Nothing outside a kind asks which kind a trial is, or which source a metric has."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src/trialwise"
OWN = (
    "kinds/*",
    # records and their reading
    "experiment/trials.py",
    "experiment/simulation*.py",
    "experiment/sources.py",
    "experiment/path_building.py",
    "experiment/shared_process.py",
    # running: each kind, and what makes the samples of a source
    "trials/command.py",
    "trials/judging.py",
    "trials/instrumenting.py",
    "trials/collecting.py",
    "trials/python.py",
    "trials/shared_python.py",
    "trials/path*.py",
    "trials/simulat*.py",
    "trials/drawn_means.py",
    "trials/list_statistics.py",
    "trials/workloads.py",
    "execution/workers/instruments.py",
    # analysis and words
    "analysis/path/*",
    "analysis/runtime/simulation.py",
    "report/figures/path*.py",
    "study/tilt*.py",
    "cli/tilt.py",
)
"""Modules of the kinds and of the sources themselves."""
RECORDS = frozenset(
    f"{name}{ending}"
    for name, endings in {
        "Command": ("Trial", "Table"),
        "Python": ("Trial", "Table"),
        "Path": ("Trial", "TrialTable", "Source"),
        "Simulation": ("Trial", "Table", "Source"),
        "Resource": ("Source",),
        "Text": ("Source",),
        "Return": ("Source",),
        "Instrument": ("Source",),
        "Stream": ("Source",),
    }.items()
    for ending in endings
)
KINDS = frozenset({"command", "python", "path", "simulation"})

LEFT: dict[str, int] = {
    "study/reading.py": 1,
    "trials/kinds.py": 6,
}
"""What still asks, by file. This list only shrinks."""


def _names(node: ast.AST) -> Iterator[str]:
    for inner in ast.walk(node):
        if isinstance(inner, ast.Name):
            yield inner.id
        elif isinstance(inner, ast.Attribute):
            yield inner.attr


def _is_kind(node: ast.AST) -> bool:
    return (isinstance(node, ast.Attribute) and node.attr == "kind") or (
        isinstance(node, ast.Name) and node.id == "kind"
    )


def _asks(node: ast.AST) -> bool:
    """Return True if the node by itself is a question for the kind of a trial or of a source."""
    match node:
        case ast.Call(func=ast.Name(id="isinstance" | "sources_of"), args=[_, classes]):
            return not RECORDS.isdisjoint(_names(classes))
        case ast.MatchClass(cls=cls):
            return not RECORDS.isdisjoint(_names(cls))
        case ast.Compare(left=left, comparators=others):
            sides = [left, *others]
            constants = {
                inner.value for side in sides for inner in ast.walk(side) if isinstance(inner, ast.Constant)
            }
            if any(isinstance(side, ast.Call) for side in sides):  # type(x) is CommandTrial
                return any(not RECORDS.isdisjoint(_names(side)) for side in sides)
            return any(map(_is_kind, sides)) and not KINDS.isdisjoint(constants)
        case ast.Attribute(attr="is_simulated"):
            return True
        case _:
            return False


def questions(text: str) -> int:
    """How often a module asks."""
    return sum(map(_asks, ast.walk(ast.parse(text))))


def found() -> Counter[str]:
    counts: Counter[str] = Counter()
    for file in sorted(SOURCE.rglob("*.py")):
        name = file.relative_to(SOURCE).as_posix()
        if not any(fnmatch(name, own) for own in OWN) and (count := questions(file.read_text())):
            counts[name] = count
    return counts


@pytest.mark.parametrize(
    "text",
    [
        "isinstance(experiment.trial, CommandTrial)",
        "isinstance(trial, trials.PathTrial | PythonTrial)",
        "isinstance(source, (TextSource, StreamSource))",
        "match trial:\n    case PathTrial(engine='simulated'):\n        pass",
        "match metric.source:\n    case sources.TextSource():\n        pass",
        "experiment.trial.kind == 'path'",
        "kind in ('python', 'command')",
        "document.trial.kind != 'python'",
        "type(trial) is CommandTrial",
        "experiment.is_simulated",
    ],
)
def test_questions_are_seen(text: str) -> None:
    assert questions(text) == 1


@pytest.mark.parametrize(
    "text",
    [
        "goal.kind == 'metric'",
        "isinstance(trial, Trial)",
        "trial.kind",
        "trial.computed",
        "event.kind == 'remark'",
    ],
)
def test_other_questions_are_none(text: str) -> None:
    assert questions(text) == 0


def test_nothing_outside_a_kind_asks_which_kind_a_trial_is() -> None:
    counts = found()
    more = {name: count for name, count in counts.items() if count > LEFT.get(name, 0)}
    assert more == {}, "ask for what differs (docs/decisions/2026-11-26-kinds-say-what-they-have.md)"
    fewer = {name: counts[name] for name, count in LEFT.items() if counts[name] < count}
    assert fewer == {}, "shrink the list"
