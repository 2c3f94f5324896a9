"""Import the results folder of a Pantheon test as trials: one for each run of each scheme.

Throughput, delay and loss are those of Pantheon's `plot.py` for all flows together: from `pantheon_perf.json`, else recomputed from
the merged logs of the tunnels, `<scheme>_datalink_run<N>.log`, or from those of their ends. Runs that Pantheon ignores are ignored
here, and named in the notes (`pantheon_runs`). The folder comes from others: no link in it is followed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf, isfinite
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, BaseModel, TypeAdapter, ValidationError

from trialwise.analysis.comparison.sides import treatment_name
from trialwise.analysis.trial_set import MetricFacts, TrialSet
from trialwise.errors import AnalysisError
from trialwise.exchange.log_lines import MAX_LOG
from trialwise.exchange.pantheon_log import MergedLog, read_link_as_merged, read_merged_log
from trialwise.exchange.pantheon_runs import (
    Metadata,
    RunLog,
    ignored_note,
    is_log,
    missing_notes,
    run_logs,
    why_ignored,
)
from trialwise.exchange.pantheon_statistics import FlowStatistics, pantheon_statistics
from trialwise.exchange.pantheon_times import RunTimes, is_stats_log, run_times
from trialwise.exchange.pantheon_tunnels import Run, is_tunnel_log, merged_tunnels, tunnels_of
from trialwise.exchange.trial_cells import Cells, Place
from trialwise.experiment.quantities import QUANTITIES
from trialwise.foreign_files import MEBIBYTE, open_foreign, read_foreign
from trialwise.readers.tables.content import content_of

PERF, METADATA = "pantheon_perf.json", "pantheon_metadata.json"
THROUGHPUT, DELAY, LOSS = "pantheon_throughput", "pantheon_delay", "pantheon_loss"
MAX_FILES = 100_000
"""Maximum files of a folder: a test of a thousand runs of every scheme leaves fewer."""
MAX_PERF = 64 * MEBIBYTE
_MAX_METADATA = MEBIBYTE
_MERGED = b"# init timestamp"


def _rate(value: float) -> float:
    if value < 0:
        raise ValueError(f"a throughput of {value:g} Mbit/s cannot be")
    return value


def _share(value: float) -> float:
    if 1 < value < inf:
        raise ValueError(f"{value:g} is no share of packets that were lost")
    return value


class Flow(BaseModel):
    """Pantheon's numbers for one flow or all: Mbit/s, ms, and the loss as a fraction, which is negative where packets arrive twice."""

    tput: Annotated[float, AfterValidator(_rate)] | None = None
    delay: float | None = None
    loss: Annotated[float, AfterValidator(_share)] | None = None


Perf = dict[str, dict[str, dict[str, Flow]]]
"""Flows by scheme, run, and `all` or the flow."""
PERF_FORM = TypeAdapter[Perf](Perf)


@dataclass(frozen=True, slots=True)
class PantheonRuns:
    """What the results of a test say: the metrics of each run that counts, and when runs began, also of those that do not count.

    `values` are in Mbit/s, ms and percent; `runtime` is the duration of a run in seconds, and `began` are Unix seconds.
    """

    values: Mapping[Run, Mapping[str, float]]
    runtime: float | None
    notes: tuple[str, ...]
    began: Mapping[Run, float]


@dataclass(slots=True)
class _Runs:
    """What the logs say about runs, and the notes on them."""

    perf: Perf = field(default_factory=dict[str, dict[str, dict[str, Flow]]])
    ignored: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    notes: list[str] = field(default_factory=list[str])


def is_pantheon_folder(folder: Path) -> bool:
    """Return True if a folder holds the results of a Pantheon test."""
    return any(is_pantheon_file(path.name) for path in folder.iterdir())


def is_pantheon_file(name: str) -> bool:
    """Return True if a file of this name belongs to a Pantheon test and is read here."""
    return name in (PERF, METADATA) or is_log(name) or is_tunnel_log(name) or is_stats_log(name)


def largest_file(name: str) -> int:
    """Return the maximum bytes read of a file of this name."""
    return {PERF: MAX_PERF, METADATA: _MAX_METADATA}.get(name, MAX_LOG)


def pantheon_runs(folder: Path) -> PantheonRuns:
    """Return the runs of all schemes.

    Raises
    ------
    AnalysisError
        There is no run, or the only one cannot be read; other unreadable runs, and those that Pantheon ignores, are
        named in the notes.
    """
    metadata, notes = _metadata(folder)
    names = _names(folder)
    logs = run_logs(names, lambda file: _is_merged(folder, file), metadata, tunnels_of(names))
    times = run_times(folder, names)
    if PERF in names:
        perf = read_perf(folder / PERF, within=folder)
        notes += [*_left_by_pantheon(perf, logs), *_below_zero(perf)]
        return _perf_runs(perf, metadata.runtime, notes, times)
    if not logs:
        raise AnalysisError(f"{folder}: there is no {PERF}, and {_no_log(names)}", hint=_WANTED)
    found = _Reader(folder, metadata, times).runs(logs)
    notes += [*found.notes, *ignored_note(found.ignored)]
    notes += missing_notes([(log.scheme, log.run) for log in logs], metadata)
    if found.perf:
        notes += _how_computed([log for log in logs if log.run in found.perf.get(log.scheme, ())], metadata)
    return _perf_runs(found.perf, metadata.runtime, notes, times)


_WANTED = "run Pantheon's analysis in that folder, or name the folder that holds the logs"


def _no_log(names: list[str]) -> str:
    """Explain why a folder has no usable log of a run."""
    if any(map(is_log, names)):
        return "its logs are the link's alone (SCHEME_mm_datalink_runN.log), while the test had tunnels"
    return "no log of a run (SCHEME_datalink_runN.log)"


@dataclass(frozen=True, slots=True)
class _Reader:
    """Reads the logs of runs in one folder."""

    folder: Path
    metadata: Metadata
    times: Mapping[Run, RunTimes]

    def runs(self, logs: list[RunLog]) -> _Runs:
        found = _Runs()
        for log in logs:
            try:
                events = self._events(log)
            except AnalysisError as error:
                found.notes.append(f"left out: {error.message}")
                continue
            statistics = pantheon_statistics(events) if events else None
            why = why_ignored(statistics, self.metadata.runtime) if statistics else "its log is empty"
            if events is None or statistics is None or why:
                found.ignored.append((log.label, why or ""))
                continue
            found.perf.setdefault(log.scheme, {})[log.run] = {"all": _flow(statistics.total)}
            found.notes += _clocks_note(log, events)
        return found

    def _events(self, log: RunLog) -> MergedLog | None:
        """Read the log of one run, merged if need be; None if it is empty."""
        if log.tunnels:
            return self._merged(log)
        path = self.folder / log.file
        with open_foreign(path, within=self.folder) as file:
            if not file.read(1):
                return None
        return (read_link_as_merged if log.of_link else read_merged_log)(path, within=self.folder)

    def _merged(self, log: RunLog) -> MergedLog:
        wanted = self.metadata.tunnels
        if len(log.tunnels) < wanted:
            raise AnalysisError(f"{log.label}: the logs of {len(log.tunnels)} of {wanted} tunnels are there")
        times = self.times.get((log.scheme, log.run), RunTimes())
        try:
            return merged_tunnels(self.folder, log.tunnels, times.offsets(self.metadata.sender_side))
        except AnalysisError as error:
            raise AnalysisError(f"{log.label}: {error.message}", hint=error.hint) from error


def _clocks_note(log: RunLog, events: MergedLog) -> Iterator[str]:
    """Note a run whose packets came out before they went in, by the clocks of the two ends."""
    least = float(events.delays.min(initial=0.0))
    if least < 0:
        yield _apart(log.label, least)


def _apart(run: str, least: float) -> str:
    return (
        f"{run}: one-way delays are down to {least:.4g} ms: the clocks of its two ends differ by more than that, and only differences "
        "between its delays are right"
    )


def _below_zero(perf: Perf) -> Iterator[str]:
    """Note the runs of a `pantheon_perf.json` whose delay says that packets came out before they went in."""
    for scheme, runs in perf.items():
        for run, flows in runs.items():
            if (delay := flows.get("all", Flow()).delay) is not None and delay < 0:
                yield _apart(f"run {run} of {scheme}", delay)


def _is_merged(folder: Path, name: str) -> bool:
    try:
        with open_foreign(folder / name, within=folder) as file:
            return file.read(len(_MERGED)) == _MERGED
    except AnalysisError:
        return False


def _how_computed(logs: list[RunLog], metadata: Metadata) -> Iterator[str]:
    if unmerged := sum(bool(log.tunnels) for log in logs):
        runs = "1 run was" if unmerged == 1 else f"{unmerged} runs were"
        yield f"{runs} merged from the logs of both ends of the tunnels"
    if any(log.of_link for log in logs):
        yield (
            f"there is no {PERF}, and there were no tunnels: throughput, delay and loss were computed from the logs of the link, "
            "whose delay is that of its queue alone"
        )
    else:
        yield f"there is no {PERF}: throughput, delay and loss were computed from the logs of the tunnels"
    if metadata.runtime is None:
        yield f"{METADATA} has no runtime: runs that ended early cannot be told from complete ones"


def _left_by_pantheon(perf: Perf, logs: list[RunLog]) -> Iterator[str]:
    """Note the runs that have a log but are missing from Pantheon's file."""
    left = [log for log in logs if log.scheme in perf and log.run not in perf[log.scheme]]
    yield from ignored_note([(log.label, f"it is not in {PERF}") for log in left])


def read_perf(path: Path, *, within: Path | None = None) -> Perf:
    """Read a `pantheon_perf.json`; `within` is a folder filled by others that must contain it (`foreign_files`).

    Raises
    ------
    AnalysisError
        It cannot be read or has another content.
    """
    return _perf_of(path, read_foreign(path, MAX_PERF, within=within))


def _perf_of(path: Path, content: bytes) -> Perf:
    try:
        return PERF_FORM.validate_json(content)
    except ValidationError as error:
        first = error.errors()[0]
        where = "".join(f"{part}: " for part in first["loc"] if part != "[key]")
        raise AnalysisError(
            f"{path}: is not a valid {PERF}: {where}{first['msg']}",
            hint="scheme, run, then `all` with tput (Mbit/s), delay (ms) and loss (a share)",
        ) from error


def trials(path: Path, name: str) -> TrialSet:
    """Return the runs of a separate `pantheon_perf.json` as trials."""
    perf = _perf_of(path, content_of(path))
    return trials_of(_perf_runs(perf, notes=[*_below_zero(perf)]), name)


def _perf_runs(
    perf: Perf,
    runtime: float | None = None,
    notes: Sequence[str] = (),
    times: Mapping[Run, RunTimes] | None = None,
) -> PantheonRuns:
    """Return the runs of a `pantheon_perf.json`.

    A run that lacks one of the metrics that others have is ignored entirely, so that all metrics cover the same runs.
    """
    totals = {
        (scheme, run): _values(flows.get("all", Flow()))
        for scheme, runs in perf.items()
        for run, flows in runs.items()
    }
    metrics = _metrics(totals)
    whole = {run: values for run, values in totals.items() if values and len(values) == len(metrics)}
    ignored = [
        (f"run {run} of {scheme}", _what_lacks(values, metrics))
        for (scheme, run), values in totals.items()
        if (scheme, run) not in whole
    ]
    began = {run: each.began for run, each in (times or {}).items() if each.began is not None}
    return PantheonRuns(whole, runtime, (*notes, *ignored_note(ignored, "left out")), began)


def _metrics(values: Mapping[Run, Mapping[str, float]]) -> list[str]:
    said = {metric for own in values.values() for metric in own}
    return [metric for metric in (THROUGHPUT, DELAY, LOSS) if metric in said]


def trials_of(runs: PantheonRuns, name: str) -> TrialSet:
    """Return runs as trials of results of this name.

    Raises
    ------
    AnalysisError
        There is none.
    """
    cells = Cells(name, metrics={metric: metric_facts(metric) for metric in _metrics(runs.values)})
    for (scheme, run), values in runs.values.items():
        treatment = treatment_name({"scheme": scheme})
        cells.treatments[treatment] = {"scheme": scheme}
        trial = run_name(name, scheme, run)
        place, began = Place(trial, trial, round=run), runs.began.get((scheme, run))
        for metric, value in values.items():
            cells.add(metric, treatment, [value], place, runs.runtime, began)
    return cells.trial_set(runs.notes)


def run_name(name: str, scheme: str, run: str) -> str:
    """Return the name of a run as a trial of the results of this name."""
    return f"{name}#{scheme}/{run}"


def _what_lacks(values: dict[str, float], metrics: list[str]) -> str:
    missing = ", ".join(metric.removeprefix("pantheon_") for metric in metrics if metric not in values)
    return f"it has no {missing if values else 'value'} of all flows together"


def _values(total: Flow) -> dict[str, float]:
    """Return the metrics that have a value."""
    loss = None if total.loss is None else 100 * total.loss
    values = {THROUGHPUT: total.tput, DELAY: total.delay, LOSS: loss}
    return {metric: value for metric, value in values.items() if value is not None and isfinite(value)}


def metric_facts(metric: str) -> MetricFacts:
    """Return unit and direction of a metric of Pantheon."""
    quantity = QUANTITIES[metric]
    return MetricFacts(metric, quantity.unit, quantity.better)


def _flow(total: FlowStatistics) -> Flow:
    return Flow(tput=total.throughput, delay=total.delay, loss=total.loss)


def _names(folder: Path) -> list[str]:
    """Return the files of the folder, in order."""
    names: list[str] = []
    for path in folder.iterdir():
        names.append(path.name)
        if len(names) > MAX_FILES:
            raise AnalysisError(
                f"{folder}: there are more than {MAX_FILES} files",
                hint="move those of one test to a folder of their own",
            )
    return sorted(names)


def _metadata(folder: Path) -> tuple[Metadata, list[str]]:
    """Return what the folder says about the test, and what is wrong with it."""
    path = folder / METADATA
    if not path.exists() and not path.is_symlink():
        return Metadata(), []
    try:
        return Metadata.model_validate_json(read_foreign(path, _MAX_METADATA, within=folder)), []
    except AnalysisError as error:
        return Metadata(), [error.message]
    except ValidationError as error:
        first = error.errors()[0]
        where = "".join(f"{part}: " for part in first["loc"])
        return Metadata(), [f"{path}: is not what Pantheon writes: {where}{first['msg']}"]
