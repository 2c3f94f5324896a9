"""Import result files of other tools: gather, tell apart, write."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from trialwise.errors import AnalysisError
from trialwise.exchange.pantheon_reading import is_of_pantheon, pantheon_group
from trialwise.exchange.result_files import of_one_tool
from trialwise.readers.distinguishing import told_apart
from trialwise.readers.gathering import Gathered, Group, gather
from trialwise.study.looking import nothing_read
from trialwise.study.sources import is_ours


@dataclass(frozen=True, slots=True)
class Gained:
    """The files of one tool, the pattern of names that tells them apart, and all that was found beside them."""

    group: Group
    pattern: str
    gathered: Gathered


def gain(
    paths: Sequence[Path], pattern: str | None = None, told: Callable[[int], None] | None = None
) -> Gained:
    """Read the files of one tool below some paths, for `trialwise import`.

    Raises
    ------
    AnalysisError
        A path does not exist or is read as it is, nothing is known of any file, or they are of several tools.
    """
    for path in paths:
        _refuse_ours(path)
    if any(map(is_of_pantheon, paths)):
        return _of_pantheon(paths, pattern)
    gathered = gather(paths, told)
    if not gathered.groups:
        raise nothing_read(paths, gathered)
    named, shown = told_apart(of_one_tool(gathered, str(paths[0])), pattern)
    return Gained(named, shown, gathered)


def _of_pantheon(paths: Sequence[Path], pattern: str | None) -> Gained:
    if len(paths) > 1:
        raise AnalysisError(
            f"{paths[0]}: and others: what a test of Pantheon left makes an import by itself",
            hint="import each into a directory of its own",
        )
    if pattern is not None:
        raise AnalysisError(
            f"{paths[0]}: is what a test of Pantheon left, whose schemes are known", hint="leave --factor out"
        )
    group = pantheon_group(paths[0])
    return Gained(group, "", Gathered((group,), (), ()))


def _refuse_ours(path: Path) -> None:
    """Refuse an experiment directory, which every command reads as it is."""
    if is_ours(path):
        raise AnalysisError(
            f"{path}: is an experiment directory, which needs no import",
            hint=f"name it as it is: trialwise analyze {path}",
        )
