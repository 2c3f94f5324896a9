"""Trial kind `python` with shared processes: in each series, the trials of a treatment are calls in one long-lived process."""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from trialwise.errors import PlanError, TrialError
from trialwise.experiment.model import Experiment, Level
from trialwise.experiment.placeholders import fill
from trialwise.experiment.sources import ResourceSource
from trialwise.experiment.traits import sources_of
from trialwise.measurement.file_identity import NamedFile
from trialwise.measurement.followed import Seen
from trialwise.measurement.interrupts import MachineCounts, read_machine_counts
from trialwise.measurement.masking import Masks
from trialwise.measurement.programs import files_beside
from trialwise.measurement.python_modules import loaded_files
from trialwise.measurement.samples import Samples
from trialwise.trials.base import TrialOutcome, TrialRequest
from trialwise.trials.instrumenting import as_samples
from trialwise.trials.marked import MARKER
from trialwise.trials.python import INVOKE, PythonKind, keywords_of, returned_samples, trial_of
from trialwise.trials.shared_process import SharedProcess, Silence, said_end
from trialwise.trials.surroundings import inherited, masked_outcome, secrets_of

MAX_PROCESSES = 64
"""Maximum number of processes that wait in parallel, one per treatment."""

_MAX_PROGRAMS = 200
"""Maximum number of programs examined that one call started."""
_PROGRAMS = "trial.call: what the function starts is not followed in a shared process: a change of such a program begins no series"

_Key = tuple[Level, ...]


class SharedPythonKind(PythonKind):
    """Calls a Python function in a process that the trials of a treatment share until the series ends.

    A new process begins with another series or session, after a reset made a fresh namespace, and after one that ended
    or had to be ended. Its name is the session and its number in it: `2.7`.
    """

    def __init__(self) -> None:
        super().__init__()
        self._environment = dict(os.environ)
        self._processes: dict[_Key, SharedProcess] = {}
        self._span: tuple[int, int, int | None] | None = None
        self._begun: dict[int, int] = {}

    def check(self, experiment: Experiment, factors: Sequence[Mapping[str, Level]]) -> None:
        """Raise PlanError as kind `python` does, and if there would be too many processes."""
        number = len({_key(experiment, values) for values in factors})
        if number > MAX_PROCESSES:
            raise PlanError(
                f'trial.process: "shared" keeps a process for each of {number} treatments; at most {MAX_PROCESSES} wait side by side',
                hint="have fewer levels, draw a factor, or leave process out",
            )
        super().check(experiment, factors)

    def execute(self, request: TrialRequest) -> TrialOutcome:
        """Call the function in the treatment's process, which is started if there is none."""
        masks = Masks(secrets_of(trial_of(request.experiment), self._environment))
        return masked_outcome(self._executed(request), request, masks)

    def _executed(self, request: TrialRequest) -> TrialOutcome:
        began = time.time()
        try:
            process = self._process(request)
        except TrialError as error:
            return TrialOutcome("failed", None, time.time(), reason=error.message)
        before = read_machine_counts() if request.experiment.instrumentation.interrupts else None
        answer = process.ask(
            _line(request),
            timeout=trial_of(request.experiment).timeout,
            cancel=request.cancel,
        )
        counted = _counted(request.experiment, before)
        output, errors = process.printed()
        told: dict[str, Any] = {"process": process.name, "output": output, "errors": errors}
        if isinstance(answer, bytes):
            return _answered(request.experiment, json.loads(answer), counted, told)
        return _unanswered(request.experiment, process, answer, began, told)

    def close(self) -> None:
        """End all processes."""
        for process in self._processes.values():
            process.let_go()
        for process in self._processes.values():
            process.end()
        self._processes.clear()

    def _process(self, request: TrialRequest) -> SharedProcess:
        span = request.session, request.series, request.namespace_pid
        if span != self._span:
            self.close()
            self._span = span
        key = _key(request.experiment, request.factors)
        known = self._processes.get(key)
        if known is not None and not known.is_alive:
            self._processes.pop(key).end()
            known = None
        if known is None:
            known = self._processes[key] = self._new(request)
        return known

    def _new(self, request: TrialRequest) -> SharedProcess:
        experiment, trial = request.experiment, trial_of(request.experiment)
        number = self._begun[request.session] = self._begun.get(request.session, 0) + 1
        request.scratch.mkdir(parents=True, exist_ok=True)
        own = {name: fill(text, request.places) for name, text in trial.environment}
        folder = Path(tempfile.mkdtemp(prefix="process-", dir=request.scratch))
        return SharedProcess(
            f"{request.session}.{number}",
            (sys.executable, str(INVOKE), trial.call, "serve", str(folder)),
            folder=folder,
            environment={**inherited(trial, self._environment), **own, MARKER: request.marker},
            directory=experiment.folder / fill(trial.directory, request.places),
            cpus=experiment.instrumentation.cpus,
            isolate=trial.isolate,
            namespace_pid=request.namespace_pid,
        )


def _key(experiment: Experiment, factors: Mapping[str, Level]) -> _Key:
    """Return the treatment: values sampled for each round go to the same process."""
    return tuple(factors[factor.name] for factor in experiment.fixed_factors)


def _line(request: TrialRequest) -> bytes:
    """Return the request: the keywords, and whether to report what it has loaded."""
    keywords = keywords_of(request)
    return (keywords[:-1] + ', "__follow__": true}' if request.follow else keywords).encode()


def _seen(answer: Mapping[str, Any]) -> dict[str, Any]:
    """Return the files that a call loaded, and what is unknown about it, if requested."""
    if "loaded" not in answer:
        return {}
    files = [*loaded_files(answer["loaded"]), *_started(answer["programs"])]
    unseen = answer["has_children"] and not answer["programs"]
    return {"seen": Seen(files), "remarks": (_PROGRAMS,) if unseen else ()}


def _started(programs: Sequence[tuple[list[str], str, str | None]]) -> Iterator[NamedFile]:
    """Name the files of the programs that the function started."""
    for words, directory, path in programs[:_MAX_PROGRAMS]:
        yield from files_beside(words, Path(directory), {} if path is None else {"PATH": path})


def _counted(experiment: Experiment, before: MachineCounts | None) -> dict[str, Samples]:
    """Return the machine's counts during the call."""
    if before is None:
        return {}
    return as_samples(read_machine_counts().since(before, experiment.instrumentation.cpus))


def _answered(
    experiment: Experiment,
    answer: Mapping[str, Any],
    counted: Mapping[str, Samples],
    told: Mapping[str, Any],
) -> TrialOutcome:
    """Return the outcome of a call that returned or raised; the process lives on."""
    started = float(answer["started"])
    if "raised" in answer:
        reason = f"the function raised {answer['raised']}"
        return TrialOutcome("failed", started, float(answer["finished"]), reason=reason, **told)
    finished = started + float(answer["wall"])
    try:
        samples = {
            **counted,
            **as_samples({name: float(answer[name]) for name in ("user", "system")}),
            **_resources(experiment, answer),
            **returned_samples(experiment, answer["document"]),
        }
    except TrialError as error:
        return TrialOutcome("failed", started, finished, reason=error.message, **told)
    return TrialOutcome("finished", started, finished, samples=samples, **told, **_seen(answer))


def _resources(experiment: Experiment, answer: Mapping[str, Any]) -> dict[str, Samples]:
    """Return the time that the call itself took: `wall`, `user` and `system`, in seconds."""
    return {
        source.key: Samples(np.array([float(answer[source.resource])]))
        for _, source in sources_of(experiment.metrics, ResourceSource)
    }


def _unanswered(
    experiment: Experiment, process: SharedProcess, why: Silence, began: float, told: Mapping[str, Any]
) -> TrialOutcome:
    """Return the outcome of a call whose process has ended, or had to be ended."""
    finished = time.time()
    if why == "cancelled":
        return TrialOutcome("abandoned", began, finished, reason="abandoned on request", **told)
    if why == "timed out":
        limit = trial_of(experiment).timeout
        reason = f"took longer than the timeout of {limit:g} s; its process was ended, and the next trial begins another"
        return TrialOutcome("failed", began, finished, reason=reason, cause="timeout", **told)
    try:
        end = process.how_it_ended(told["errors"])
    except TrialError as error:
        return TrialOutcome("failed", None, finished, reason=error.message, **told)
    return TrialOutcome("failed", began, finished, exit_code=end.exit_code, reason=said_end(end), **told)
