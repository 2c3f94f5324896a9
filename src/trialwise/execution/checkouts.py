"""Check out two revisions of a git repository side by side, each in its own folder, and build them."""

from __future__ import annotations

import hashlib
import os
import subprocess
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path

from trialwise.errors import PlanError, TrialError
from trialwise.temporary import vanishing_folder

_LAST = 20
"""Number of lines of a failed build that are shown."""


def commit_of(revision: str, folder: Path) -> str:
    """Return the full name of a commit.

    Raises
    ------
    PlanError
        The folder is not in a repository, or the revision does not exist.
    """
    return _git(
        folder,
        "rev-parse",
        "--verify",
        "--quiet",
        "--end-of-options",
        f"{revision}^{{commit}}",
        what=f"no revision {revision!r}",
    )


def place_in_repository(folder: Path) -> str:
    """Return a folder's path below the top of its repository, "" for the top itself."""
    return _git(folder, "rev-parse", "--show-prefix", what=f"{folder} is in no git repository").rstrip("/")


@contextmanager
def checked_out(commits: Mapping[str, str], folder: Path) -> Generator[Path]:
    """Yield a temporary folder with a worktree for each name; names, and thus paths, should have equal length. Removed at the end."""
    # The same folder for the same commits if it is free, because builds write their paths into programs.
    known = " ".join([str(os.geteuid()), str(folder), *commits.values()])
    with vanishing_folder("trialwise-", hashlib.sha256(known.encode()).hexdigest()[:16]) as place:
        made: list[Path] = []
        try:
            for name, commit in commits.items():
                path = place / name
                _git(
                    folder,
                    "worktree",
                    "add",
                    "--quiet",
                    "--detach",
                    "--force",  # one of this path may be known that went with a process that was killed
                    str(path),
                    commit,
                    what=f"{commit} cannot be checked out",
                )
                made.append(path)
            yield place
        finally:
            for path in made:
                subprocess.run(
                    ["git", "worktree", "remove", "--force", str(path)],
                    cwd=folder,
                    capture_output=True,
                    check=False,
                )


def build(command: str, folder: Path) -> None:
    """Run a build in a shell.

    Raises
    ------
    TrialError
        It failed; the message contains the end of its output.
    """
    done = subprocess.run(
        ["/bin/sh", "-c", command],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
    )
    if done.returncode != 0:
        lines = "\n".join(f"  {line}" for line in done.stdout.splitlines()[-_LAST:])
        raise TrialError(f"the build failed with {done.returncode} in {folder}: {command}\n{lines}".rstrip())


def _git(folder: Path, *words: str, what: str) -> str:
    try:
        done = subprocess.run(["git", *words], cwd=folder, capture_output=True, text=True, check=False)
    except FileNotFoundError as error:
        raise PlanError("git is not installed", hint="give two commands: --base CMD --head CMD") from error
    if done.returncode != 0:
        reason = done.stderr.strip().splitlines()
        raise PlanError(
            what + (f": {reason[-1]}" if reason else ""), hint="give --base and --head as git knows them"
        )
    return done.stdout.strip()
