"""Trials sorted by factors, with the values at the level of inference, part by part."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from trialwise.analysis.nesting import highest_that_varies, nested_means
from trialwise.analysis.trial_set import Level, TrialSet
from trialwise.errors import AnalysisError
from trialwise.experiment.placeholders import level_text
from trialwise.late import pl


@dataclass(frozen=True, slots=True)
class FactorTrials:
    """The trials of an experiment with a text column for each factor; `levels` are in display order."""

    trials: TrialSet
    levels: Mapping[str, tuple[str, ...]]
    table: pl.DataFrame
    """Columns of `trial_set.SCHEMA`, plus one column per factor."""
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Part:
    """The trials of one metric at one level of each fixed factor."""

    metric: str
    held: Mapping[str, str]
    factors: tuple[str, ...]
    """Factors with at least two levels here."""
    levels: Mapping[str, tuple[str, ...]]
    trials: pl.DataFrame
    notes: tuple[str, ...]


def factor_trials(trials: TrialSet, orders: Mapping[str, Sequence[str]] | None = None) -> FactorTrials:
    """Give each trial its levels as text; factors with one level are dropped and named.

    `orders` sets the display order of levels; otherwise numbers ascend, and other levels keep their order of appearance.

    Raises
    ------
    AnalysisError
        No factor has two levels.
    """
    names = dict.fromkeys(name for levels in trials.treatments.values() for name in levels)
    of = {
        name: {
            treatment: level_text(levels[name])
            for treatment, levels in trials.treatments.items()
            if name in levels
        }
        for name in names
    }
    table = trials.table.with_columns(
        pl.col("treatment")
        .replace_strict(of[name], default=None, return_dtype=pl.String)
        .alias(column_of(name))
        for name in names
    )
    levels: dict[str, tuple[str, ...]] = {}
    notes: list[str] = []
    for name in names:
        found = table[column_of(name)].drop_nulls().unique(maintain_order=True).to_list()
        if len(found) > 1:
            levels[name] = _ordered(found, (orders or {}).get(name, ()))
        elif found:
            notes.append(
                f"{name} is {found[0]} in all trials: a factor with one level explains nothing and is left out"
            )
    if not levels:
        said = f" ({'; '.join(notes)})" if notes else ""
        raise AnalysisError(
            f"{trials.name}: no factor has two levels{said}", hint="run trials at a second level of a factor"
        )
    return FactorTrials(trials, levels, table, (*trials.notes, *notes))


def column_of(factor: str) -> str:
    """Return the name of a factor's column; a factor may have the name of another column."""
    return f"factor {factor}"


def _ordered(found: Sequence[str], wanted: Sequence[str]) -> tuple[str, ...]:
    try:
        rest = sorted(found, key=float)
    except ValueError:
        rest = list(found)
    known = [level for level in wanted if level in found]
    return (*known, *(level for level in rest if level not in known))


def held_factors(given: FactorTrials, by: Sequence[str]) -> tuple[str, ...]:
    """Return the factors whose levels are analysed each by itself: those that say what was measured, and those of `by`."""
    return tuple(dict.fromkeys((*(name for name in given.trials.subjects if name in given.levels), *by)))


def parts(given: FactorTrials, held: Sequence[str]) -> Iterator[Part]:
    """Yield each metric at each combination of levels of the factors of `held` that has trials.

    Raises
    ------
    AnalysisError
        A factor of `held` does not exist, or no factor is left.
    """
    for name in held:
        if name not in given.levels:
            raise AnalysisError(
                f"{given.trials.name}: no factor {name!r} with two levels",
                hint=f"there are: {', '.join(given.levels)}",
            )
    free = [name for name in given.levels if name not in held]
    if not free:
        raise _none_left(given, held)
    tables = given.table.partition_by("metric", *map(column_of, held), as_dict=True, maintain_order=True)
    for levels in product(*(given.levels[name] for name in held)):
        where = dict(zip(held, levels, strict=True))
        for metric in given.trials.metrics:
            if (table := tables.get((metric, *levels))) is not None:
                yield _part(given, metric, where, free, table)


def _none_left(given: FactorTrials, held: Sequence[str]) -> AnalysisError:
    subjects = [name for name in held if name in given.trials.subjects]
    if len(subjects) < len(held):
        return AnalysisError(
            "--by holds every factor: none is left to be analysed", hint="leave one out of --by"
        )
    return AnalysisError(
        f"{given.trials.name}: nothing differs but {', '.join(subjects)}, which says what was measured: its levels are not compared",
        hint="name results of another version, machine or setting, too",
    )


def _part(
    given: FactorTrials, metric: str, held: Mapping[str, str], free: Sequence[str], table: pl.DataFrame
) -> Part:
    levels: dict[str, tuple[str, ...]] = {}
    notes: list[str] = []
    for name in free:
        there = set(table[column_of(name)].unique().to_list())
        found = tuple(level for level in given.levels[name] if level in there)
        if len(found) > 1:
            levels[name] = found
        else:
            notes.append(f"{name} is {', '.join(found)} in all trials here and is left out")
    return Part(metric, held, tuple(levels), levels, table, tuple(notes))


def at_level(part: Part, level: Level | None) -> tuple[Level, pl.DataFrame]:
    """Return the level of inference and its values: one per unit and treatment, the mean of the unit's trials.

    Rows are in the order of the levels of the factors.
    """
    chosen = level or highest_that_varies(part.trials)
    columns = [column_of(name) for name in part.factors]
    return chosen, by_levels(part, nested_means(part.trials, chosen, columns))


def by_levels(part: Part, table: pl.DataFrame) -> pl.DataFrame:
    """Sort rows by the levels of the factors, keeping their order within a treatment."""
    orders = [
        pl.col(column_of(name)).replace_strict(
            {text: place for place, text in enumerate(part.levels[name])}, return_dtype=pl.Int64
        )
        for name in part.factors
    ]
    return table.sort(orders, maintain_order=True) if orders else table
