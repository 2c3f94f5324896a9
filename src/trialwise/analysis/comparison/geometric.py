"""Geometric means of B / A over the rows of a comparison that have one unit and direction."""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable, Iterator, Mapping, Sequence

import numpy as np

from trialwise import statistics as st
from trialwise.analysis.comparison.results import ComparisonRow, GeometricMean
from trialwise.analysis.nesting import highest_that_varies, nested_means
from trialwise.analysis.trial_set import LEVELS, PRINTED, Level, TrialSet
from trialwise.analysis.unit_words import sides_text
from trialwise.arrays import Array
from trialwise.late import pl

_CELL = ("metric", "treatment")
_NAME = "cell"


def geometric_means(
    rows: Sequence[ComparisonRow], a: TrialSet, b: TrialSet, confidence: float, level: Level | None = None
) -> tuple[GeometricMean, ...]:
    """Return the geometric mean of each group of two rows or more.

    A group holds the treatments of one metric; where there is a single treatment, the metrics of one unit and direction.
    """
    if any(PRINTED in side.table.columns for side in (a, b)):
        return ()
    found = (_mean(name, group, (a, b), confidence, level) for name, group in _groups(rows).items())
    return tuple(one for one in found if one is not None)


def _groups(rows: Sequence[ComparisonRow]) -> Mapping[Hashable, list[ComparisonRow]]:
    single = len({row.treatment for row in rows}) == 1
    groups: dict[Hashable, list[ComparisonRow]] = {}
    for row in rows:
        metric = row.metric
        if row.is_described and metric.estimand != "pooled" and not (single and not metric.unit):
            groups.setdefault((metric.unit, metric.better) if single else metric.name, []).append(row)
    return groups


def _mean(
    name: Hashable,
    group: Sequence[ComparisonRow],
    sides: tuple[TrialSet, TrialSet],
    confidence: float,
    level: Level | None,
) -> GeometricMean | None:
    metric = group[0].metric
    cells = pl.DataFrame(
        [(row.metric.name, row.treatment) for row in group], schema=_CELL, orient="row"
    ).with_columns(pl.all().cast(pl.String))
    values = pl.concat(side.table.join(cells, on=_CELL, how="semi") for side in sides)
    without = values.filter(pl.col("value") <= 0).select(_CELL).unique()
    kept = cells.join(without, on=_CELL, how="anti")
    a, b = (side.table.join(kept, on=_CELL, how="semi", maintain_order="left") for side in sides)
    number = len(group) - without.height
    if number < 2:
        return None
    found = GeometricMean(
        of=name if isinstance(name, str) else "",
        unit=metric.unit,
        better=metric.better,
        rows=number,
        left_out=without.height,
        level=level or highest_that_varies(pl.concat([side.table.select(LEVELS) for side in sides])),
        paired=False,
        ratio=None,
        percent=None,
        reason="",
    )
    return _estimated(found, (a, b), confidence)


def _estimated(
    found: GeometricMean, tables: tuple[pl.DataFrame, pl.DataFrame], confidence: float
) -> GeometricMean:
    a, b = (_by_unit(table, found.level) for table in tables)
    paired = not a.join(b, on=found.level, how="semi").is_empty()
    blocks = [_block(a, b, found.level, cells, paired=paired) for cells in _together(a, b)]
    n = min(len(first) for first, _ in blocks), min(len(second) for _, second in blocks)
    if min(n) < 2:
        of = f"{sides_text(*n, found.level)} in which all of them ran"
        return dataclasses.replace(found, reason=f"no inference from {of}: each side takes at least two")
    ratio = st.geometric_ratio(blocks, confidence=confidence, paired=paired)
    return dataclasses.replace(found, paired=paired, ratio=ratio, percent=ratio.in_percent())


def _block(
    a: pl.DataFrame, b: pl.DataFrame, level: Level, cells: Sequence[str], *, paired: bool
) -> tuple[Array, Array]:
    """Return the values of cells in the units that have all of them; if `paired`, in those of both sides, in the same order."""
    first, second = (side.select(level, *cells).drop_nulls().sort(level) for side in (a, b))
    if paired:
        first, second = first.join(second, on=level, how="semi"), second.join(first, on=level, how="semi")
    return _values(first.sort(level), cells), _values(second.sort(level), cells)


def _values(side: pl.DataFrame, cells: Sequence[str]) -> Array:
    return np.asarray(side.select(cells).to_numpy(), dtype=np.float64)


def _by_unit(table: pl.DataFrame, level: Level) -> pl.DataFrame:
    """Return a row for each unit and a column for each metric of each treatment, null where it has no value."""
    names = pl.concat_str(*_CELL, separator="\x1f").alias(_NAME)
    return nested_means(table, level, _CELL).with_columns(names).pivot(on=_NAME, index=level, values="value")


def _together(a: pl.DataFrame, b: pl.DataFrame) -> Iterator[list[str]]:
    """Yield the columns that have units in common, directly or through others: what did not run together is independent."""
    from scipy.sparse.csgraph import connected_components

    cells = a.columns[1:]
    ran = np.vstack([side.select(pl.col(cells).is_not_null()).to_numpy() for side in (a, b)])
    together = ran.T.astype(np.int64) @ ran
    number, block_of = connected_components(together, directed=False)
    for block in range(number):
        yield [cell for cell, own in zip(cells, block_of, strict=True) if own == block]
