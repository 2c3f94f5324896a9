"""What results of another tool say at first sight: which treatment is best, by how much, and what they cannot say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from math import comb, isfinite

import numpy as np

from trialwise import statistics as st
from trialwise.analysis.comparison.comparing import CompareOptions, pair_of
from trialwise.analysis.comparison.sides import treatment_name
from trialwise.analysis.nesting import count_in, treatment_values
from trialwise.analysis.treatment_means import interval_of
from trialwise.analysis.trial_set import Level, MetricFacts, TrialSet, by_subject, by_treatment
from trialwise.arrays import Array
from trialwise.errors import StatisticsError
from trialwise.experiment.model import Better, Extent
from trialwise.late import pl
from trialwise.numbers import counted
from trialwise.readers.blocks import Block, first_of, parts
from trialwise.readers.blocks import failed as failed_rows
from trialwise.readers.codes import CODES
from trialwise.readers.gathering import Group
from trialwise.readers.records import Note, Row

CONFIDENCE = 95.0
"""Of the intervals of one metric together, in percent."""
MARGIN = Extent(5, relative=True)
"""The difference for which a bill is given."""
PERCENTILE = 99
"""The percentile whose bill is given."""


@dataclass(frozen=True, slots=True)
class Measured:
    """One treatment in one metric: n counts units of replication that have a value (None if unknown), `failed` those without.

    `low` and `high` bound the mean at `CONFIDENCE`, each treatment by itself; None where there is no interval.
    """

    treatment: str
    n: int | None
    failed: int
    mean: float | None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """The best treatment against the next, among those of one subject.

    `change` is that of the means in percent, with its bounds, None where there is none. `confidence` (percent) holds for all pairs of
    treatments together, so that choosing the best does not spoil it. `decided`: the interval leaves zero out. `n` are the units of
    `level` on both sides. `more` is the number of further units of each that would decide whether the difference is within 5 %, None
    if it is decided, or unknown.
    """

    subject: str
    best: str
    other: str
    change: float
    low: float | None
    high: float | None
    confidence: float
    n: tuple[int, int]
    level: Level
    method: str
    decided: bool
    more: int | None


@dataclass(frozen=True, slots=True)
class MetricSeen:
    """One metric of a group; `refusal` says why nothing is concluded from it, and is empty if something is."""

    metric: str
    unit: str
    better: Better | None
    treatments: tuple[Measured, ...]
    answers: tuple[Answer, ...]
    refusal: str


@dataclass(frozen=True, slots=True)
class Seen:
    """What was understood of the files of one tool.

    `factors` are those with several levels, `constants` those with one, and `follows` names for each further factor the one whose
    levels it repeats, one to one. `pattern` is how names of files were read. `cannot` is what the data cannot say, with what would
    lift it; `left_out` is what failed or is no trial; `errors` tells which requests failed within trials, whose rates contain them.
    """

    tool: str
    format: str
    versions: tuple[str, ...]
    files: int
    unit: str
    factors: Mapping[str, tuple[str, ...]]
    constants: Mapping[str, str]
    follows: Mapping[str, str]
    pattern: str
    order: str
    metrics: tuple[MetricSeen, ...]
    left_out: tuple[str, ...]
    cannot: tuple[str, ...]
    errors: tuple[str, ...] = ()


_ERRORS = frozenset({"errors_in_load"})
_LEFT_OUT = frozenset(
    {
        "failed_units",
        "calibration_dropped",
        "warmup_dropped",
        "aggregates_skipped",
        "partial",
        "missing_values",
        "not_finite",
    }
)
_LIMITS = frozenset({"one_unit", "order_blocked", "order_unknown"})
"""Notes of single files that a group says for itself."""
_IN_ONE = frozenset({"within_process"})
"""The note of a file that is lifted where other files repeat what it has."""
_MOST_LOST = 3
_OF_FILES = "process (a file each)"
"""The unit of replication where each file holds the repetitions of one process."""


def see(group: Group, trials: TrialSet, pattern: str = "") -> Seen:
    """Look at the trials of one group."""
    lost = _failed_wholly(group, trials)
    if lost:
        trials = replace(
            trials, treatments={**trials.treatments, **{name: levels for name, (levels, _) in lost.items()}}
        )
    levels = _levels(trials)
    follows = _follows(trials, [name for name in levels if len(levels[name]) > 1])
    factors = {name: found for name, found in levels.items() if len(found) > 1 and name not in follows}
    names = {
        treatment: treatment_name({name: own for name, own in given.items() if name in factors})
        for treatment, given in trials.treatments.items()
    }
    metrics = tuple(
        _metric(facts, trials, group, factors, names)
        for facts in (*_without_value(group, trials), *trials.metrics.values())
    )
    order, blocked = _order(group)
    by_files = _are_processes(group, trials)
    return Seen(
        tool=group.tool,
        format=group.format,
        versions=tuple(dict.fromkeys(reading.version for reading in group.readings if reading.version)),
        files=len(group.readings),
        unit=_OF_FILES if by_files else group.readings[0].unit,
        factors=factors,
        constants={name: found[0] for name, found in levels.items() if len(found) == 1},
        follows=follows,
        pattern=pattern,
        order=order,
        metrics=metrics,
        left_out=(
            *_notes(group, _LEFT_OUT),
            *_told_lost({names[name]: why for name, (_, why) in lost.items()}),
        ),
        cannot=tuple(
            dict.fromkeys([*blocked, *_bills(metrics), *_others(group, _IN_ONE if by_files else frozenset())])
        ),
        errors=tuple(_notes(group, _ERRORS)),
    )


def _failed_wholly(group: Group, trials: TrialSet) -> dict[str, tuple[Mapping[str, str], str]]:
    """Return the levels of treatments of which every trial failed, and why, if they are named as others are.

    A trial that hardly began tells few of its levels, and is no treatment.
    """
    shapes = {frozenset(levels) for levels in trials.treatments.values()}
    found: dict[str, tuple[Mapping[str, str], str]] = {}
    for reading in group.readings:
        for row in failed_rows(reading.rows):
            levels = reading.levels_of(row.treatment)
            is_named = frozenset(levels) in shapes or (
                reading.subjects and levels.keys() >= set(reading.subjects)
            )
            if is_named and (name := treatment_name(levels)) not in trials.treatments:
                found.setdefault(name, (levels, row.reason))
    return found


def _told_lost(reasons: Mapping[str, str]) -> Iterator[str]:
    for name, reason in islice(reasons.items(), _MOST_LOST):
        yield f"every trial of {name} failed: {reason}"
    if len(reasons) > _MOST_LOST:
        yield f"every trial of {counted(len(reasons) - _MOST_LOST, 'more treatment')} failed"


def see_summaries(group: Group, pattern: str = "") -> Seen:
    """Look at a group without a value of a trial: it has what its tool made of them, or trials that failed."""
    rows = [row for reading in group.readings for row in reading.rows]
    why = all_failed(rows) or "no value of a single trial is in the files"
    metrics = [
        MetricSeen(name, own[0].unit, own[0].better, tuple(_of_summaries(own)), (), why)
        for name in dict.fromkeys(row.metric for row in rows)
        for own in [[row for row in rows if row.metric == name]]
    ]
    return Seen(
        tool=group.tool,
        format=group.format,
        versions=tuple(dict.fromkeys(reading.version for reading in group.readings if reading.version)),
        files=len(group.readings),
        unit=group.readings[0].unit,
        factors={},
        constants={},
        follows={},
        pattern=pattern,
        order="unknown",
        metrics=tuple(metrics),
        left_out=tuple(_notes(group, _LEFT_OUT)),
        cannot=tuple(dict.fromkeys(_others(group))),
        errors=tuple(_notes(group, _ERRORS)),
    )


def all_failed(rows: Iterable[Row]) -> str:
    """Return that every trial failed, and why the first did; empty if some did not."""
    told = [row for row in rows if row.status != "finished" or row.value is not None]
    if not told or any(row.status != "failed" for row in told):
        return ""
    reasons = list(dict.fromkeys(row.reason for row in told))
    others = f"; and {counted(len(reasons) - 1, 'other reason')}" if len(reasons) > 1 else ""
    return f"every trial failed: {reasons[0]}{others}"


def _of_summaries(rows: Sequence[Row]) -> Iterator[Measured]:
    """Yield the summaries of a metric, and of each treatment how many trials failed."""
    for row in rows:
        if row.status != "failed":
            yield Measured(
                treatment_name(row.treatment), row.summary.n if row.summary else None, 0, row.value
            )
    lost = Counter(treatment_name(row.treatment) for row in rows if row.status == "failed")
    for name, failed in lost.items():
        yield Measured(name, 0, failed, None)


def _follows(trials: TrialSet, names: Sequence[str]) -> dict[str, str]:
    """Return the factors whose levels repeat those of an earlier one, one to one, and that one."""
    kept: dict[tuple[int, ...], str] = {}
    found: dict[str, str] = {}
    for name in names:
        own = [treatment.get(name) for treatment in trials.treatments.values()]
        shape = tuple(map(own.index, own))
        if (first := kept.setdefault(shape, name)) != name:
            found[name] = first
    return found


def _levels(trials: TrialSet) -> dict[str, tuple[str, ...]]:
    found: dict[str, dict[str, None]] = {}
    for given in trials.treatments.values():
        for name, level in given.items():
            found.setdefault(name, {})[str(level)] = None
    return {name: tuple(levels) for name, levels in found.items()}


def _metric(
    facts: MetricFacts,
    trials: TrialSet,
    group: Group,
    factors: Mapping[str, Sequence[str]],
    names: Mapping[str, str],
) -> MetricSeen:
    failed, reasons = _failed(group, facts.name, trials)
    whole = trials.table if list(trials.metrics) == [facts.name] else trials.of(facts.name)
    parts = by_treatment(whole)
    own = {treatment: parts.get(treatment, whole.clear()) for treatment in trials.treatments}
    _, values = treatment_values(whole)
    measured = tuple(
        _measured(names[treatment], values.get(treatment), failed.get(treatment, 0))
        for treatment, table in own.items()
        if not table.is_empty() or treatment in failed
    )
    alike = [name for name in trials.subjects if name in factors]
    short = {
        treatment: treatment_name(
            {name: level for name, level in levels.items() if name in factors and name not in alike}
        )
        for treatment, levels in trials.treatments.items()
    }
    sets = {
        treatment_name({name: level for name, level in zip(alike, levels, strict=True) if level is not None})
        if alike
        else "": treatments
        for levels, treatments in by_subject(trials.treatments, alike).items()
    }
    pairs = sum(comb(sum(not own[each].is_empty() for each in treatments), 2) for treatments in sets.values())
    answers: list[Answer] = []
    refusals: list[str] = []
    for subject, treatments in sets.items():
        there = {treatment: own[treatment] for treatment in treatments if not own[treatment].is_empty()}
        lost = {short[each]: reasons[each] for each in treatments if each in reasons and each not in there}
        found = _lost(there, lost) or _answer(subject, facts, there, short, pairs)
        if isinstance(found, str):
            refusals.append(found)
        else:
            answers.append(found)
    refusal = "" if answers else next(iter(refusals), "no value")
    return MetricSeen(facts.name, facts.unit, facts.better, measured, tuple(answers), refusal)


def _without_value(group: Group, trials: TrialSet) -> list[MetricFacts]:
    """Return the metrics of which every trial failed."""
    rows = (row for reading in group.readings for row in failed_rows(reading.rows))
    found = {row.metric: MetricFacts(row.metric, row.unit, row.better) for row in rows}
    return [facts for name, facts in found.items() if name not in trials.metrics]


def _lost(tables: Mapping[str, pl.DataFrame], lost: Mapping[str, str]) -> str:
    """Return why there are no two treatments with a value, if that is since others failed; else nothing."""
    if len(tables) > 1 or not lost:
        return ""
    name, reason = next(iter(lost.items()))
    whose = f"{name} has no value: " if tables or len(lost) > 1 else ""
    return f"{whose}{reason}" + (f" (and {len(lost) - 1} more without a value)" if len(lost) > 1 else "")


def _measured(name: str, values: Array | None, failed: int) -> Measured:
    if values is None:
        return Measured(name, 0, failed, None)
    interval = interval_of(values)
    bounds = (None, None) if interval is None else (interval.low, interval.high)
    return Measured(name, len(values), failed, float(np.mean(values)), *bounds)


def _answer(
    subject: str, facts: MetricFacts, tables: Mapping[str, pl.DataFrame], names: Mapping[str, str], pairs: int
) -> Answer | str:
    """Compare the best treatment with the next, at a level for so many `pairs` together; return why not, if not."""
    if len(tables) < 2:
        return "there is one treatment only: name the files of another, too"
    if facts.better is None:
        return "the files do not say whether more or less is better"
    lone = sorted(names[treatment] for treatment, table in tables.items() if _units(table) < 2)
    if lone:
        what = (
            "each treatment"
            if len(lone) == len(tables)
            else ", ".join(lone[:3]) + (", …" if len(lone) > 3 else "")
        )
        return f"{what} ran once only; run each at least twice, better ten times"
    ordered = sorted(tables, key=lambda name: _mean(tables[name]) or 0.0, reverse=facts.better == "higher")
    best, other = ordered[:2]
    options = CompareOptions(confidence=100 - (100 - CONFIDENCE) / pairs, margin=MARGIN)
    try:
        pair = pair_of(best, (facts, facts), (tables[other], tables[best]), options)
    except StatisticsError as error:
        return error.message
    if pair.difference is None:
        return pair.reason
    percent = pair.difference.percent
    low, high = (bound if isfinite(bound) else None for bound in (percent.low, percent.high))
    decided = low is not None and high is not None and (low > 0 or high < 0)
    return Answer(
        subject, names[best], names[other], percent.estimate, low, high, CONFIDENCE, pair.units.n, pair.units.level,
        _method(pair.difference.method, pairs), decided, None if decided else pair.difference.trials_needed,
    )  # fmt: skip


def _method(method: str, pairs: int) -> str:
    return f"{method.split(';', maxsplit=1)[0]}; ratio by Fieller" + (
        f"; Bonferroni over {pairs} pairs" if pairs > 1 else ""
    )


def _units(table: pl.DataFrame) -> int:
    """Count processes: values of one process say nothing about the next."""
    return count_in(table, "process")


def _mean(table: pl.DataFrame) -> float | None:
    found = table["value"].mean()
    return float(found) if isinstance(found, int | float) else None


def _failed(group: Group, metric: str, trials: TrialSet) -> tuple[dict[str, int], dict[str, str]]:
    """Return the number of trials of a metric that failed, and why the first did, by treatment."""
    found: dict[str, int] = {}
    reasons: dict[str, str] = {}
    for reading in group.readings:
        for row in failed_rows(reading.rows):
            if (
                row.metric == metric
                and (name := treatment_name(reading.levels_of(row.treatment))) in trials.treatments
            ):
                found[name] = found.get(name, 0) + 1
                reasons.setdefault(name, row.reason)
    return found, reasons


def _order(group: Group) -> tuple[str, list[str]]:
    """Say what is known of the order of execution, and what follows if it is not random."""
    ran = _ran(group)
    treatments = ran["treatment"].n_unique()
    if any(note.code == "order_blocked" for reading in group.readings for note in reading.notes):
        return "one treatment after the other", [CODES["order_blocked"]]
    unknown = ran["start"].is_null() & (ran["order"].is_null() | (len(group.readings) > 1))
    if ran.is_empty() or unknown.any():
        return "unknown", [CODES["order_unknown"]] if treatments > 1 else []
    turns = ran.sort(pl.col("start", "order").fill_null(0), maintain_order=True)["treatment"].rle_id().max()
    if treatments > 1 and turns == treatments - 1 < ran.height - 1:
        return "one treatment after the other", [CODES["order_blocked"]]
    return "known", []


def _ran(group: Group) -> pl.DataFrame:
    """Return the treatment, start and order of each trial that finished, from the rows of one metric; some, where none has either."""
    metric = next(reading.rows[0].metric for reading in group.readings if reading.rows)
    schema = {"treatment": pl.Categorical, "start": pl.Float64, "order": pl.Float64}
    rows = [
        (str(row.treatment), row.start, row.order)
        for reading in group.readings
        for row in parts(reading.rows)[0]
        if row.metric == metric and row.status == "finished"
    ]
    columns = [
        _ran_in(block)
        for reading in group.readings
        for block in parts(reading.rows)[1]
        if block.metric == metric
    ]
    return pl.concat([pl.DataFrame(rows, schema=schema, orient="row"), *columns])


def _ran_in(block: Block) -> pl.DataFrame:
    finished = np.delete(np.arange(len(block)), list(block.reasons)) if block.reasons else slice(None)
    names = pl.Series([str(each) for each in block.treatments], dtype=pl.Categorical)
    unknown = pl.lit(None, pl.Float64)
    if block.starts is None and block.orders is None:
        ran = block.treatment[finished]
        return pl.select(treatment=names.gather(ran[first_of(ran)]), start=unknown, order=unknown)
    return pl.select(
        treatment=names.gather(block.treatment[finished]),
        start=unknown if block.starts is None else pl.Series(block.starts[finished]).fill_nan(None),
        order=unknown if block.orders is None else pl.Series(block.orders[finished]).fill_nan(None),
    )


def _bills(metrics: Sequence[MetricSeen]) -> Iterator[str]:
    """Yield what a bound of a high percentile would take."""
    lowest = [each.n for metric in metrics[:1] for each in metric.treatments if each.n]
    if not lowest:
        return
    needed = st.samples_needed(PERCENTILE, CONFIDENCE)
    if min(lowest) < needed:
        yield f"a bound of the {PERCENTILE}th percentile needs {needed} independent runs of each treatment; there are {min(lowest)}"


def _notes(group: Group, codes: frozenset[str]) -> Iterator[str]:
    for reading in group.readings:
        several = len(group.readings) > 1
        yield from (
            f"{reading.path}: {note.text}" if several else note.text
            for note in reading.notes
            if note.code in codes
        )


def _others(group: Group, but: frozenset[str] = frozenset()) -> Iterator[str]:
    said = _LEFT_OUT | _LIMITS | _ERRORS | but
    yield from Note.joined(
        [note for reading in group.readings for note in reading.notes if note.code not in said]
    )


def _are_processes(group: Group, trials: TrialSet) -> bool:
    """Return True if each file is of one process, and every value has another of its treatment and metric in another file."""
    if len(group.readings) == 1 or any(reading.replicated != "repetition" for reading in group.readings):
        return False
    processes = trials.table.group_by("treatment", "metric").agg(pl.col("process").n_unique())["process"]
    return bool((processes > 1).all())
