"""Trial kind `python`: one call of `module:function` in a fresh process."""

from __future__ import annotations

import dataclasses
import json
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from trialwise.errors import PlanError, TrialError
from trialwise.experiment.model import CommandTrial, Experiment, Level, PythonTrial, ReturnSource
from trialwise.measurement.samples import Samples
from trialwise.trials.base import TrialOutcome, TrialRequest
from trialwise.trials.command import CommandKind

_CALLING = Path(__file__).with_name("calling.py")


class PythonKind:
    """Calls a Python function in a process of its own and reads what it returned."""

    def check(self, experiment: Experiment, factors: Sequence[Mapping[str, Level]]) -> None:  # noqa: ARG002
        """Raise PlanError where the module is not found or the directory is not there."""
        trial = _trial_of(experiment)
        folder = experiment.folder / trial.directory
        if not folder.is_dir():
            raise PlanError(f"trial.directory: {folder} is not a directory")
        if _module_file(trial, folder) is None:
            module = trial.call.partition(":")[0]
            raise PlanError(
                f"trial.call: no module {module!r} in {folder} or in this Python",
                hint="install it, or set trial.directory",
            )

    def programs(self, experiment: Experiment, factors: Sequence[Mapping[str, Level]]) -> Iterator[Path]:  # noqa: ARG002
        """Name the interpreter and the module's file."""
        trial = _trial_of(experiment)
        yield Path(sys.executable)
        if module := _module_file(trial, experiment.folder / trial.directory):
            yield module

    def execute(self, request: TrialRequest) -> TrialOutcome:
        """Call the function in a fresh process and read what it returned."""
        request.scratch.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(prefix=f"{request.number}-{request.attempt}-", dir=request.scratch))
        try:
            return self._call(request, folder / "result.json")
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _call(self, request: TrialRequest, result: Path) -> TrialOutcome:
        trial = _trial_of(request.experiment)
        built_in = {
            "seed": request.seed,
            "series": request.series,
            "round": request.round,
            "position": request.position,
        }
        request_file = result.with_name("keywords.json")
        request_file.write_text(json.dumps({**request.factors, "__built_in__": built_in}))
        command = CommandTrial(
            command=(sys.executable, str(_CALLING), trial.call, str(request_file), str(result)),
            environment=trial.environment,
            directory=trial.directory,
            timeout=trial.timeout,
        )
        metrics = tuple(
            metric for metric in request.experiment.metrics if not isinstance(metric.source, ReturnSource)
        )
        experiment = dataclasses.replace(request.experiment, trial=command, metrics=metrics)
        outcome = CommandKind().execute(dataclasses.replace(request, experiment=experiment))
        if outcome.status != "finished":
            return outcome
        try:
            returned = _returned(request.experiment, json.loads(result.read_text()))
        except (TrialError, OSError, ValueError) as error:
            return dataclasses.replace(outcome, status="failed", reason=str(error), finished=time.time())
        return dataclasses.replace(outcome, samples={**outcome.samples, **returned})


def _trial_of(experiment: Experiment) -> PythonTrial:
    if not isinstance(experiment.trial, PythonTrial):
        raise TypeError(experiment.trial)
    return experiment.trial


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


def _returned(
    experiment: Experiment, document: Mapping[str, Mapping[str, list[float] | None]]
) -> dict[str, Samples]:
    return {
        metric.source.key: _samples(metric.name, metric.source.name, document)
        for metric in experiment.metrics
        if isinstance(metric.source, ReturnSource)
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
    return Samples(values, None if times is None else np.array(times, dtype=np.float64))
