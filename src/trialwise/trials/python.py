"""Trial kind `python`: one call of `module:function` in a fresh process."""

from __future__ import annotations

import dataclasses
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from trialwise.errors import PlanError, TrialError
from trialwise.experiment.model import Experiment, Level
from trialwise.experiment.placeholders import fill
from trialwise.experiment.sources import ReturnSource
from trialwise.experiment.traits import assumed, sources_of
from trialwise.experiment.trials import CommandTrial, PythonTrial
from trialwise.measurement.file_identity import NamedFile
from trialwise.measurement.python_imports import imported_files
from trialwise.measurement.python_modules import loaded_files
from trialwise.measurement.samples import Samples
from trialwise.trials import invoke
from trialwise.trials.base import TrialOutcome, TrialRequest
from trialwise.trials.command import CommandKind
from trialwise.trials.instrumenting import check_instruments
from trialwise.trials.removing import remove_tree
from trialwise.trials.surroundings import inherited

INVOKE = Path(invoke.__file__)
_LOOKING_SECONDS = 120.0
"""Maximum seconds for importing the function when it is checked before anything runs."""


class PythonKind:
    """Calls a Python function in a separate process and reads what it returned."""

    def __init__(self) -> None:
        self._command = CommandKind()

    def check(self, experiment: Experiment, factors: Sequence[Mapping[str, Level]]) -> None:
        """Raise PlanError if the function cannot be imported, or does not accept the factors."""
        trial = trial_of(experiment)
        folder = experiment.folder / trial.directory
        if not folder.is_dir():
            raise PlanError(f"trial.directory: {folder} is not a directory")
        if _module_file(trial, folder) is None:
            module = trial.call.partition(":")[0]
            raise PlanError(
                f"trial.call: no module {module!r} in {folder} or in this Python",
                hint="install it, or set trial.directory",
            )

        _try_call(experiment, trial, factors)
        check_instruments(experiment)

    def programs(
        self,
        experiment: Experiment,
        factors: Sequence[Mapping[str, Level]],  # noqa: ARG002 required by the protocol
    ) -> Iterator[NamedFile]:
        """Name the interpreter, the module's file, and the project files that it imports."""
        trial = trial_of(experiment)
        yield NamedFile(Path(sys.executable), "interpreter")
        if module := _module_file(trial, experiment.folder / trial.directory):
            yield NamedFile(module, "script")
            for path in imported_files(module, [experiment.folder / trial.directory]):
                yield NamedFile(path, "script")

    def attachments(
        self,
        experiment: Experiment,  # noqa: ARG002 required by the protocol
        factors: Sequence[Mapping[str, Level]],  # noqa: ARG002 required by the protocol
    ) -> Iterator[tuple[str, Path]]:
        """Yield nothing: the experiment file is complete."""
        yield from ()

    def execute(self, request: TrialRequest) -> TrialOutcome:
        """Call the function in a fresh process and read what it returned."""
        request.scratch.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(prefix=f"{request.number}-{request.attempt}-", dir=request.scratch))
        try:
            return self._call(request, folder / "result.json")
        finally:
            remove_tree(folder)

    def _call(self, request: TrialRequest, result: Path) -> TrialOutcome:
        trial = trial_of(request.experiment)
        request_file = result.with_name("keywords.json")
        request_file.write_text(keywords_of(request))
        loaded_file = result.with_name("loaded.json")
        files = (request_file, result, *([loaded_file] if request.follow else []))
        command = CommandTrial(
            command=_literal((sys.executable, str(INVOKE), trial.call, *map(str, files))),
            environment=trial.environment,
            passed=trial.passed,
            secret=trial.secret,
            directory=trial.directory,
            timeout=trial.timeout,
            isolate=trial.isolate,
        )
        metrics = tuple(
            metric for metric in request.experiment.metrics if not isinstance(metric.source, ReturnSource)
        )
        experiment = dataclasses.replace(request.experiment, trial=command, metrics=metrics)
        outcome = self._command.execute(dataclasses.replace(request, experiment=experiment))
        if outcome.seen is not None and loaded_file.exists():
            files = loaded_files(json.loads(loaded_file.read_text()))
            seen = outcome.seen._replace(files=[*outcome.seen.files, *files])
            outcome = dataclasses.replace(outcome, seen=seen)
        if outcome.status != "finished":
            return outcome
        if not result.exists():
            return dataclasses.replace(
                outcome, status="failed", reason="the function ended its process instead of returning"
            )
        try:
            returned = returned_samples(request.experiment, json.loads(result.read_text()))
        except (TrialError, OSError, ValueError) as error:
            return dataclasses.replace(outcome, status="failed", reason=str(error))
        return dataclasses.replace(outcome, samples={**outcome.samples, **returned})


def trial_of(experiment: Experiment) -> PythonTrial:
    """Return the trial of an experiment of this kind."""
    return assumed(experiment.trial, PythonTrial)


def keywords_of(request: TrialRequest) -> str:
    """Return the function's arguments as a line of JSON: the factors and, separately, the built-in values."""
    built_in = {
        "seed": request.seed,
        "series": request.series,
        "round": request.round,
        "position": request.position,
        "trial": request.number,
    }
    return json.dumps({**told(request.experiment, request.factors), "__built_in__": built_in})


def _literal(words: Sequence[str]) -> tuple[str, ...]:
    """Escape words so that `fill` returns them unchanged, whatever braces a path has."""
    return tuple(re.sub(r"\{([^{}]*)\}", r"{{\1}}", word) for word in words)


def told(experiment: Experiment, factors: Mapping[str, Level]) -> dict[str, Level]:
    """Return the levels that are passed to the function."""
    return {name: level for name, level in factors.items() if name not in experiment.design.unseen}


def _try_call(experiment: Experiment, trial: PythonTrial, factors: Sequence[Mapping[str, Level]]) -> None:
    """Import the function in a fresh process and check that it accepts the factors, without calling it."""
    built_in: dict[str, Level] = dict.fromkeys(("seed", "series", "round", "position", "trial"), 0)
    values = built_in | dict(factors[0]) if factors else built_in
    own = {name: fill(text, values) for name, text in trial.environment}
    keywords = {**(told(experiment, factors[0]) if factors else {}), "__built_in__": built_in}
    try:
        done = subprocess.run(
            [sys.executable, str(INVOKE), trial.call, "-", "-"],
            input=json.dumps(keywords),
            cwd=experiment.folder / trial.directory,
            env={**inherited(trial, os.environ), **own},
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_LOOKING_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise PlanError(
            f"trial.call: importing {trial.call} takes longer than {_LOOKING_SECONDS:g} s",
            hint="do what takes long inside the function",
        ) from error
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines() or [f"the process ended with {done.returncode}"]
        raise PlanError(
            f"trial.call: {trial.call} cannot be called with the factors of the experiment: {lines[-1]}",
            hint="the function takes each factor as a keyword; of seed, series, round, position and trial those it names",
        )


def _module_file(trial: PythonTrial, folder: Path) -> Path | None:
    module = trial.call.partition(":")[0]
    local = folder.joinpath(*module.split("."))
    for candidate in (local.with_suffix(".py"), local / "__init__.py"):
        if candidate.is_file():
            return candidate
    try:
        spec = find_spec(module.split(".")[0])
    except (ImportError, ValueError):
        return None
    return Path(spec.origin) if spec and spec.origin else None


def returned_samples(
    experiment: Experiment, document: Mapping[str, Mapping[str, list[float] | None]]
) -> dict[str, Samples]:
    """Return the samples of the returned metrics, by source key, from what the called process wrote.

    Raises
    ------
    TrialError
        A metric is missing or not finite.
    """
    return {
        source.key: _samples(metric.name, source.name, document)
        for metric, source in sources_of(experiment.metrics, ReturnSource)
    }


def _samples(metric: str, name: str, document: Mapping[str, Mapping[str, list[float] | None]]) -> Samples:
    entry = document.get(name, document.get(""))
    if entry is None:
        raise TrialError(
            f"metric {metric}: the function returned no {name!r}; it returned {', '.join(document)}"
        )
    values = np.array(entry["values"], dtype=np.float64)
    times = entry["times"]
    if values.size == 0:
        raise TrialError(f"metric {metric}: the function returned no number")
    if not np.isfinite(values).all():
        raise TrialError(f"metric {metric}: the function returned {values[~np.isfinite(values)][0]}")
    if times is not None and not np.isfinite(times).all():
        raise TrialError(f"metric {metric}: the function returned times that are not finite")
    return Samples(values, None if times is None else np.array(times, dtype=np.float64))
