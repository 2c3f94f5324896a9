"""The trial of a checked document, by its kind."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from trialwise.experiment import document as doc
from trialwise.experiment import trials
from trialwise.experiment.command_lines import command_words
from trialwise.experiment.document_trial import TrialSection
from trialwise.experiment.path_building import PATH_KEYS, path_trial
from trialwise.experiment.positions import Key
from trialwise.experiment.problems import Problems
from trialwise.experiment.simulation_building import (
    SIMULATION_KEYS,
    SIMULATION_METRIC_KEYS,
    simulation_trial,
)


def build_trial(document: doc.Document, problems: Problems) -> trials.Trial:
    """The trial as the record of its kind; keys that go with another kind are noted."""
    section = document.trial
    environment = tuple(sorted(section.environment.items()))
    for name in section.environment:
        if not name or "=" in name or "\0" in name:
            problems.add(("trial", "environment", name), "cannot be the name of a variable")
    if section.kind == "path":
        _refuse_simulation_keys(document, problems)
        return path_trial(document, problems)
    if section.kind == "simulation":
        return simulation_trial(document, problems)
    _refuse_path_keys(document, problems)
    _refuse_simulation_keys(document, problems)
    if section.kind == "python":
        return _python_trial(section, environment, problems)
    if section.call is not None:
        problems.add(("trial", "call"), 'goes with kind = "python"; a command stands in trial.command')
    if section.command is None:
        problems.add(
            ("trial", "command"), "missing", 'write the command line, as in command = "sleep {duration}"'
        )
    return trials.CommandTrial(
        command=command_words(("trial", "command"), section.command, problems) or (),
        environment=environment,
        directory=section.directory,
        prepare=command_words(("trial", "prepare"), section.prepare, problems),
        conclude=command_words(("trial", "conclude"), section.conclude, problems),
        timeout=section.timeout,
        exit_codes=tuple(section.exit_codes),
        output_limit=section.output_limit,
        leftovers=section.leftovers,
        isolate=tuple(dict.fromkeys(section.isolate)),
        keep=tuple(_kept(section.keep, problems)),
    )


def _kept(places: list[str], problems: Problems) -> Iterator[str]:
    """Give the places below the working directory, and note those that are not."""
    for number, place in enumerate(places):
        if place.startswith(("/", "~")) or ".." in place.split("/"):
            problems.add(("trial", "keep", number), f"{place!r} is not below the working directory")
        yield place


def _refuse_path_keys(document: doc.Document, problems: Problems) -> None:
    given: list[Key] = [("trial", name) for name in PATH_KEYS if name in document.trial.model_fields_set]
    given += [(name,) for name in ("schemes", "paths") if problems.given((name,))]
    given += _given_metric_keys(document, ("quantity", "flow", "bin"), problems)
    for key in given:
        problems.add(key, 'goes with kind = "path"')


def _refuse_simulation_keys(document: doc.Document, problems: Problems) -> None:
    given: list[Key] = [
        ("trial", name) for name in SIMULATION_KEYS if name in document.trial.model_fields_set
    ]
    given += [("tilts",)] if problems.given(("tilts",)) else []
    given += _given_metric_keys(document, SIMULATION_METRIC_KEYS, problems)
    for key in given:
        problems.add(key, 'goes with kind = "simulation"')


def _given_metric_keys(document: doc.Document, names: Sequence[str], problems: Problems) -> list[Key]:
    keys: list[Key] = [("metrics", metric, name) for metric in document.metrics for name in names]
    return [key for key in keys if problems.given(key)]


def _python_trial(
    section: TrialSection, environment: tuple[tuple[str, str], ...], problems: Problems
) -> trials.PythonTrial:
    for name in ("command", "prepare", "conclude", "exit_codes", "output_limit", "keep", "leftovers"):
        if name in section.model_fields_set:
            problems.add(("trial", name), 'goes with kind = "command"')
    if section.call is None:
        problems.add(("trial", "call"), "missing", 'write call = "module:function"')
    isolate = tuple(dict.fromkeys(section.isolate))
    return trials.PythonTrial(
        section.call or "", environment, section.directory, section.timeout, isolate, section.process
    )
