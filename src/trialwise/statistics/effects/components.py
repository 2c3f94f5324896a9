"""Variance components of nested levels, such as hosts, boots and trials."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import nan, sqrt
from typing import TYPE_CHECKING, Literal

import numpy as np

from trialwise.errors import StatisticsError
from trialwise.late import special
from trialwise.statistics.checks import Array, Indices, as_percent, as_values
from trialwise.statistics.effects.component_bounds import component_bounds
from trialwise.statistics.effects.nesting import (
    NestedAnova,
    Nesting,
    nested,
    nested_anova,
    reduced,
    unit_means,
)
from trialwise.statistics.frames import Table, column
from trialwise.statistics.sizing.allocation import Allocation, allocated

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_LARGEST = 1e150
RESIDUAL = "residual"
"""The level of values that share all labels."""


@dataclass(frozen=True, slots=True)
class Component:
    """Variance between the units of one level within a unit of the level above."""

    level: str
    variance: float
    """In the square of the unit of the values, 0 or more; NaN if it cannot be estimated."""
    low: float
    """Lower bound of the variance, or NaN."""
    high: float
    """Upper bound of the variance, or NaN."""
    df: int
    """Degrees of freedom: units of this level minus units of the level above."""
    units: int
    """Total number of units."""
    negative: bool
    """True if the estimate was negative and was set to 0."""
    includes: tuple[str, ...]
    """Lower levels with one unit in each unit of this level; their variance is part of this one."""
    reason: str
    """Why there is no estimate and which level to repeat; empty if there is one."""


@dataclass(frozen=True, slots=True)
class LevelInterval:
    """An interval from the means of the highest level that has at least two units."""

    estimate: float
    low: float
    high: float
    n: int
    """Number of those means."""
    level: str
    """The level of these means."""
    kind: Literal["mean", "prediction"]
    confidence: float
    """In percent."""
    method: str
    note: str
    """The units that it is limited to, if a level above has only one."""


@dataclass(frozen=True, slots=True, eq=False)
class VarianceComponents(Mapping[str, float]):
    """The variance of each level (NaN if it cannot be estimated): a mapping, from the highest level down."""

    components: dict[str, Component]
    means: Array
    """Means of the units of the highest level with at least two; within a unit, the units of the level below have equal weight."""
    sizes: dict[str, float]
    """For each lower level, the mean number of units per unit of the level above."""
    n: int
    """Number of values."""
    confidence: float
    """In percent, of each interval separately."""
    method: str
    note: str
    """What could not be estimated, was set to 0 or was left out."""

    def __getitem__(self, level: str) -> float:
        """Return the variance of a level."""
        return self.components[level].variance

    def __iter__(self) -> Iterator[str]:
        """Iterate over the levels from the highest to the lowest."""
        return iter(self.components)

    def __len__(self) -> int:
        """Return the number of levels."""
        return len(self.components)

    @property
    def estimable(self) -> tuple[Component, ...]:
        """Return the components with an estimate, from the highest down."""
        return tuple(one for one in self.components.values() if not one.reason)

    def interval(self) -> LevelInterval:
        """Return Student's t interval of the mean, from the means of the highest level's units only."""
        return self._interval("mean", sqrt(1 / self.means.size))

    def prediction(self) -> LevelInterval:
        """Return Student's t prediction interval for the mean of one more unit like these."""
        return self._interval("prediction", sqrt(1 + 1 / self.means.size))

    def reproducibility_limit(self) -> float:
        """Return the limit that 95 % of differences between two such unit means of the highest level stay within (ISO 5725).

        1.96 sqrt(2) sqrt(sigma_S² + sigma_R²/r), extended to all levels below in the same way.
        """
        share, total = 1.0, 0.0
        for one in self.estimable:
            share /= self.sizes.get(one.level, 1.0)
            total += share * one.variance
        return 1.96 * sqrt(2 * total)

    def allocation(self, costs: Mapping[str, float], budget: float) -> Allocation:
        """Find the number of units of each level that makes the mean most precise for a budget; see `allocated`.

        Parameters
        ----------
        costs
            For each level the cost of one more unit by itself (a boot without its trials), all in one unit.
        budget
            Maximum total cost, in the same unit.
        """
        known = {one.level: one.variance for one in self.estimable}
        variances = {level: known.get(level) for level in self.components}
        return allocated(variances, costs, budget, confidence=self.confidence)

    def _interval(self, kind: Literal["mean", "prediction"], factor: float) -> LevelInterval:
        count, alone = self.means.size, _alone(self.components)
        centre = float(self.means.mean())
        reach = _t(count - 1, self.confidence) * float(self.means.std(ddof=1)) * factor
        level = self.estimable[0].level
        return LevelInterval(
            estimate=centre,
            low=centre - reach,
            high=centre + reach,
            n=count,
            level=level,
            kind=kind,
            confidence=self.confidence,
            method=f"Student's t on {count} means of {level}",
            note=f"for this {' and '.join(alone)} alone; repeat {alone[0]} to speak of others"
            if alone
            else "",
        )


def variance_components(
    table: Table, response: str, levels: Sequence[str], *, confidence: float = 95
) -> VarianceComponents:
    """Split the variance of a response over nested levels, from the highest (host) to the lowest (trial).

    Each mean square of the nested analysis of variance is equated to its expectation (Searle 1971, section 11.2; balance is not
    required), and a negative variance is set to 0. For balanced data without negative estimates this is REML. Intervals: chi square
    for the lowest level; for the others the modified large-sample interval of a difference of mean squares (Ting et al. 1990;
    Burdick and Graybill 1992, section 3.3), with the subtracted ones pooled by Satterthwaite. They assume normal values: nominal 95
    % intervals then cover 94.5 to 95.6 % for balanced units, and 92.5 to 95.2 % for 1 to 5 units each.

    A level with one unit in each unit of the level above is confounded with it, so its variance is part of the level above
    (`includes`). A top level with one unit has no estimate. If several values share all labels, the variation between them forms a
    separate level, "residual".

    Parameters
    ----------
    table
        A mapping of columns, a pandas or a polars frame, one row per value.
    response
        The column of values.
    levels
        Columns of labels, the highest level first. Labels count within the level above: boot 1 of host a is not boot 1
        of host b.
    confidence
        In percent.

    Raises
    ------
    StatisticsError
        A column is missing, there are no levels or duplicate ones, values are not finite or exceed 1e150, or no level has two units.
    """
    level = float(as_percent(confidence, "confidence"))
    values = as_values(np.asarray(column(table, response)), f"the column {response!r}", minimum=2)
    if np.abs(values).max() > _LARGEST:
        raise StatisticsError(
            f"the column {response!r} has squares beyond the largest double; rescale the values"
        )
    full, kept, repeated = _read(table, values, levels)
    values = values[kept]
    alone, within, merged = reduced(full)
    anova = nested_anova(values, within)
    weights = anova.solved()
    found = {
        name: _component(at, anova, weights, within, tuple(merged.get(name, ())), level)
        for at, name in enumerate(within.levels)
    }
    components = {name: found.get(name) or _without(name, full, alone, merged) for name in full.levels}
    return VarianceComponents(
        components=components,
        means=unit_means(values, within),
        sizes={
            name: within.units[at] / within.units[at - 1] for at, name in enumerate(within.levels) if at > 0
        },
        n=values.size,
        confidence=float(confidence),
        method="nested analysis of variance (moments); modified large-sample intervals",
        note="; ".join(part for part in (*_notes(components), repeated) if part),
    )


def _read(table: Table, values: Array, levels: Sequence[str]) -> tuple[Nesting, Indices, str]:
    """Return the units, the rows used, and a note on dropped rows."""
    names = list(levels)
    if not names or len(set(names)) < len(names):
        raise StatisticsError(
            f"levels are {names!r}; expected one or more different columns, the highest first"
        )
    labels = [np.asarray(column(table, name)) for name in names]
    for name, own in zip(names, labels, strict=True):
        if own.shape != values.shape:
            raise StatisticsError(f"the column {name!r} has {own.size} labels for {values.size} values")
    labels = [own.astype(str) if own.dtype.kind == "O" else own for own in labels]
    full = nested(labels, names)
    if full.units[-1] == values.size:
        return full, np.arange(values.size), ""
    rows = np.unique(np.stack([full.codes[-1].astype(np.float64), values]), axis=1, return_index=True)[1]
    if rows.size == full.units[-1]:
        dropped = values.size - rows.size
        rows = np.asarray(np.sort(rows), dtype=np.int64)
        return (
            nested([own[rows] for own in labels], names),
            rows,
            f"{dropped} rows repeat another and are left out",
        )
    return nested([*labels, np.arange(values.size)], [*names, RESIDUAL]), np.arange(values.size), ""


def _component(
    at: int, anova: NestedAnova, weights: Array, within: Nesting, includes: tuple[str, ...], level: float
) -> Component:
    variance = float(weights[at] @ anova.mean_squares)
    low, high = component_bounds(anova, weights[at], level)
    return Component(
        level=within.levels[at],
        variance=max(variance, 0.0),
        low=max(low, 0.0),
        high=max(high, 0.0),
        df=int(anova.df[at]),
        units=within.units[at],
        negative=variance < 0,
        includes=includes,
        reason="",
    )


def _without(name: str, full: Nesting, alone: list[str], merged: Mapping[str, list[str]]) -> Component:
    if name in alone:
        reason = f"there is one {name} only; repeat {name}: two or more are needed"
    else:
        owner = next(above for above, own in merged.items() if name in own)
        reason = f"each {owner} has one {name}: part of {owner}; repeat {name} within {owner}"
    return Component(name, nan, nan, nan, 0, full.units[full.levels.index(name)], False, (), reason)


def _t(df: int, confidence: float) -> float:
    return float(special.stdtrit(df, (1 + confidence / 100) / 2))


def _alone(components: Mapping[str, Component]) -> list[str]:
    return [name for name, one in components.items() if one.units == 1]


def _notes(components: Mapping[str, Component]) -> list[str]:
    negative = [name for name, one in components.items() if one.negative]
    return [
        *(f"{one.level}: {one.reason}" for one in components.values() if one.reason),
        *([f"estimated below 0 and set to 0: {', '.join(negative)}"] if negative else []),
    ]
