"""Import result files of other tools: gather, tell apart, write."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from trialwise.errors import AnalysisError
from trialwise.exchange.pantheon_archive import is_packed
from trialwise.exchange.pantheon_folder import is_pantheon_folder
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
        _refuse_known(path)
    gathered = gather(paths, told)
    if not gathered.groups:
        raise nothing_read(paths, gathered)
    named, shown = told_apart(of_one_tool(gathered, str(paths[0])), pattern)
    return Gained(named, shown, gathered)


def _refuse_known(path: Path) -> None:
    """Refuse what every command reads as it is."""
    what = ""
    if is_ours(path):
        what = "an experiment directory"
    elif path.exists() and (is_packed(path) or (path.is_dir() and is_pantheon_folder(path))):
        what = "what a test of Pantheon left"
    if what:
        raise AnalysisError(
            f"{path}: is {what}, which needs no import", hint=f"name it as it is: trialwise analyze {path}"
        )
