"""Comparison of each level of a factor with its base: separately at every level of the others, and averaged equally over them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import nan, prod

from trialwise import statistics as st
from trialwise.analysis.effects.results import LevelComparison
from trialwise.analysis.effects.trials import Part, column_of
from trialwise.analysis.nesting import nested_means
from trialwise.analysis.trial_set import Level
from trialwise.analysis.unit_words import plural, sides_text
from trialwise.errors import StatisticsError
from trialwise.experiment.model import Extent
from trialwise.late import pl

_UNIT = "unit"


@dataclass(frozen=True, slots=True)
class Compared:
    """A comparison before its family is judged; `reason` says why there is no difference."""

    factor: str
    base: str
    level: str
    at: Mapping[str, str]
    n: tuple[int, int]
    means: tuple[float, float]
    difference: st.Difference | None
    seconds: float | None
    """Duration of one more unit on each side."""
    reason: str
    uneven: bool = False
    """True if treatments of a side have different numbers of values; `n` are then the smallest."""


@dataclass(frozen=True, slots=True)
class Judging:
    """Options for judging sides."""

    confidence: float
    margin: Extent | None


def averaged(part: Part, bases: Mapping[str, str], level: Level, judging: Judging) -> Iterator[Compared]:
    """Compare each factor's levels with its base, averaged equally over the levels of the others."""
    for factor, levels in part.levels.items():
        base = _base(levels, bases.get(factor))
        for other in levels:
            if other != base:
                sides = tuple(_averages(part, factor, one, level) for one in (base, other))
                yield _compared(factor, base, other, {}, sides, level, judging)


def alone(
    part: Part, factor: str, others: Sequence[str], bases: Mapping[str, str], level: Level, judging: Judging
) -> Iterator[Compared]:
    """Compare a factor's levels with its base at each combination of levels of `others`.

    Any remaining factor is averaged over.
    """
    levels = part.levels[factor]
    base = _base(levels, bases.get(factor))
    for held in product(*(part.levels[name] for name in others)):
        where = dict(zip(others, held, strict=True))
        wanted = pl.lit(value=True)
        for name, one in where.items():
            wanted &= pl.col(column_of(name)) == one
        rest = {name: found for name, found in part.levels.items() if name not in where}
        here = Part(part.metric, part.held, tuple(rest), rest, part.trials.filter(wanted), ())
        for other in levels:
            if other != base:
                sides = tuple(_averages(here, factor, one, level) for one in (base, other))
                yield _compared(factor, base, other, where, sides, level, judging)


def _base(levels: Sequence[str], wanted: str | None) -> str:
    return levels[0] if wanted is None or wanted not in levels else wanted


@dataclass(frozen=True, slots=True)
class _Side:
    """The values of one side by unit, for units that ran at every level of the other factors."""

    values: Mapping[str, float]
    seconds: float | None
    mean: float
    refusal: str
    """Why they are not averages; empty if they are."""
    cells: Mapping[str, Sequence[float]]
    """The values of each treatment if units hold one treatment only; otherwise empty."""
    unequal: bool
    """True if treatments have different numbers of these values."""


def _averages(part: Part, factor: str, one: str, level: Level) -> _Side:
    trials = part.trials.filter(pl.col(column_of(factor)) == one)
    others = [name for name in part.factors if name != factor]
    cells = [column_of(name) for name in others]
    number = prod(len(part.levels[name]) for name in others)
    apart = _are_apart(part, level)
    by_unit = _numbered(trials, cells, one, level) if apart else nested_means(trials, level, cells)
    unit = _UNIT if apart else level
    means = by_unit.group_by(unit, maintain_order=True).agg(pl.col("value").mean(), pl.len().alias("cells"))
    whole = means.filter(pl.col("cells") == number)
    refusal = ""
    if trials.select(cells).n_unique() < number if cells else trials.is_empty():
        refusal = (
            f"{factor}={one} did not run at every level of {', '.join(others)}: they are not averaged"
            if others
            else f"{factor}={one} did not run there"
        )
    values = dict(zip(whole[unit].to_list(), whole["value"].to_list(), strict=True))
    seconds = _seconds(trials, max(1, whole.height))
    by_cell = _by_cell(by_unit, factor, one, others) if apart and others else {}
    unequal = bool(by_cell) and whole.height < means.height
    return _Side(values, seconds, _mean_of_cells(trials, cells), refusal, by_cell, unequal)


def _by_cell(
    by_unit: pl.DataFrame, factor: str, one: str, others: Sequence[str]
) -> dict[str, Sequence[float]]:
    """Return the values of each treatment of a side, by treatment name."""
    columns = [column_of(name) for name in others]
    found: dict[str, Sequence[float]] = {}
    for levels, rows in by_unit.group_by(columns, maintain_order=True):
        held = [f"{name}={level}" for name, level in zip(others, levels, strict=True)]
        found[", ".join([f"{factor}={one}", *held])] = rows["value"].to_list()
    return found


def _are_apart(part: Part, level: Level) -> bool:
    """Return True if each unit of the level has one treatment only, like a trial, or a process that its trials share."""
    columns = [column_of(name) for name in part.factors]
    held = part.trials.group_by(level).agg(pl.struct(columns).n_unique().alias("treatments"))
    return not (held["treatments"] > 1).any()


def _numbered(trials: pl.DataFrame, cells: Sequence[str], side: str, level: Level) -> pl.DataFrame:
    """Join the first units of all cells into one, the second ones into another, and so on; in rounds or series these ran together."""
    if trials["started"].null_count() == 0:
        trials = trials.sort("started", maintain_order=True)
    place = pl.int_range(pl.len())
    number = (place.over(cells) if cells else place).cast(pl.String)
    return nested_means(trials, level, cells).with_columns((pl.lit(f"{side} ") + number).alias(_UNIT))


def _mean_of_cells(trials: pl.DataFrame, cells: Sequence[str]) -> float:
    """Return the mean with equal weight for every cell, whatever its number of trials."""
    means = trials.group_by(cells).agg(pl.col("value").mean()) if cells else trials
    mean = means["value"].mean()
    return mean if isinstance(mean, float) else nan


def _seconds(trials: pl.DataFrame, number: int) -> float | None:
    """Return the duration of one more unit of a side: the present number of trials per unit times the median trial."""
    median = trials["seconds"].median()
    return median * trials.height / number if isinstance(median, float) else None


def _compared(
    factor: str,
    base: str,
    level: str,
    at: Mapping[str, str],
    sides: tuple[_Side, ...],
    unit: Level,
    judging: Judging,
) -> Compared:
    first, second = sides
    seconds = None if first.seconds is None or second.seconds is None else first.seconds + second.seconds
    if (
        first.cells
        and second.cells
        and (first.unequal or second.unequal)
        and not (first.refusal or second.refusal)
    ):
        found, reason = _of_cells(first, second, unit, judging)
        n = (_fewest(first), _fewest(second))
        return Compared(
            factor, base, level, at, n, (first.mean, second.mean), found, seconds, reason, uneven=True
        )
    a, b, paired = dict(first.values), dict(second.values), False
    shared = [unit for unit in a if unit in b]
    if shared:
        a, b, paired = {unit: a[unit] for unit in shared}, {unit: b[unit] for unit in shared}, True
    difference, reason = None, first.refusal or second.refusal
    if not reason:
        difference, reason = _difference(list(a.values()), list(b.values()), judging, paired=paired)
    return Compared(
        factor, base, level, at, (len(a), len(b)), (first.mean, second.mean), difference, seconds, reason
    )


def _difference(
    a: Sequence[float], b: Sequence[float], judging: Judging, *, paired: bool
) -> tuple[st.Difference | None, str]:
    if min(len(a), len(b)) < 2:
        return None, f"no inference from {sides_text(len(a), len(b), 'value')}: each side takes at least two"
    judge = st.paired_difference if paired else st.difference
    margin = judging.margin
    try:
        return judge(
            a,
            b,
            confidence=judging.confidence,
            margin=margin and margin.value,
            relative=margin is not None and margin.relative,
        ), ""
    except StatisticsError as error:
        return None, str(error)


def _fewest(side: _Side) -> int:
    return min(map(len, side.cells.values()))


def _of_cells(
    first: _Side, second: _Side, level: Level, judging: Judging
) -> tuple[st.Difference | None, str]:
    """Compare two means of treatment means, for treatments with different numbers of values."""
    a, b = (side.cells for side in (first, second))
    single = [name for side in (a, b) for name, values in side.items() if len(values) < 2]
    if single:
        said = f"{single[0]} has" if len(single) == 1 else f"{', '.join(single[:3])} have"
        return (
            None,
            f"{said} one {level}, which shows no spread: an average takes two {plural(level)} or more of each",
        )
    margin = judging.margin
    try:
        return st.difference_of_averages(
            list(a.values()),
            list(b.values()),
            confidence=judging.confidence,
            margin=margin and margin.value,
            relative=margin is not None and margin.relative,
        ), ""
    except StatisticsError as error:
        return None, str(error)


def judged(one: Compared, member: st.FamilyMember | None) -> LevelComparison:
    """Build a comparison with the verdict of its family."""
    found = one.difference
    more = member.bill if member else None
    bounds = (found.welch.estimate, found.welch.low, found.welch.high) if found else (nan, nan, nan)
    shares = (found.percent.estimate, found.percent.low, found.percent.high) if found else (nan, nan, nan)
    shift = found.hodges_lehmann if found else None
    return LevelComparison(
        one.factor,
        one.base,
        one.level,
        one.at,
        one.n,
        found.means if found else one.means,
        *bounds,
        *shares,
        shift.estimate if shift else nan,
        nan if shift is None or shift.low is None else shift.low,
        nan if shift is None or shift.high is None else shift.high,
        found.margin if found else None,
        found.p_different if found else nan,
        found.p_equivalent if found else None,
        member.p_adjusted if member else None,
        member.verdict if member else "no inference",
        more,
        None if more is None or one.seconds is None else more * one.seconds,
        paired=found.paired if found else False,
        reason=member.reason if member else one.reason,
        method=found.method if found else "",
        df=found.welch.df if found else nan,
        uneven=one.uneven,
    )
