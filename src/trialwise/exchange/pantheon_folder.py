"""The folder of results of a Pantheon test, as trials: one for each run of each scheme.

Throughput, delay and loss are what Pantheon's `plot.py` says of all flows together: from `pantheon_perf.json`, else computed anew from
the merged logs of the tunnels, `<scheme>_datalink_run<N>.log`.
"""

from __future__ import annotations

import re
from pathlib import Path

from pydantic import BaseModel, TypeAdapter, ValidationError

from trialwise.analysis.comparison.sides import treatment_name
from trialwise.analysis.trial_set import MetricFacts, TrialSet
from trialwise.errors import AnalysisError
from trialwise.exchange.pantheon_log import read_merged_log
from trialwise.exchange.pantheon_statistics import FlowStatistics, pantheon_statistics
from trialwise.exchange.trial_cells import Cells, Place
from trialwise.experiment.quantities import QUANTITIES

PERF, METADATA = "pantheon_perf.json", "pantheon_metadata.json"
THROUGHPUT, DELAY, LOSS = "pantheon_throughput", "pantheon_delay", "pantheon_loss"
_LOG = re.compile(r"(.+)_datalink_run(\d+)\.log")


class Flow(BaseModel):
    """What Pantheon says of a flow or of all: Mbit/s, ms, and the loss as a share."""

    tput: float | None = None
    delay: float | None = None
    loss: float | None = None


class Metadata(BaseModel):
    """What Pantheon says of a test."""

    runtime: float | None = None


Perf = dict[str, dict[str, dict[str, Flow]]]
"""Scheme, run, `all` or flow."""
PERF_FORM = TypeAdapter[Perf](Perf)


def is_pantheon_folder(folder: Path) -> bool:
    """Whether a folder holds what a Pantheon test leaves."""
    return any(is_pantheon_file(path.name) for path in folder.iterdir())


def is_pantheon_file(name: str) -> bool:
    """Whether a Pantheon test leaves a file of this name that is read here."""
    return name in (PERF, METADATA) or _LOG.fullmatch(name) is not None


def pantheon_trials(folder: Path, name: str) -> TrialSet:
    """The runs of all schemes.

    Raises
    ------
    AnalysisError
        There is no run, or the only one that cannot be read; others that cannot be read are named in the notes.
    """
    if (folder / PERF).is_file():
        return perf_trials(read_perf(folder / PERF), name, _runtime(folder))
    found: dict[str, dict[str, dict[str, Flow]]] = {}
    notes: list[str] = []
    for path in sorted(folder.iterdir(), key=_order):
        if match := _LOG.fullmatch(path.name):
            try:
                total = pantheon_statistics(read_merged_log(path)).total
            except AnalysisError as error:
                notes.append(f"left out: {error.message}")
                continue
            found.setdefault(match[1], {})[match[2]] = {"all": _flow(total)}
    if not found and not notes:
        raise AnalysisError(
            f"{folder}: there is neither {PERF} nor a log of a run (SCHEME_datalink_runN.log)",
            hint="run Pantheon's analysis in that folder, or name the folder that holds the logs",
        )
    notes.append(f"there is no {PERF}: throughput, delay and loss were computed from the logs of the tunnels")
    return perf_trials(found, name, _runtime(folder), notes)


def read_perf(path: Path) -> Perf:
    """Read a `pantheon_perf.json`.

    Raises
    ------
    AnalysisError
        It cannot be read, or is none.
    """
    try:
        return PERF_FORM.validate_json(path.read_bytes())
    except OSError as error:
        raise AnalysisError(f"{path}: cannot be read: {error.strerror}") from error
    except ValidationError as error:
        raise AnalysisError(
            f"{path}: is no {PERF}: {error.errors()[0]['msg']}",
            hint="scheme, run, then `all` with tput, delay and loss",
        ) from error


def perf_trials(
    perf: Perf, name: str, runtime: float | None = None, notes: list[str] | None = None
) -> TrialSet:
    """The runs of a `pantheon_perf.json`; `runtime` is how long one takes, in seconds."""
    cells = Cells(name, metrics={metric: _facts(metric) for metric in (THROUGHPUT, DELAY, LOSS)})
    said = list(notes or ())
    for scheme, runs in perf.items():
        treatment = treatment_name({"scheme": scheme})
        cells.treatments[treatment] = {"scheme": scheme}
        for run, flows in runs.items():
            trial = f"{name}#{scheme}/{run}"
            if "all" in flows:
                _add(cells, treatment, flows["all"], Place(trial, trial, round=run), runtime)
            else:
                said.append(f"run {run} of {scheme} says nothing of all flows together: left out")
    return cells.trial_set(said)


def _add(cells: Cells, treatment: str, flow: Flow, place: Place, runtime: float | None) -> None:
    cells.add(THROUGHPUT, treatment, flow.tput, place, runtime)
    cells.add(DELAY, treatment, flow.delay, place, runtime)
    cells.add(LOSS, treatment, None if flow.loss is None else 100 * flow.loss, place, runtime)


def _facts(metric: str) -> MetricFacts:
    quantity = QUANTITIES[metric]
    return MetricFacts(metric, quantity.unit, quantity.better)


def _flow(total: FlowStatistics) -> Flow:
    return Flow(tput=total.throughput, delay=total.delay, loss=total.loss)


def _order(path: Path) -> tuple[str, int]:
    match = _LOG.fullmatch(path.name)
    return (match[1], int(match[2])) if match else (path.name, 0)


def _runtime(folder: Path) -> float | None:
    """Seconds of a run; None where the folder does not say."""
    try:
        return Metadata.model_validate_json((folder / METADATA).read_bytes()).runtime
    except (OSError, ValidationError):
        return None
