"""From result files and experiment directories of several commits or days to the history of their metrics."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from pathlib import Path

from trialwise.analysis.comparison.sides import treatment_name
from trialwise.analysis.history import By, History, Measurement, day_of, history
from trialwise.errors import AnalysisError, StoreError
from trialwise.measurement.checkout import commits_in_order
from trialwise.numbers import counted
from trialwise.readers.distinguishing import with_names, with_options
from trialwise.readers.gathering import gather
from trialwise.readers.records import Reading, Row
from trialwise.store.directory import LEDGER, is_pair
from trialwise.study.looking import nothing_read
from trialwise.study.reading import trial_set

_COMMITS, _DATES = ("commit", "rev", "revision", "sha"), ("date", "day")
"""Names of factors that say when a value was measured, or of what."""
_MACHINES = ("machine", "host", "node", "hostname")
_MOST_FOLDERS = 10_000


@dataclass(frozen=True, slots=True)
class _Found:
    """Measurements in the order in which they stand in the files, commits with their times where these are known, and notes."""

    measurements: list[Measurement]
    commits: dict[str, float | None]
    notes: list[str]


def look_back(
    paths: Sequence[Path],
    by: By | None = None,
    *,
    metric: str | None = None,
    factor: str | None = None,
    repository: Path | None = None,
    told: Callable[[int], None] | None = None,
) -> History:
    """Read files, folders and experiment directories, and look for changes of level over commits or days.

    Parameters
    ----------
    by
        Default: by commit where every value has one, else by day.
    metric
        A pattern with * and ? that the metric, or its subject, has to match.
    factor
        How names of files give factors, of which `commit` and `date` are understood; {rep} is the number of a repetition.
    repository
        A checkout whose history has the order of the commits.
    told
        Called with the number of files read so far.

    Raises
    ------
    AnalysisError
        A path does not exist, nothing can be read, nothing matches, or there is neither a commit nor a date.
    """
    found = _read(paths, factor, told)
    kept = [each for each in found.measurements if metric is None or _matches(each, metric)]
    if not kept:
        raise AnalysisError(
            f"--metric {metric}: nothing matches" if found.measurements else f"{paths[0]}: holds no value",
            hint=f"such as: {', '.join(list(dict.fromkeys(each.metric for each in found.measurements))[:5])}",
        )
    along = by or ("commit" if all(each.commit for each in kept) else "date")
    if not any(each.commit if along == "commit" else day_of(each.time) for each in kept):
        raise AnalysisError(
            f"no value has a {along}",
            hint="say how names of files tell it, such as --factor '{commit}_{bench}.json' or '{date}.json'",
        )
    order, why = _order(kept, found.commits, repository) if along == "commit" else ([], "by day (UTC)")
    if repository is not None and along == "commit":
        known = set(order)
        outside = len({each.commit for each in kept} - known - {""})
        if outside:
            found.notes.append(f"{counted(outside, 'commit')} not in {repository}: left out")
        kept = [each if each.commit in known else replace(each, commit="") for each in kept]
    return history(kept, along, order, why, found.notes)


def _matches(each: Measurement, pattern: str) -> bool:
    return fnmatchcase(each.metric, pattern) or fnmatchcase(each.subject, pattern)


def _order(
    kept: Sequence[Measurement], times: Mapping[str, float | None], repository: Path | None
) -> tuple[list[str], str]:
    """Return the commits in their order, and what it rests on."""
    there = list(dict.fromkeys(each.commit for each in kept if each.commit))
    if repository is not None:
        return _in_repository(there, repository), f"by commit, in the order of the repository {repository}"
    known = {commit: time for commit in there if (time := times.get(commit)) is not None}
    if len(known) == len(there) and there:
        return sorted(there, key=known.__getitem__), "by commit, in the order of their dates"
    first: dict[str, float] = {}
    for each in kept:
        if each.time is not None:
            first[each.commit] = min(each.time, first.get(each.commit, each.time))
    if len(first.keys() - {""}) == len(there):
        return sorted(
            there, key=first.__getitem__
        ), "by commit, in the order in which they were measured first"
    return there, "by commit, in the order of the files, which may not be theirs: name --repository"


def _in_repository(there: Sequence[str], repository: Path) -> list[str]:
    """Return those commits that a repository has, in its order; abbreviated names count where one commit alone begins so."""
    listed = commits_in_order(repository)
    if listed is None:
        raise AnalysisError(
            f"--repository {repository}: git lists no commits there", hint="name a folder inside a checkout"
        )
    places = {commit: place for place, commit in enumerate(listed)}
    ordered = sorted(listed)
    found: dict[str, int] = {}
    for commit in there:
        if (whole := commit if commit in places else _completed(commit, ordered)) is not None:
            found[commit] = places[whole]
    return sorted(found, key=found.__getitem__)


def _completed(short: str, ordered: Sequence[str]) -> str | None:
    from bisect import bisect_left

    at = bisect_left(ordered, short)
    fits = [each for each in ordered[at : at + 2] if each.startswith(short)]
    return fits[0] if len(fits) == 1 and len(short) >= 4 else None


def _read(paths: Sequence[Path], factor: str | None, told: Callable[[int], None] | None) -> _Found:
    found = _Found([], {}, [])
    others: list[Path] = []
    for path in paths:
        directories = _experiments(path)
        for directory in directories:
            _add_directory(found, directory)
        if not directories:
            others.append(path)
    if others:
        gathered = gather(others, told)
        if not gathered.groups and not found.measurements:
            raise nothing_read(others, gathered)
        for group in gathered.groups:
            named = with_names(group, factor)[0] if factor is not None else group
            for reading in with_options(named).readings:
                _add_reading(found, reading)
        found.notes.extend(f"{each.path}: not read: {each.why}" for each in gathered.unread)
        found.notes.extend(f"{path} is a copy of {first}, and counts once" for path, first in gathered.copies)
    return found


# Experiment directories


def _experiments(path: Path) -> list[Path]:
    """Return the experiment directories at and below a path, in the order of their names; no link is followed."""
    found: list[Path] = []
    for number, (place, folders, names) in enumerate(os.walk(path)):
        if LEDGER in names:
            found.append(Path(place))
            folders.clear()
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        if number > _MOST_FOLDERS:
            raise AnalysisError(
                f"{path}: holds more than {_MOST_FOLDERS} folders", hint="name a folder inside it"
            )
    return found


def _add_directory(found: _Found, directory: Path) -> None:
    if is_pair(directory):
        found.notes.append(f"{directory}: compares two versions, and is no point of a history")
        return
    try:
        trials = trial_set(directory)
    except (AnalysisError, StoreError) as error:
        found.notes.append(f"{directory}: not read: {error.message}")
        return
    facts = {
        name: {each.get(name, "") for each in trials.environments}
        for name in ("git.commit", "machine.identity")
    }
    if any(len(told) > 1 for told in facts.values()):
        found.notes.append(f"{directory}: left out: its trials ran on several commits or machines")
        return
    commit, machine = ("".join(facts[name]) for name in ("git.commit", "machine.identity"))
    if any(each.get("git.dirty") == "True" for each in trials.environments):
        found.notes.append(f"{directory}: the working tree had changes that were not committed")
    if commit:
        found.commits.setdefault(commit, None)
    for row in trials.table.select("metric", "treatment", "value", "started").iter_rows():
        name, treatment, value, started = row
        metric = trials.metrics[name]
        found.measurements.append(
            Measurement(name, metric.unit, metric.better, treatment, machine, commit, started, value)
        )


# Files of other tools


def _add_reading(found: _Found, reading: Reading) -> None:
    found.commits.update(reading.commits)
    only = next(iter(reading.commits)) if len(reading.commits) == 1 else ""
    machine = next((reading.facts[name] for name in _MACHINES if reading.facts.get(name)), "")
    found.notes.extend(f"{reading.path}: {note.text}" for note in reading.notes if note.code == "partial")
    found.measurements.extend(
        _measurement(row, only, machine)
        for row in reading.rows
        if row.status != "failed" or row.value is None
    )


def _measurement(row: Row, commit: str, machine: str) -> Measurement:
    levels = dict(row.treatment)
    own = _taken(levels, _COMMITS) or row.levels.get("build", "") or commit
    day = _taken(levels, _DATES)
    where = _taken(levels, _MACHINES) or row.levels.get("host", "") or machine
    time = _time(day) if day else row.start
    return Measurement(row.metric, row.unit, row.better, _subject(levels), where, own, time, row.value)


def _taken(levels: dict[str, str], names: Iterable[str]) -> str:
    """Take the level of the first of these factors that is there."""
    for name in list(levels):
        if name.lower() in names:
            return levels.pop(name)
    return ""


def _subject(levels: Mapping[str, str]) -> str:
    """Return the benchmark, or the treatment, without saying "benchmark=" where there is nothing else."""
    return levels["benchmark"] if list(levels) == ["benchmark"] else treatment_name(levels)


def _time(text: str) -> float | None:
    """Return Unix seconds of a date in a name, such as 2026-11-27, 20261127 or 20261127T0130; in UTC if it has no zone."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
