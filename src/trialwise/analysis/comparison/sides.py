"""Matching of the treatments and metrics of two sides."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence

from trialwise.analysis.boots import with_joined_boots
from trialwise.analysis.comparison.results import OneSided
from trialwise.analysis.trial_set import TrialSet
from trialwise.errors import AnalysisError
from trialwise.experiment.model import Level
from trialwise.experiment.placeholders import level_text
from trialwise.late import pl

Selection = Mapping[str, Sequence[str]]
"""Names of factors mapped to the selected levels, as text."""


def selected(trials: TrialSet, selection: Selection, name: str | None = None) -> TrialSet:
    """Select the treatments at these levels; a factor fixed at one level disappears from their names.

    Raises
    ------
    AnalysisError
        A factor or level does not exist, or no treatment is left.
    """
    _check(trials, selection)
    held = {factor for factor, levels in selection.items() if len(set(levels)) == 1}
    names: dict[str, str] = {}
    treatments: dict[str, Mapping[str, Level]] = {}
    for treatment, levels in trials.treatments.items():
        if all(level_text(levels[factor]) in wanted for factor, wanted in selection.items()):
            rest = {factor: level for factor, level in levels.items() if factor not in held}
            names[treatment] = treatment_name(rest)
            treatments[names[treatment]] = rest
    table = trials.table.filter(pl.col("treatment").is_in(list(names))).with_columns(
        pl.col("treatment").replace_strict(names, default=None, return_dtype=pl.String)
    )
    if table.is_empty():
        raise AnalysisError(f"{trials.name}: no trial of {text_of(selection)}")
    return dataclasses.replace(trials, name=name or text_of(selection), treatments=treatments, table=table)


def with_metrics(trials: TrialSet, wanted: Sequence[str]) -> TrialSet:
    """Select the named metrics that a side has; all if none is named.

    Raises
    ------
    AnalysisError
        It has none of them.
    """
    if not wanted:
        return trials
    metrics = {name: facts for name, facts in trials.metrics.items() if name in wanted}
    if not metrics:
        raise AnalysisError(
            f"{trials.name}: no metric {_list(dict.fromkeys(wanted))}",
            hint=f"there are: {', '.join(trials.metrics)}",
        )
    table = trials.table.filter(pl.col("metric").is_in(list(metrics)))
    return dataclasses.replace(trials, metrics=metrics, table=table)


Aliases = Mapping[str, Mapping[str, str]]
"""Levels under a name that another source gives them, mapped to our names for them, each with what is said of it."""


def under_names_of(side: TrialSet, other: TrialSet, aliases: Aliases) -> TrialSet:
    """Give levels of a side the names that the other side has for them, where `aliases` knows these; notes say which."""
    there = _levels_of(side)
    taken: dict[tuple[str, str], str] = {}
    notes: list[str] = []
    for factor, levels in _levels_of(other).items():
        for level in levels:
            candidates = [
                (own, said)
                for own, said in aliases.get(level, {}).items()
                if own in there.get(factor, ()) and own not in levels and (factor, own) not in taken
            ]
            if level in there.get(factor, ()) or not candidates:
                continue
            own, said = candidates[0]
            taken[factor, own] = level
            notes.append(said)
    return _releveled(side, taken, notes) if taken else side


def _levels_of(trials: TrialSet) -> dict[str, dict[str, None]]:
    found: dict[str, dict[str, None]] = {}
    for levels in trials.treatments.values():
        for factor, level in levels.items():
            found.setdefault(factor, {})[level_text(level)] = None
    return found


def _releveled(trials: TrialSet, taken: Mapping[tuple[str, str], str], notes: Sequence[str]) -> TrialSet:
    names: dict[str, str] = {}
    treatments: dict[str, Mapping[str, Level]] = {}
    for name, levels in trials.treatments.items():
        now = {factor: taken.get((factor, level_text(level)), level) for factor, level in levels.items()}
        names[name] = treatment_name(now) if now != levels else name
        treatments[names[name]] = now
    renamed = _renamed(trials, names)
    return dataclasses.replace(renamed, treatments=treatments, notes=(*trials.notes, *notes))


def text_of(selection: Selection) -> str:
    """Write a selection as on the command line."""
    return " ".join(f"{factor}={','.join(levels)}" for factor, levels in selection.items())


def treatment_name(levels: Mapping[str, Level]) -> str:
    """Return the name of a treatment from its levels; "-" if there are none."""
    return " ".join(f"{name}={level_text(level)}" for name, level in levels.items()) or "-"


def _check(trials: TrialSet, selection: Selection) -> None:
    factors = {name: level for levels in trials.treatments.values() for name, level in levels.items()}
    for factor, wanted in selection.items():
        if factor not in factors:
            there = ", ".join(factors) or "none"
            raise AnalysisError(f"{trials.name}: no factor {factor!r}", hint=f"factors: {there}")
        levels = sorted(
            {level_text(found[factor]) for found in trials.treatments.values() if factor in found}
        )
        for level in wanted:
            if level not in levels:
                raise AnalysisError(
                    f"{trials.name}: {factor} has no level {level!r}", hint=f"there are: {', '.join(levels)}"
                )


def matched(a: TrialSet, b: TrialSet) -> tuple[TrialSet, TrialSet, tuple[OneSided, ...]]:
    """Rename the treatments of both sides to common names, and return what only one side has.

    Treatments match if their levels do, whatever the order of the factors. Two sides with one treatment each are compared whatever
    their names.

    Raises
    ------
    AnalysisError
        The sides have no treatment or no metric in common.
    """
    a, b = with_joined_boots(_canonical(a), _canonical(b))
    if len(a.treatments) == len(b.treatments) == 1 and a.treatments.keys() != b.treatments.keys():
        a, b = _unnamed(a), _unnamed(b)
    lost = tuple(_one_sided(a, b))
    if not a.treatments.keys() & b.treatments.keys():
        raise AnalysisError(
            f"{a.name} and {b.name} have no treatment in common",
            hint=f"there are {_list(a.treatments)} and {_list(b.treatments)}; name sides with --a and --b",
        )
    if not a.metrics.keys() & b.metrics.keys():
        raise AnalysisError(
            f"{a.name} and {b.name} have no metric in common",
            hint=f"there are {_list(a.metrics)} and {_list(b.metrics)}",
        )
    return a, b, lost


def _canonical(trials: TrialSet) -> TrialSet:
    names = {
        name: treatment_name(dict(sorted(levels.items()))) if levels else name
        for name, levels in trials.treatments.items()
    }
    return _renamed(trials, names)


def _unnamed(trials: TrialSet) -> TrialSet:
    return _renamed(trials, dict.fromkeys(trials.treatments, "-"))


def _renamed(trials: TrialSet, names: Mapping[str, str]) -> TrialSet:
    table = trials.table.with_columns(
        pl.col("treatment").replace_strict(dict(names), default=None, return_dtype=pl.String)
    )
    treatments = {names[name]: levels for name, levels in trials.treatments.items()}
    return dataclasses.replace(trials, table=table, treatments=treatments)


def _one_sided(a: TrialSet, b: TrialSet) -> Iterator[OneSided]:
    for side, other in ((a, b), (b, a)):
        yield from (
            OneSided("treatment", name, side.name) for name in side.treatments if name not in other.treatments
        )
        yield from (OneSided("metric", name, side.name) for name in side.metrics if name not in other.metrics)
        cells = side.table.select("treatment", "metric").unique(maintain_order=True)
        lacking = cells.join(other.table, on=["treatment", "metric"], how="anti", maintain_order="left")
        for treatment, metric in lacking.iter_rows():
            if treatment in other.treatments and metric in other.metrics:
                yield OneSided("cell", f"{metric} of {treatment}", side.name)


def _list(names: Mapping[str, object]) -> str:
    shown = list(names)[:5]
    return ", ".join(shown) + (" …" if len(names) > 5 else "")
