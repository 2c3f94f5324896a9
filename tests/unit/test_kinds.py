"""Which kinds there are; and that nothing outside a kind asks which one a trial is, or which source a metric has."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from importlib import metadata
from pathlib import Path

import pytest

from trialwise import kinds, study
from trialwise.analysis.path.results import PathFacts
from trialwise.design.plan_record import plan_record
from trialwise.errors import PlanError
from trialwise.experiment.model import Experiment
from trialwise.experiment.traits import Trial

SOURCE = Path(__file__).parents[2] / "src/trialwise"
OWN = (
    "experiment/simulation_building.py",
    "experiment/shared_process.py",
    # what makes the samples of a source
    "trials/judging.py",
    "trials/command.py",
    "trials/instrumenting.py",
    "execution/workers/instruments.py",
    "trials/collecting.py",
    "trials/python.py",
    "trials/shared_python.py",
    "trials/path_samples.py",
    "trials/simulation.py",
    "trials/workloads.py",
    # the kind path, over real paths too, and paths fitted to those
    "execution/ends/kind.py",
    "execution/ends/results.py",
    "trials/path_plan.py",
    "study/path_fitting.py",
    "study/path_judging.py",
    "study/path_profiling.py",
    "study/real_trials.py",
    # analysis and words
    "analysis/path/*",
    "analysis/runtime/simulation.py",
    "report/figures/path_plane.py",
    "study/facts_of_paths.py",
    "study/tilting.py",
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
    assert found() == {}, "ask for what differs: src/trialwise/experiment/traits.py"


def test_facts_of_paths_are_none_without_a_path() -> None:
    experiment = Experiment("x", folder=Path(), trial=One(), metrics=())
    assert study.path_facts(experiment, None) == PathFacts()  # type: ignore[arg-type] nothing is read


# Which kinds there are


def with_entry_points(monkeypatch: pytest.MonkeyPatch, *points: tuple[str, str]) -> None:
    found = [metadata.EntryPoint(name, value, kinds.GROUP) for name, value in points]
    monkeypatch.setattr(metadata, "entry_points", lambda group: found if group == kinds.GROUP else [])


def test_our_own_kinds_are_registered_as_those_of_others_are() -> None:
    project = tomllib.loads((SOURCE.parents[1] / "pyproject.toml").read_text())
    assert project["project"]["entry-points"][kinds.GROUP] == dict(kinds.OWN)
    assert {name: kinds.part(place).__name__ for name, place in kinds.OWN.items()} == {
        "command": "CommandTable",
        "python": "PythonTable",
        "path": "PathTrialTable",
        "simulation": "SimulationTable",
    }


def test_our_own_are_there_without_metadata(monkeypatch: pytest.MonkeyPatch) -> None:
    with_entry_points(monkeypatch)
    assert kinds.kinds.__wrapped__() == kinds.OWN


def test_other_packages_bring_kinds(monkeypatch: pytest.MonkeyPatch) -> None:
    with_entry_points(monkeypatch, *kinds.OWN.items(), ("constant", "constant.file:ConstantTrial"))
    assert list(kinds.kinds.__wrapped__()) == [*kinds.OWN, "constant"]


@pytest.mark.parametrize("name", ["path", "twice"])
def test_no_two_packages_bring_the_same(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    with_entry_points(monkeypatch, (name, "one:Trial"), (name, "other:Trial"))
    with pytest.raises(PlanError, match=f'kind = "{name}" is both'):
        kinds.kinds.__wrapped__()


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (None, "ModuleNotFoundError: No module named 'broken'"),
        ("", "AttributeError: module 'broken' has no attribute 'Trial'"),
        ("1 / 0", "ZeroDivisionError: division by zero"),
    ],
)
def test_a_package_that_cannot_be_imported_is_named_where_its_kind_is_asked_for(
    tmp_path: Path, text: str | None, why: str
) -> None:
    """In a process of its own, since what a file may say is made once."""
    metadata_of = tmp_path / "broken-1.dist-info"
    metadata_of.mkdir()
    (metadata_of / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1\n")
    (metadata_of / "entry_points.txt").write_text(f"[{kinds.GROUP}]\nbroken = broken:Trial\n")
    if text is not None:
        (tmp_path / "broken.py").write_text(text)
    code = """
from pathlib import Path
from trialwise.errors import PlanError
from trialwise.experiment.reading import parse_experiment
text = '[experiment]\\nname = "x"\\n[trial]\\nkind = "KIND"\\ncommand = "true"\\n[metrics.wall]\\nresource = "wall"\\n'
print(parse_experiment(text.replace("KIND", "command"), Path("x")).trial.kind)
try:
    parse_experiment(text.replace("KIND", "broken"), Path("x"))
except PlanError as error:
    print(error.message)
"""
    path = os.pathsep.join(filter(None, (str(tmp_path), os.environ.get("PYTHONPATH"))))
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=False
    )  # fmt: skip
    assert done.stdout == f"command\na kind of trial needs broken:Trial: {why}\n", done.stderr


@dataclass(frozen=True, slots=True)
class One(Trial):
    text: str = "a"
    kind: str = "one"


def test_the_record_of_a_plan_names_a_kind_of_others() -> None:
    record = plan_record(Experiment("x", folder=Path(), trial=One("b"), metrics=()))
    assert record["trial"] == {"kind": "one", "text": "b"}


def test_no_record_of_another_package_takes_the_name_of_one_of_ours() -> None:
    with pytest.raises(
        TypeError, match=r"trialwise\.experiment\.trials has a record called PathTable already"
    ):
        type("PathTable", (Trial,), {"__module__": "paths"})
