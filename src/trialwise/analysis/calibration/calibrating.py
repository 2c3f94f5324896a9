"""Calibrate a bench from trials without any change: noise floor, false alarms, detectable differences, and sources of noise."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np

from trialwise import statistics as st
from trialwise.analysis.calibration.alarms import How, false_alarms, other_rates, re_split
from trialwise.analysis.calibration.results import (
    Arrangement,
    Calibration,
    CalibrationRow,
    Detectable,
    Finding,
    NoiseFloor,
)
from trialwise.analysis.calibration.splits import Array, Splits, blocks_of, dealt_out, distinct
from trialwise.analysis.calibration.spreads import spread_of
from trialwise.analysis.comparison.comparing import CompareOptions, compare
from trialwise.analysis.comparison.results import Comparison
from trialwise.analysis.comparison.sides import selected, treatment_name
from trialwise.analysis.trial_set import Level, MetricFacts, TrialSet
from trialwise.analysis.unit_words import repeating
from trialwise.experiment.aa_design import SIDE, SIDES
from trialwise.late import pl
from trialwise.numbers import as_given

QUANTILE = 95.0
POWER = 90.0
MIN_SPLITS = 20
"""Fewer distinct re-splits have no 95 % quantile."""
_TIMES = (1, 2, 4, 8)
_METHOD = (
    "balanced random re-splits of the trials into two sides, half of every block (round, else boot) on each; they share "
    "their trials and so are not independent: the interval of a rate is that of drawing re-splits, not of running the bench again"
)


@dataclass(frozen=True, slots=True)
class CalibrateOptions:
    """Confidence of verdicts in percent, number of re-splits of each row, and the seed for drawing them."""

    confidence: float = 95.0
    splits: int = 1000
    seed: int = 1


@dataclass(frozen=True, slots=True)
class _Judged:
    row: CalibrationRow
    splits: Splits | None


def calibrate(trials: TrialSet, options: CalibrateOptions | None = None) -> Calibration:
    """Calibrate a bench.

    Parameters
    ----------
    trials
        If they have a factor `side` with the levels A and A', the actual sides are compared too; other trials are only re-split.
        Each treatment is analysed separately.
    """
    options = options or CalibrateOptions()
    is_real = has_sides(trials)
    comparison = _real(trials, options) if is_real else None
    whole = _without_sides(trials) if is_real else trials
    judged_rows = list(_rows(whole, comparison, options))
    rows = tuple(one.row for one in judged_rows)
    finding, reason = _finding(rows, comparison, options.confidence)
    return Calibration(
        source=trials.name,
        finding=finding,
        reason=reason,
        rows=rows,
        spreads=tuple(
            spread_of(facts.name, treatment, cell, options.confidence)
            for facts, treatment, cell in _cells(whole)
        ),
        comparison=comparison,
        family=_family(judged_rows, options.confidence),
        confidence=options.confidence,
        splits=options.splits,
        seed=options.seed,
        method=_METHOD,
        notes=trials.notes if is_real else (*trials.notes, _NO_SIDES),
    )


_NO_SIDES = (
    "the trials have no two sides that ran: what is said comes from re-splits alone, and shows nothing that "
    "comes with a side, as a place in a fixed order does"
)


def has_sides(trials: TrialSet) -> bool:
    """Return True if every treatment ran against itself."""
    levels = {treatment.get(SIDE) for treatment in trials.treatments.values()}
    return levels == set(SIDES)


def _real(trials: TrialSet, options: CalibrateOptions) -> Comparison:
    a, b = (selected(trials, {SIDE: [side]}, side) for side in SIDES)
    # Without margins, because a fine bench shows no difference of any size.
    a, b = (dataclasses.replace(side, metrics=_plain(side.metrics)) for side in (a, b))
    return compare(a, b, CompareOptions(confidence=options.confidence))


def _plain(metrics: Mapping[str, MetricFacts]) -> dict[str, MetricFacts]:
    return {name: dataclasses.replace(facts, margin=None) for name, facts in metrics.items()}


def _without_sides(trials: TrialSet) -> TrialSet:
    """Merge the trials of both sides."""
    rest = {
        name: {factor: level for factor, level in sorted(levels.items()) if factor != SIDE}
        for name, levels in trials.treatments.items()
    }
    names = {name: treatment_name(levels) for name, levels in rest.items()}
    table = trials.table.with_columns(
        pl.col("treatment").replace_strict(names, default=None, return_dtype=pl.String)
    )
    treatments = {names[name]: levels for name, levels in rest.items()}
    return dataclasses.replace(trials, treatments=treatments, table=table)


def _cells(trials: TrialSet) -> Iterator[tuple[MetricFacts, str, pl.DataFrame]]:
    for facts in trials.metrics.values():
        for treatment in trials.treatments:
            cell = trials.of(facts.name, treatment)
            if not cell.is_empty():
                yield facts, treatment, cell


def _rows(trials: TrialSet, comparison: Comparison | None, options: CalibrateOptions) -> Iterator[_Judged]:
    real = {} if comparison is None else _differences(comparison)
    numbers = {treatment: number for number, treatment in enumerate(trials.treatments)}
    for facts, treatment, cell in _cells(trials):
        # Use the same re-splits for each metric of a treatment, because the metrics come from the same trials.
        seed = [options.seed, numbers[treatment]]
        found = real.get((facts.name, treatment))
        yield _row(facts, treatment, cell, "interleaved", found, seed, options)
        highest = _highest(cell)
        if highest is not None:
            yield _row(facts, treatment, cell, "separate", None, seed, options)


def _differences(comparison: Comparison) -> dict[tuple[str, str], float]:
    return {
        (row.metric.name, row.treatment): row.difference.welch.estimate
        for row in comparison.rows
        if row.difference is not None
    }


def _highest(cell: pl.DataFrame) -> Level | None:
    """Return the highest level above trials with whole units that can be split."""
    for level in ("host", "boot"):
        number = cell[level].n_unique()
        if 1 < number < cell.height:
            return level
    return None


def _row(
    facts: MetricFacts,
    treatment: str,
    cell: pl.DataFrame,
    arrangement: Arrangement,
    real: float | None,
    seed: Sequence[int],
    options: CalibrateOptions,
) -> _Judged:
    number = cell.height
    cell, lowest = dealt_out(cell)
    if arrangement == "interleaved":
        # A boot with one trial has none on one of the sides.
        cell = cell.filter((pl.len().over("boot") > 1) | (pl.col("boot").n_unique() == pl.len()))
    highest = _highest(cell)
    level: Level = highest or lowest
    blocks = blocks_of(cell, arrangement, level)
    paired = arrangement == "interleaved" and highest is not None
    mean = float(cell["value"].to_numpy().mean()) if cell.height else float("nan")
    row = CalibrationRow(
        metric=facts,
        treatment=treatment,
        arrangement=arrangement,
        level=level,
        n=_sizes(cell, level, paired=paired),
        trials=number,
        mean=mean,
        real=real,
        floor=None,
        false_alarms=None,
        elsewhere=None,
        detectable=(),
        reason="",
    )
    if refusal := _refusal(row, distinct(blocks, MIN_SPLITS), paired=paired):
        return _Judged(dataclasses.replace(row, reason=refusal), None)
    how = How(arrangement, level, paired)
    random = np.random.default_rng([*seed, len(arrangement)])
    splits = re_split(cell, how, options.splits, random)
    rate = false_alarms(splits, options.confidence)
    allowed = 100 - options.confidence
    again = other_rates(cell, how, options.confidence, random) if rate.low > allowed else None
    return _Judged(
        dataclasses.replace(
            row,
            floor=_floor(splits, mean, min(splits.n)),
            false_alarms=rate,
            elsewhere=again,
            detectable=tuple(_detectable(splits, mean, options.confidence)),
        ),
        splits,
    )


def _sizes(cell: pl.DataFrame, level: Level, *, paired: bool) -> tuple[int, int]:
    number = cell[level].n_unique()
    return (number, number) if paired else (number // 2, number - number // 2)


def _refusal(row: CalibrationRow, distinct_splits: int, *, paired: bool) -> str:
    fewest = 2 if paired or row.level == "trial" else 4
    if min(row.n) < 2:
        return f"too few to calibrate from: repeat {row.level}{repeating(row.level)}; each side takes at least two, {fewest} in all"
    if distinct_splits < MIN_SPLITS:
        together = "series" if row.level == "process" else "rounds"
        return (
            f"{row.trials} trials split in {distinct_splits} different ways, and {MIN_SPLITS} are needed: repeat "
            f"{row.level}{repeating(row.level)}, at least eight in all or six {together} of both sides"
        )
    return ""


def _floor(splits: Splits, mean: float, n: int) -> NoiseFloor:
    value = float(np.quantile(np.abs(splits.differences), QUANTILE / 100, method="higher"))
    return NoiseFloor(
        value=value,
        percent=_percent(value, mean),
        n=n,
        quantile=QUANTILE,
        method=f"{as_given(QUANTILE)} % quantile of the difference of means in {splits.differences.size} re-splits",
    )


def _detectable(splits: Splits, mean: float, confidence: float) -> Iterator[Detectable]:
    """Compute detectable differences from the variance at the level of inference, averaged over the re-splits."""
    n = min(splits.n)
    df = n - 1 if splits.paired else sum(splits.n) - 2
    deviation = sqrt(float(splits.variances.mean()))
    for times in _TIMES:
        found = st.detectable_difference(
            deviation, df, n * times, confidence=confidence, power=POWER, paired=splits.paired
        )
        yield Detectable(found, _percent(found.difference, mean), times)


def _percent(value: float, mean: float) -> float | None:
    return 100 * value / abs(mean) if mean else None


def _family(rows: Sequence[_Judged], confidence: float) -> st.Proportion | None:
    """Return how often any interleaved row is different after Holm's correction, whose first step is Bonferroni's."""
    found: list[Array] = [
        one.splits.p_values for one in rows if one.splits is not None and one.row.arrangement == "interleaved"
    ]
    if len(found) < 2:
        return None
    least = np.min(np.stack(found), axis=0) * len(found)
    hits = int(np.sum(least <= (1 - confidence / 100) * (1 + 1e-12)))
    return st.proportion(hits, least.size, confidence=confidence)


def _finding(
    rows: Sequence[CalibrationRow], comparison: Comparison | None, confidence: float
) -> tuple[Finding, str]:
    allowed = 100 - confidence
    known = [row for row in rows if row.false_alarms is not None and row.arrangement == "interleaved"]
    if not known:
        return "too few", next((row.reason for row in rows if row.reason), "no metric has a value")
    above = [row for row in known if row.elsewhere and row.elsewhere[0] > allowed]
    differing = [] if comparison is None else [row for row in comparison.rows if row.verdict == "different"]
    if differing:
        names = ", ".join(f"{row.metric.name} of {row.treatment}" for row in differing)
        return "alarms", f"a treatment is different from itself: {names}"
    if above:
        names = ", ".join(f"{row.metric.name} of {row.treatment}" for row in above)
        return (
            "alarms",
            f"the verdict calls noise a difference in more than {as_given(allowed)} % of re-splits: {names}",
        )
    what = "no treatment is different from itself, and " if comparison is not None else ""
    here = [row for row in known if row.false_alarms is not None and row.false_alarms.low > allowed]
    if not here:
        return "fine", f"{what}nothing shows more false alarms than {as_given(allowed)} %"
    names = ", ".join(f"{row.metric.name} of {row.treatment}" for row in here)
    told = f"nothing is sure to show more false alarms than {as_given(allowed)} % with other rounds of this bench"
    return "fine", f"{what}{told}; these rounds show more: {names}"
