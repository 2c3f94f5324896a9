"""From paths of other tools' files to what they say at first sight."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from trialwise.analysis.looking import Seen, see, see_summaries
from trialwise.analysis.trial_set import TrialSet
from trialwise.errors import AnalysisError
from trialwise.exchange.readings import trial_set
from trialwise.readers.file_names import Named, by_pattern, guessed
from trialwise.readers.gathering import Gathered, Group, Unread, gather
from trialwise.readers.records import Reading


@dataclass(frozen=True, slots=True)
class LookedAt:
    """What was seen of each group of files, the groups, files that were not read, and copies by the path of the first."""

    seen: tuple[Seen, ...]
    groups: tuple[Group, ...]
    unread: tuple[Unread, ...]
    copies: tuple[tuple[str, str], ...]


def look(
    paths: Sequence[Path], pattern: str | None = None, told: Callable[[int], None] | None = None
) -> LookedAt:
    """Read files and folders, and look at what they say.

    Raises
    ------
    AnalysisError
        A path does not exist, nothing is known of any file, or the pattern of names does not fit.
    """
    gathered = gather(paths, told)
    if not gathered.groups:
        raise nothing_read(paths, gathered)
    seen: list[Seen] = []
    groups: list[Group] = []
    for group in gathered.groups:
        named, shown = with_names(with_options(group), pattern)
        groups.append(named)
        has_values = any(
            row.value is not None and row.status != "aggregated"
            for each in named.readings
            for row in each.rows
        )
        seen.append(see(named, trials_of(named), shown) if has_values else see_summaries(named, shown))
    return LookedAt(tuple(seen), tuple(groups), gathered.unread, gathered.copies)


def trials_of(group: Group) -> TrialSet:
    """Return the trials of a group.

    Raises
    ------
    AnalysisError
        There is no value.
    """
    return trial_set(group.readings, group.tool)


def nothing_read(paths: Sequence[Path], gathered: Gathered) -> AnalysisError:
    """Return the error where no reader knows any file."""
    if not gathered.unread:
        return AnalysisError(f"{paths[0]}: holds no result file", hint="name a file or a folder of results")
    first = gathered.unread[0]
    more = f", and {len(gathered.unread) - 1} more" if len(gathered.unread) > 1 else ""
    hint = (
        first.hint
        or "a table is read with --value COLUMN --group COLUMN by `trialwise compare` and `trialwise analyze`"
    )
    return AnalysisError(f"{first.path}: {first.why}{more}", hint=hint)


def with_options(group: Group) -> Group:
    """Add those settings of the tool as factors that differ between files."""
    names = dict.fromkeys(name for reading in group.readings for name in reading.options)
    differing = [name for name in names if len({reading.options.get(name) for reading in group.readings}) > 1]
    readings = tuple(
        _with(reading, {name: reading.options[name] for name in differing if name in reading.options})
        for reading in group.readings
    )
    return replace(group, readings=readings) if differing else group


def with_names(group: Group, pattern: str | None = None) -> tuple[Group, str]:
    """Add the factors that names of files give, and say which part of a name is which; empty if none is used.

    A factor that repeats one of the content, one to one, is left out.

    Raises
    ------
    AnalysisError
        The pattern does not fit a name.
    """
    paths = [reading.path for reading in group.readings]
    named = by_pattern(paths, pattern) if pattern is not None else guessed(paths)
    if named is None:
        return group, ""
    kept = [name for name in named.factors[0] if not _is_repeated(name, named, group.readings)]
    if not kept:
        return group, ""
    readings = tuple(
        _with(reading, {name: own[name] for name in kept})
        for reading, own in zip(group.readings, named.factors, strict=True)
    )
    return replace(group, readings=readings), named.pattern


def _is_repeated(name: str, named: Named, readings: Sequence[Reading]) -> bool:
    """Return True if a factor of names maps one to one to a factor in the files."""
    levels = [own[name] for own in named.factors]
    inside = [
        {factor: {row.treatment.get(factor) for row in reading.rows} for factor in _factors(reading)}
        for reading in readings
    ]
    for factor in dict.fromkeys(factor for each in inside for factor in each):
        told = [each.get(factor, set[str | None]()) for each in inside]
        if all(len(each) == 1 for each in told):
            pairs = {(level, next(iter(each))) for level, each in zip(levels, told, strict=True)}
            if len(pairs) == len({first for first, _ in pairs}) == len({second for _, second in pairs}):
                return True
    return False


def _factors(reading: Reading) -> list[str]:
    return list(dict.fromkeys(factor for row in reading.rows for factor in row.treatment))


def _with(reading: Reading, factors: Mapping[str, str]) -> Reading:
    rows = tuple(replace(row, treatment={**row.treatment, **factors}) for row in reading.rows)
    return replace(reading, rows=rows, named=(*reading.named, *factors) if reading.named else ())
