"""Which command says more of the same files: one that can, since a look knows what they hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from trialwise.analysis.comparison.ranking import can_rank
from trialwise.analysis.comparison.sides import matched
from trialwise.analysis.trial_set import TrialSet
from trialwise.errors import AnalysisError
from trialwise.exchange.readings import numbered_trial_set
from trialwise.readers.distinguishing import told_apart
from trialwise.readers.gathering import Group
from trialwise.readers.tables.reader import TABLES


def proposal(paths: Sequence[Path], pattern: str | None, group: Group, trials: TrialSet) -> tuple[str, ...]:
    """Return the words of a command that takes the same paths and succeeds; none if there is no such command.

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
        return ()  # commands have to be told its columns
    names = tuple(map(str, paths))
    if pattern is None and len(paths) == 1 and can_rank(trials):
        return ("compare", *names, "--rank")
    if pattern is None and len(paths) == 2 and _are_sides(paths, group):
        return ("compare", *names, "--margin", "3%")
    return ("analyze", *names, *(() if pattern is None else ("--factor", pattern)))


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
