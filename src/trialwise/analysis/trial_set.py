"""One value per trial and metric, with the units that the trial nests in: the input of comparisons, effects and calibrations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from math import isfinite
from typing import Literal, cast

from trialwise import statistics as st
from trialwise.analysis.changes import reread_notes
from trialwise.analysis.conditions.timescales import trial_metrics
from trialwise.analysis.context import SessionFacts, changes_text, session_facts
from trialwise.analysis.environments import Facts, facts_of
from trialwise.analysis.estimation.weighted import refuse_tilted
from trialwise.analysis.missing_cells import missing_cells
from trialwise.analysis.observations import StoreObservations
from trialwise.analysis.retries import retries_text
from trialwise.analysis.skips import skips_text
from trialwise.errors import AnalysisError
from trialwise.experiment.estimands import estimand_text
from trialwise.experiment.model import Better, Estimand, Experiment, Extent, Metric
from trialwise.experiment.model import Level as FactorLevel
from trialwise.experiment.stopping import stops_by_itself
from trialwise.late import pl
from trialwise.measurement.path_moves import moves_in
from trialwise.numbers import counted
from trialwise.range import OTHER_UNIT, beyond_range, within_range
from trialwise.store.directory import ExperimentDirectory
from trialwise.store.first_value import first_value_by
from trialwise.store.ledger import Ledger
from trialwise.store.records import Event, TrialRow

PRINTED = "printed"
"""Column of tables that hold printed summaries instead of trials: n, deviation and rounding; `value` is the mean (`summary_of`)."""
PRINTED_FIELDS = {
    "n": int,
    "deviation": float,
    "mean_rounding": float,
    "deviation_rounding": float,
}

Level = Literal["host", "boot", "build", "process", "trial"]
LEVELS: tuple[Level, ...] = ("host", "boot", "build", "process", "trial")
"""Nesting levels, from the highest."""

SCHEMA = {
    "metric": str,
    "treatment": str,
    "value": float,
    **dict.fromkeys(LEVELS, str),
    "series": str,
    "round": str,
    "started": float,
    "seconds": float,
}
CONTENTS: Mapping[str, type[str]] = dict.fromkeys(("what", "treatment", "round", "sha256"), str)
"""What it is of a trial: nothing for the trial itself, metric:NAME for its samples, stdout, stderr, file:NAME; null if not whole."""

_CHANGES_NAMED = 4
"""Changes of machines or paths that a note names; the others are counted."""


_MOST_PARTS = 10_000
"""Treatments that are looked for one after the other."""


@dataclass(frozen=True, slots=True)
class MetricFacts:
    """Facts about a metric in addition to its values.

    With `estimand` "pooled" the mean of the values is a statistic of all samples, and single values are not meaningful. `what` names
    the mean of the values if both estimands are possible, such as "p99 of all samples"; otherwise it is empty.
    """

    name: str
    unit: str = ""
    better: Better | None = None
    margin: Extent | None = None
    estimand: Estimand = "per_trial"
    what: str = ""


@dataclass(frozen=True, slots=True)
class Boot:
    """A boot known only by its host and its time in Unix seconds, from one file."""

    host: str
    moment: float


@dataclass(frozen=True, slots=True)
class TrialSet:
    """The trials of one experiment, or of one file from another tool.

    `table` has the columns of `SCHEMA`: a row for each metric of each trial that has a value. The columns of `LEVELS` name the units
    that the trial belongs to; equal names mean the same unit in every set. `started` is in Unix seconds (null for simulated trials),
    and `seconds` is the time from one trial to the next (for simulated ones, the computing time), null if unknown. `treatments` maps
    names to their levels. `environments` are those of the sessions in which measured trials ran; empty if not recorded. `may_repeat`
    is True if trials may be identical because nothing in them is random. `booted` has the boots, by their names in `table`, that are
    known only by their time; `boots.with_joined_boots` merges those that are the same. `subjects` are factors that say what was
    measured, as the name of a benchmark is: treatments are held against each other where these are equal (`by_subject`).
    `contents` has the columns of `CONTENTS`: the SHA-256 of what each trial reported and wrote; None where no claim asks for it.
    """

    name: str
    metrics: Mapping[str, MetricFacts]
    treatments: Mapping[str, Mapping[str, FactorLevel]]
    table: pl.DataFrame
    notes: tuple[str, ...] = ()
    environments: tuple[Facts, ...] = ()
    may_repeat: bool = False
    booted: Mapping[str, Boot] = field(default_factory=dict[str, Boot])
    subjects: tuple[str, ...] = ()
    contents: pl.DataFrame | None = None

    def __post_init__(self) -> None:
        """Refuse values whose variance cannot be computed.

        Raises
        ------
        AnalysisError
            The squares of values of a metric exceed the 64-bit range.
        """
        if within_range(self.table["value"]):
            return
        values = self.table.select("metric", "value")
        parts = [values] if len(self.metrics) == 1 else values.partition_by("metric", maintain_order=True)
        for part in filter(len, parts):
            if said := beyond_range(part["value"].drop_nulls().to_numpy()):
                raise AnalysisError(f"{self.name}: {part['metric'][0]}: {said}", hint=OTHER_UNIT)

    def replaced(self, table: pl.DataFrame, note: str) -> TrialSet:
        """Return the same trials with another table, and a note on the difference."""
        return replace(self, table=table, notes=(*self.notes, note))

    def of(self, metric: str, treatment: str | None = None) -> pl.DataFrame:
        """Return the trials of one metric, optionally of one treatment."""
        if treatment is None and [metric] == list(self.metrics):
            return self.table
        wanted = self.table["metric"] == metric
        begin, count = wanted.arg_max() or 0, int(wanted.sum())
        # Mostly, the rows of a metric follow each other: then they need no copy.
        whole = wanted.slice(begin, count).all()
        own = self.table.slice(begin, count) if whole else self.table.filter(wanted)
        return own if treatment is None else own.filter(pl.col("treatment") == treatment)


_SHORT = 1 << 14
"""Rows over which a column may be spread: a question to polars takes longer."""


def only(table: pl.DataFrame, name: str) -> tuple[object] | None:
    """Return what a column has in every row, if that is one and the same, also if it is missing everywhere; else None.

    A column that is kept as one value is not spread over its rows, as `table[name]` does.
    """
    if table.height <= _SHORT:
        cells = table[name]
        return (cells[0],) if cells.n_unique() == 1 else None
    column = pl.col(name).to_physical()
    first, last = table.select(first=column.first(), last=column.last()).row(0)
    if first != last:
        return None
    missing, low, high = table.select(missing=column.null_count(), low=column.min(), high=column.max()).row(0)
    if missing not in (0, table.height) or low != high:
        return None
    return (table.select(pl.col(name).first()).item(),)


def by_treatment(table: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """Return the rows of each treatment, in the order of the first; they need no copy where those of each follow each other."""
    names = table["treatment"]
    begins = (names.slice(1) != names.head(-1)).arg_true() + 1
    if len(begins) < _MOST_PARTS:
        bounds = [0, *begins, len(names)]
        found = [table.slice(begin, end - begin) for begin, end in pairwise(bounds) if end > begin]
        parts = {str(part["treatment"][0]): part for part in found}
        if len(parts) == len(found):
            return parts
    parts = table.partition_by("treatment", maintain_order=True)
    return {str(part["treatment"][0]): part for part in parts}


def by_subject(
    treatments: Mapping[str, Mapping[str, FactorLevel]], subjects: Sequence[str]
) -> dict[tuple[FactorLevel | None, ...], list[str]]:
    """Return the names of the treatments that are held against each other, by their levels of the subjects."""
    found: dict[tuple[FactorLevel | None, ...], list[str]] = {}
    for name, levels in treatments.items():
        found.setdefault(tuple(levels.get(each) for each in subjects), []).append(name)
    return found


def summary_of(side: pl.DataFrame) -> st.Summary | None:
    """Return the printed summary of one metric of one treatment; None if the table holds trials."""
    if PRINTED not in side.columns:
        return None
    mean, printed = side.select("value", PRINTED).row(0)
    rounding = printed["mean_rounding"], printed["deviation_rounding"]
    return st.Summary(printed["n"], mean, printed["deviation"], rounding)


def read_trial_set(
    experiment: Experiment,
    directory: ExperimentDirectory,
    ledger: Ledger,
    wanted: Sequence[str] = (),
    store: StoreObservations | None = None,
) -> TrialSet:
    """Read the finished trials of an experiment directory; those that failed or gave no value are counted in the notes.

    `store` is the reader of the directory, if the caller continues to read from it, so that samples are not read twice.

    Raises
    ------
    AnalysisError
        A metric is not in the experiment, no trial has a value, or trials are tilted.
    """
    refuse_tilted(experiment)
    store = store or StoreObservations(experiment, directory, ledger)
    metrics = chosen_metrics(experiment, wanted)
    sessions = session_facts(directory, ledger)
    hosts = {facts.record.number: _host(facts) for facts in sessions}
    origin = ledger.fact("identity")
    simulated = experiment.trial.traits.computed
    seconds = seconds_of_rows(store.rows, simulated=simulated)
    rows = {(row.number, row.attempt): row for row in store.rows}
    cells: list[tuple[object, ...]] = []
    notes = [*experiment.trial.caveats(experiment), *_lost(experiment, store.rows)]
    notes += [*skips_text(ledger, store.rows), *retries_text(store.rows)]
    compared, apart = _compared(store)
    notes += apart
    notes += _mixed(store.rows, compared, ledger.events())
    notes += [each.text for each in moves_in(ledger.meta()) if each.text]
    notes += reread_notes(metrics, ledger.amendments())
    numbers: dict[str, int] = {}
    for metric in metrics:
        missing = 0
        observed = store.of(metric)
        numbers[metric.name] = len(observed)
        for found in trial_metrics(metric, observed, "default"):
            value, row = found.value, rows[found.number, found.attempt]
            if row.series not in compared:
                continue
            if value is None or not isfinite(value):
                missing += 1
            else:
                key = (row.number, row.attempt)
                place = (store.series_of(row), store.started(row), seconds.get(key))
                cells.append(
                    _cells(
                        metric.name, row, float(value), _units(row, hosts, origin, simulated=simulated), place
                    )
                )
        if missing:
            notes.append(f"{_trials(missing)} without a value of {metric.name}")
    notes += missing_cells(metrics, store.rows, numbers, ledger.found_sources())
    if not cells:
        raise AnalysisError(f"{directory.path}: no trial has a value", hint=first_value_by(store.rows))
    return TrialSet(
        name=experiment.name,
        metrics={metric.name: _facts(metric) for metric in metrics},
        treatments={row.treatment: _levels(experiment, row) for row in store.rows if row.series in compared},
        table=pl.DataFrame(cells, schema=SCHEMA, orient="row"),
        notes=tuple(notes),
        environments=() if simulated else tuple(_environments(sessions, store.rows)),
        may_repeat=experiment.trial.traits.repeats,
    )


def _compared(store: StoreObservations) -> tuple[set[int], list[str]]:
    """Return the series to compare, those with the current treatments once they have trials, and notes that name them."""
    finished = {row.series for row in store.rows if row.status == "finished" and not row.warmup}
    notes = [store.dropped] if store.dropped else []
    now = {series for series in finished if series > store.closed}
    if store.closed == 0 or not now:
        return {row.series for row in store.rows}, notes
    apart = sum(row.status == "finished" and not row.warmup and row.series not in now for row in store.rows)
    if apart:
        which = "series 1" if store.closed == 1 else f"series 1 to {store.closed}"
        notes.append(
            f"{_trials(apart)} of {which} ran beside other treatments, under other conditions, and are not compared with those since"
        )
    return now, notes


def _mixed(rows: Iterable[TrialRow], compared: set[int], events: Iterable[Event]) -> Iterator[str]:
    """Say whose trials ran before and after a change of their machine or path; workers are other machines, and known as such."""
    epochs: dict[tuple[str, str | None], set[int]] = {}
    for row in rows:
        if row.status == "finished" and not row.warmup and row.series in compared and row.epoch is not None:
            epochs.setdefault((row.treatment, row.worker), set()).add(row.epoch)
    mixed = list(dict.fromkeys(name for (name, _), every in epochs.items() if len(every) > 1))
    if not mixed:
        return
    changes = changes_text(event for event in events if event.begins_series)
    more = len(changes) - _CHANGES_NAMED
    yield (
        f"{', '.join(mixed)}: trials before and after a change count together, so it is in the means and widens the intervals ("
        + "; ".join(changes[:_CHANGES_NAMED])
        + (f"; and {more} more)" if more > 0 else ")")
    )


def _environments(sessions: Iterable[SessionFacts], rows: Iterable[TrialRow]) -> Iterator[Facts]:
    ran = {row.session for row in rows if row.status == "finished"}
    yield from (
        facts_of(facts.environment) for facts in sessions if facts.record.number in ran and facts.environment
    )


def chosen_metrics(experiment: Experiment, wanted: Sequence[str]) -> list[Metric]:
    """Return the metrics with these names, or all.

    Raises
    ------
    AnalysisError
        A name is not in the experiment.
    """
    known = {metric.name: metric for metric in experiment.metrics}
    for name in wanted:
        if name not in known:
            raise AnalysisError(
                f"no metric {name!r} in this experiment", hint=f"there are: {', '.join(known)}"
            )
    return [known[name] for name in wanted or known]


def _facts(metric: Metric) -> MetricFacts:
    what = estimand_text(metric, "per_trial")
    return MetricFacts(metric.name, metric.unit, metric.better, metric.margin, what=what)


def _levels(experiment: Experiment, row: TrialRow) -> dict[str, FactorLevel]:
    return {factor.name: row.factors[factor.name] for factor in experiment.fixed_factors}


def _cells(
    metric: str,
    row: TrialRow,
    value: float,
    units: tuple[str, ...],
    place: tuple[str, float | None, float | None],
) -> tuple[object, ...]:
    series, started, seconds = place
    return (metric, row.treatment, value, *units, series, f"{series}.{row.round}", started, seconds)


def _units(
    row: TrialRow, hosts: Mapping[int, str | None], origin: str, *, simulated: bool
) -> tuple[str, ...]:
    """Return the names of the units that a trial nests in. A factor named build gives the build of the program.

    A trial that shared no process with others had a separate one. The result of a simulated trial does not depend on where it ran.
    """
    trial = f"{origin}/{row.number}"
    if simulated:
        return "", "", "", trial, trial
    host = hosts.get(row.session or 0) or row.worker or ""
    boot = f"{host}/{row.boot or ''}"
    build = f"{boot}/{row.factors.get('build', '')}"
    process = trial if row.process is None else f"{origin}/process {row.process}"
    return host, boot, build, process, trial


def _host(facts: SessionFacts) -> str | None:
    machine = facts.environment.get("machine")
    if not isinstance(machine, dict):
        return None
    known = cast("dict[str, object]", machine)
    return cast("str | None", known.get("identity") or known.get("hostname"))


def seconds_of_rows(rows: Iterable[TrialRow], *, simulated: bool) -> dict[tuple[int, int], float]:
    """Return the `seconds` of a set of trials, by number and attempt; those without are left out."""
    return dict((_computing if simulated else _seconds)(rows))


def _seconds(rows: Iterable[TrialRow]) -> Iterator[tuple[tuple[int, int], float]]:
    """Yield the time from the claim of each trial to the next on its worker in the same session, with resets; else to its own end."""
    following: dict[tuple[str | None, int | None], TrialRow] = {}
    ran = [row for row in rows if row.claimed is not None]
    for row in sorted(ran, key=lambda row: row.claimed or 0.0, reverse=True):
        lane = row.worker, row.session
        after = following.get(lane)
        together = after is not None and (after.series, after.planned_start is None) == (row.series, True)
        end = after.claimed if after is not None and together else row.finished
        if row.claimed is not None and end is not None:
            yield (row.number, row.attempt), end - row.claimed
        following[lane] = row


def _computing(rows: Iterable[TrialRow]) -> Iterator[tuple[tuple[int, int], float]]:
    """Yield the computing time of each simulated trial, because trials run concurrently."""
    for row in rows:
        if row.started is not None and row.finished is not None:
            yield (row.number, row.attempt), row.finished - row.started


def _lost(experiment: Experiment, rows: Sequence[TrialRow]) -> Iterator[str]:
    last = {row.number: row for row in rows if not row.warmup}
    for status in ("failed", "invalid", "abandoned", "excluded"):
        number = sum(row.status == status for row in last.values())
        if number:
            yield f"{_trials(number)} {status}, without a value"
    waiting = sum(row.status in ("planned", "running") for row in last.values())
    if waiting:
        why = ": it ends by itself where enough is known" if stops_by_itself(experiment) else " yet"
        yield f"{_trials(waiting)} of the plan not run{why}"


def _trials(number: int) -> str:
    return counted(number, "trial")
