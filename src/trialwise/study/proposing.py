"""Which command says more of the same files: one that can, since a look knows what they hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from trialwise.analysis.comparison.ranking import can_rank
from trialwise.analysis.comparison.sides import matched
from trialwise.analysis.effects.table import EffectColumns, read_effects_table
from trialwise.analysis.effects.trials import factor_trials
from trialwise.analysis.trial_set import TrialSet
from trialwise.errors import AnalysisError
from trialwise.exchange.readings import numbered_trial_set
from trialwise.experiment.model import Level as FactorLevel
from trialwise.readers.distinguishing import told_apart
from trialwise.readers.gathering import Group
from trialwise.readers.tables.reader import TABLES
from trialwise.readers.tables.roles import of_header
from trialwise.readers.tables.table import names_metrics, read_table

_VALUE = "value"
"""The column of values of a long table whose rows name their metrics."""
_MOST_METRICS = 8
"""More are too many for a command that people read."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """The words of a command that says more of the same paths; without words, `why` says what keeps every command from it."""

    words: tuple[str, ...] = ()
    why: str = ""


_ONCE = "no command can tell a difference from chance, since each treatment has one value: measure each again, at least twice"
_MOST_ROWS = 200_000
"""A table of more rows is not read once more to find out which columns a command has to be told."""


def proposal(paths: Sequence[Path], pattern: str | None, group: Group, trials: TrialSet) -> Proposal:
    """Return a command that takes the same paths and succeeds, or why there is none.

    Parameters
    ----------
    paths
        As they were given, and `pattern` that of their names, if one was.
    group
        The only group in them, as it was gathered.
    trials
        Those of the group, told apart.
    """
    if group.format in TABLES:
        return _of_tables(paths, pattern, trials)
    names = tuple(map(str, paths))
    if pattern is None and len(paths) == 1 and can_rank(trials):
        return Proposal(("compare", *names, "--rank"))
    if pattern is None and len(paths) == 2 and _are_sides(paths, group):
        return Proposal(("compare", *names, "--margin", "3%"))
    return Proposal(("analyze", *names, *_told(pattern)))


def _told(pattern: str | None) -> tuple[str, ...]:
    return () if pattern is None else ("--factor", pattern)


def _of_tables(paths: Sequence[Path], pattern: str | None, trials: TrialSet) -> Proposal:
    """Propose what has to be told its columns where that suffices; else an import, which keeps them as they were understood."""
    few = trials.table.height <= len(trials.metrics) * len(trials.treatments)
    if few and trials.table.select("metric", "treatment").is_unique().all():
        return Proposal(why=_ONCE)
    if len(paths) == 1 and paths[0].is_file() and trials.table.height <= _MOST_ROWS:
        words = _of_columns(paths[0], trials)
        if words:
            return Proposal(words)
    first = paths[0].resolve()
    return Proposal(
        ("import", *map(str, paths), *_told(pattern), "-o", f"{first.stem or first.name}.imported")
    )


def _of_columns(path: Path, trials: TrialSet) -> tuple[str, ...]:
    """Return the words of `effects` with the columns of a table that has a row for each trial; nothing if it is not such a one."""
    try:
        table = read_table(path)
        named = names_metrics(table.columns, _VALUE)
        metrics = tuple(trials.metrics) if named else ()
        groups = tuple(name for name in _varying(trials) if name in table.columns)
        values = tuple(name for name in table.columns if of_header(name)[0] in trials.metrics)
        values = (_VALUE,) if named else values
        if not groups or len(metrics) > _MOST_METRICS:
            return ()
        found, _ = read_effects_table(path, EffectColumns(groups, values, metrics=metrics))
        factor_trials(found)
    except AnalysisError:
        return ()
    if found.table.height != trials.table.height:
        return ()
    options = (("--group", groups), ("--value", values), ("--metric", metrics))
    return (
        "effects",
        str(path),
        *(word for option, names in options for name in names for word in (option, name)),
    )


def _varying(trials: TrialSet) -> list[str]:
    levels: dict[str, set[FactorLevel]] = {}
    for own in trials.treatments.values():
        for name, level in own.items():
            levels.setdefault(name, set()).add(level)
    return [name for name, found in levels.items() if len(found) > 1]


def _are_sides(paths: Sequence[Path], group: Group) -> bool:
    """Return True if both paths have values of a common metric of a common treatment."""
    try:
        a, b, _ = matched(*(_side(path, group) for path in paths))
    except AnalysisError:
        return False
    cells = [set(side.table.select("treatment", "metric").unique().iter_rows()) for side in (a, b)]
    return bool(cells[0] & cells[1])


def _side(path: Path, group: Group) -> TrialSet:
    own = tuple(
        reading
        for reading in group.readings
        if path == Path(reading.path) or path in Path(reading.path).parents
    )
    return numbered_trial_set(told_apart(replace(group, readings=own))[0].readings, str(path))
