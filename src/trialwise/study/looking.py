"""From paths of other tools' files to what they say at first sight."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from trialwise.analysis.looking import Seen, all_failed, see, see_summaries
from trialwise.analysis.trial_set import TrialSet
from trialwise.errors import AnalysisError
from trialwise.exchange.readings import numbered_trial_set, trial_set
from trialwise.readers.distinguishing import told_apart
from trialwise.readers.gathering import Gathered, Group, Unread, gather
from trialwise.study.proposing import Proposal, proposal


@dataclass(frozen=True, slots=True)
class LookedAt:
    """What was seen of each group of files, the groups, files that were not read, and copies by the path of the first.

    `proposal` is what to type next.
    """

    seen: tuple[Seen, ...]
    groups: tuple[Group, ...]
    unread: tuple[Unread, ...]
    copies: tuple[tuple[str, str], ...]
    proposal: Proposal


_SUMMARIES = "no command concludes from summaries alone: keep the values of single trials"
_FAILED = "no command concludes from failed trials: remove the reason, and measure again"
_SEVERAL = "each command takes the files of one tool: look at those of one of them"


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
    proposals: list[Proposal] = []
    for group in gathered.groups:
        named, shown = told_apart(group, pattern)
        groups.append(named)
        if not _has_values(named):
            seen.append(see_summaries(named, shown))
            proposals.append(Proposal(why=_failed_or_summaries(named)))
            continue
        trials = numbered_trial_set(named.readings, named.tool)
        seen.append(see(named, trials, shown))
        if len(gathered.groups) == 1:
            proposals.append(proposal(paths, pattern, group, trials))
    found = proposals[0] if len(gathered.groups) == 1 else Proposal(why=_SEVERAL)
    return LookedAt(tuple(seen), tuple(groups), gathered.unread, gathered.copies, found)


def _failed_or_summaries(group: Group) -> str:
    return _FAILED if all_failed(row for reading in group.readings for row in reading.rows) else _SUMMARIES


def _has_values(group: Group) -> bool:
    return any(
        row.value is not None and row.status != "aggregated"
        for reading in group.readings
        for row in reading.rows
    )


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
