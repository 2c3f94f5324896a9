"""The state of the checkout that contains an experiment."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class GitState:
    """A checked-out commit, whether tracked files differ from it, and whether there are untracked ones."""

    commit: str
    dirty: bool


def git_state(folder: Path) -> GitState | None:
    """Describe the checkout around `folder`; None outside a checkout, before its first commit, or without git."""
    commit = _git(folder, "rev-parse", "--verify", "HEAD")
    changes = _git(folder, "status", "--porcelain")
    return None if commit is None or changes is None else GitState(commit, bool(changes))


def commits_in_order(folder: Path) -> list[str] | None:
    """Return the commits that HEAD descends from, parents before children, then itself; None without git or a commit.

    `rev-list` runs no program that a repository names in its settings.
    """
    listed = _git(folder, "rev-list", "--topo-order", "--reverse", "HEAD")
    return None if listed is None else listed.split()


def _git(folder: Path, *arguments: str) -> str | None:
    # Without optional locks, git does not write to the checkout: inspecting it must not change it.
    environment = {**os.environ, "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"}
    try:
        result = subprocess.run(
            ["git", "-C", folder, *arguments],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=10,
            check=False,
            env=environment,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return result.stdout.strip() if result.returncode == 0 else None
