"""The unit of inference: the highest level that varies among the trials of two sides (host, boot, build, process, trial).

More samples inside a trial, or more trials inside a process, a boot or a host, never make a difference more significant: each unit
of the highest level that varies contributes one value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from trialwise import statistics as st
from trialwise.analysis.treatment_means import TreatmentMean, treatment_mean
from trialwise.analysis.trial_set import LEVELS, PRINTED, Level, by_treatment, only, summary_of
from trialwise.analysis.unit_words import repeating, sides_text
from trialwise.arrays import Array
from trialwise.late import pl

_APART = 8
"""Numbers that lie further apart on average are not counted by marks."""
_PART = 1 << 16
"""Names that are compared together."""


@dataclass(frozen=True, slots=True)
class Units:
    """The values of two sides at the level of inference: one per unit, the mean of its parts.

    `paired` is True if sides ran in the same units; then `a` and `b` are from the units that both have, in the same order. `counts`
    holds the numbers of units of both sides at every level. If `refusal` is not empty, it says why there is no inference, and `a`
    and `b` are the values available. `printed` are the numbers of units if a side is known by a printed summary only; its values are
    then empty.
    """

    level: Level
    a: Array
    b: Array
    paired: bool
    counts: Mapping[Level, tuple[int, int]]
    refusal: str | None = None
    printed: tuple[int, int] | None = None

    @property
    def n(self) -> tuple[int, int]:
        """Number of units on each side."""
        return self.printed or (len(self.a), len(self.b))


def units_with_summaries(
    a: pl.DataFrame, b: pl.DataFrame, level: Level | None = None
) -> tuple[Units, st.Summary, st.Summary]:
    """Find the level of inference where one side, or both, is a printed summary, whose units are taken as those of the other side."""
    known = [side for side in (a, b) if PRINTED not in side.columns]
    chosen = level or (highest_that_varies(known[0].select(LEVELS)) if known else "trial")
    values = [
        np.array([] if PRINTED in side.columns else list(_means(side, chosen).values()), dtype=np.float64)
        for side in (a, b)
    ]
    first, second = (summary_of(side) or st.Summary.of(own) for side, own in zip((a, b), values, strict=True))
    n = first.n, second.n
    refusal = _refusal(chosen, *n, paired=False) if min(n) < 2 else None
    found = Units(chosen, *values, paired=False, counts=dict.fromkeys(LEVELS, n), refusal=refusal, printed=n)
    return found, first, second


def units(a: pl.DataFrame, b: pl.DataFrame, level: Level | None = None) -> Units:
    """Find the level of inference of two sides, and their values there.

    Parameters
    ----------
    a, b
        Trials of one metric with the columns of `trial_set.SCHEMA`. Units of the two sides with the same name are the same unit.
    level
        The level to use instead of the highest that varies; levels above it are then treated as fixed.
    """
    counts: dict[Level, tuple[int, int]] = {name: (count_in(a, name), count_in(b, name)) for name in LEVELS}
    chosen = level or highest_that_varies(pl.concat([a.select(LEVELS), b.select(LEVELS)]))
    means_a, means_b = nested_means(a, chosen), nested_means(b, chosen)
    # Units on one side only carry no information on a difference within units.
    values_a, values_b, paired = means_a["value"].to_numpy(), means_b["value"].to_numpy(), False
    if _overlap(means_a[chosen], means_b[chosen]):
        shared = means_a.join(means_b, on=chosen, suffix="_b", maintain_order="left")
        if paired := not shared.is_empty():
            values_a, values_b = shared["value"].to_numpy(), shared["value_b"].to_numpy()
    n_a, n_b = len(values_a), len(values_b)
    return Units(
        level=chosen,
        a=values_a,
        b=values_b,
        paired=paired,
        counts=counts,
        refusal=_refusal(chosen, n_a, n_b, paired=paired) if min(n_a, n_b) < 2 else None,
    )


def _overlap(a: pl.Series, b: pl.Series) -> bool:
    """Return False if no name of one is among those of the other, as far as that is told without a search; each has a name once."""
    if a.is_empty() or b.is_empty():
        return False
    if a.dtype.is_integer() and (marked := _marked(pl.concat([a, b]))) is not None:
        return marked < len(a) + len(b)
    (first_a, last_a), (first_b, last_b) = (
        (cast("Any", each.min()), cast("Any", each.max())) for each in (a, b)
    )
    return not (last_a < first_b or last_b < first_a)


def highest_that_varies(trials: pl.DataFrame) -> Level:
    """Return the highest level that varies among these trials, or trial, the usual name, if each of its units has one trial.

    Trials of a single process are no units: then it is process, of which there is one.
    """
    return _highest_of(counts_in(trials))


def _highest_of(counts: Mapping[Level, int]) -> Level:
    """Return the highest level that varies, by the number of units at each; process where a single one ran several trials.

    Those say how this process varies, not what the next one does.
    """
    if counts["process"] == 1 < counts["trial"]:
        return "process"
    varying: list[Level] = [name for name in LEVELS if counts[name] > 1]
    lowest: Level = "trial"
    return varying[0] if varying and counts[varying[0]] < counts[lowest] else lowest


def units_of(trials: pl.DataFrame, level: Level) -> dict[str, dict[str, float]]:
    """Return, for each treatment of one side, its units of a level with the mean of each."""
    parts = trials.partition_by("treatment", maintain_order=True)
    return {part["treatment"][0]: _means(part, level) for part in parts}


def _means(side: pl.DataFrame, level: Level) -> dict[str, float]:
    table = nested_means(side, level)
    return dict(zip(table[level].to_list(), table["value"].to_list(), strict=True))


def nested_means(
    trials: pl.DataFrame, level: Level, within: Sequence[str] = (), counts: Mapping[Level, int] | None = None
) -> pl.DataFrame:
    """Return a row for each unit of a level and combination of the columns `within`, with its mean as `value`.

    The mean is over the means of the units of the next lower level, and so on. `counts` are those of `counts_in`, if they are known.
    """
    below = LEVELS[LEVELS.index(level) :]
    for place in range(len(below) - 1, -1, -1):
        keys = [*within, *below[: place + 1]]
        count = counts[below[place]] if counts is not None else count_in(trials, below[place])
        if count == trials.height:
            trials = trials.select(*keys, pl.col("value").cast(pl.Float64))
            continue
        trials = _grouped_means(trials, keys)
    return trials


def _grouped_means(trials: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    """Return the mean value for each combination of keys; those that are the same in all rows take no part in the search for them."""
    varying = [key for key in keys if only(trials, key) is None] or keys[-1:]
    firsts = [pl.col(key).first() for key in keys if key not in varying]
    means = trials.group_by(varying, maintain_order=True).agg(*firsts, pl.col("value").mean())
    return means.select(*keys, "value")


def counts_in(trials: pl.DataFrame) -> dict[Level, int]:
    """Count the units of each level."""
    return {name: count_in(trials, name) for name in LEVELS}


def count_in(trials: pl.DataFrame, level: Level) -> int:
    """Count the units of a level, as `count_of` does, without spreading a column over its rows that is kept as one name."""
    return min(trials.height, 1) if only(trials, level) is not None else count_of(trials[level])


def count_of(names: pl.Series) -> int:
    """Count the units with these names; names that are all the same, or rise from row to row, or are close, need no search."""
    if _is_constant(names):
        return min(len(names), 1)
    if _is_rising(names):
        return len(names)
    marked = _marked(names) if names.dtype.is_integer() else None
    return names.n_unique() if marked is None else marked


def _marked(names: pl.Series) -> int | None:
    """Count different whole numbers by a mark of a byte for each, where a search takes ten; None if they lie too far apart."""
    if names.null_count():
        return None
    first, last = (cast("int", each) for each in (names.min(), names.max()))
    if last - first >= _APART * len(names):
        return None
    marks = np.zeros(last - first + 1, np.bool_)
    cells = names.to_numpy()
    for begin in range(0, len(cells), _PART):
        marks[cells[begin : begin + _PART] - first] = True
    return int(np.count_nonzero(marks))


def _is_rising(names: pl.Series) -> bool:
    """Return True for whole numbers of which each is larger than the one before; a part is compared while it is in the cache."""
    if not names.dtype.is_integer() or names.null_count():
        return False
    cells = names.to_numpy()
    parts = (cells[begin : begin + _PART + 1] for begin in range(0, len(cells), _PART))
    return all(bool((part[1:] > part[:-1]).all()) for part in parts)


def _is_constant(names: pl.Series) -> bool:
    if names.is_empty() or names.null_count():
        return not names.null_count()
    return names[0] == names[-1] and cast("Any", names.min()) == names.max()


def treatment_means(table: pl.DataFrame) -> list[TreatmentMean]:
    """Return the means of the treatments in the trials of one metric, with their medians, at the highest level that varies."""
    level, values = treatment_values(table)
    return [treatment_mean(treatment, own, level) for treatment, own in values.items()]


def treatment_values(table: pl.DataFrame) -> tuple[Level, dict[str, Array]]:
    """Return the values of each treatment in the trials of one metric, and their level, the highest that varies.

    Values of one process are one value.
    """
    counts = counts_in(table)
    chosen = _highest_of(counts)
    level: Level = "process" if chosen == "trial" else chosen
    values = nested_means(table, level, ["treatment"], counts).select("treatment", "value")
    told: Level = "trial" if chosen == "trial" and counts["process"] == table.height else level
    return told, {name: own["value"].to_numpy() for name, own in by_treatment(values).items()}


def _refusal(level: Level, a: int, b: int, *, paired: bool) -> str:
    what = f"one {level} that both sides share" if paired else sides_text(a, b, level)
    return f"no inference from {what}: each side takes at least two{repeating(level)}"
