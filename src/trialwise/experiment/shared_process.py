"""Checks for a process that several trials share: it excludes whatever belongs to a process instead of a call."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from trialwise.experiment.file import document as doc
from trialwise.experiment.file.positions import Key
from trialwise.experiment.model import Factor, FixedFactor
from trialwise.experiment.placeholders import names_in
from trialwise.experiment.problems import Problems
from trialwise.experiment.trials import PythonTrial

_OWN = 'leave process = "shared" out, so that every trial has a process of its own'
_RETURN = "return the number from the function"


def check_shared_process(document: doc.Document, factors: Sequence[Factor], problems: Problems) -> None:
    """Note everything in the file that a process serving several trials cannot provide."""
    if not document.trial.shares:
        return
    key: Key = ("trial", "process")
    if not isinstance(document.trial, PythonTrial):
        problems.add(
            key,
            f'"shared" is only valid with kind = "python"; a trial of kind "{document.trial.kind}" is programs of its own',
            "to keep a program running, start it in a Python function and call that",
        )
        return
    _check_texts(document.trial, factors, problems)
    _check_metrics(document, problems)
    _check_beside(document, problems)


def _check_texts(trial: PythonTrial, factors: Sequence[Factor], problems: Problems) -> None:
    """Note texts that differ between calls: the shared process gets environment and directory only once."""
    same = {factor.name for factor in factors if isinstance(factor, FixedFactor)} | {"series"}
    for key, text in _texts(trial):
        for name in sorted(names_in(text) - same):
            problems.add(
                key,
                f"{{{name}}} may differ from call to call, and a shared process gets this once",
                f"let the function take it as a keyword; or {_OWN}",
            )


def _texts(trial: PythonTrial) -> Iterator[tuple[Key, str]]:
    yield ("trial", "directory"), trial.directory
    for name, text in trial.environment:
        yield ("trial", "environment", name), text


def _check_metrics(document: doc.Document, problems: Problems) -> None:
    for name, metric in document.metrics.items():
        key: Key = ("metrics", name)
        if metric.resource == "max_rss":
            problems.add(
                (*key, "resource"),
                "the peak of a shared process is that of all its trials so far",
                f"measure it in the function and return it; or {_OWN}",
            )
        for reader in ("stdout", "json", "csv", "pattern", "file"):
            if getattr(metric, reader) is not None:
                problems.add(
                    (*key, reader),
                    "reads what a program wrote, and a shared process writes for many trials",
                    f"{_RETURN}; or {_OWN}",
                )
        if metric.stream is not None:
            problems.add(
                (*key, "source"), "a collector is for one process and one trial", f"{_RETURN}; or {_OWN}"
            )


def _check_beside(document: doc.Document, problems: Problems) -> None:
    if document.measurement is not None:
        problems.add(("measurement",), "a collector is for one process and one trial", _OWN)
    for name in ("perf", "resources"):
        if getattr(document.instrumentation, name):
            problems.add(
                ("instrumentation", name),
                "counts a process from its start to its end, and a shared one serves many trials",
                f'take resource = "user" and "system" as metrics, which are counted for each call; or {_OWN}',
            )
