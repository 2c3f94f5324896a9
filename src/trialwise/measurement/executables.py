"""Which program exactly, and which state of its source."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Executable:
    """A program: path with links followed, SHA-256, size in bytes, time of change in seconds since 1970."""

    path: str
    sha256: str
    size: int
    modified: float


@dataclass(frozen=True, slots=True)
class GitState:
    """A checked-out commit, and whether tracked files differ from it or untracked ones lie beside them."""

    commit: str
    dirty: bool


def executable(path_or_name: str | Path) -> Executable | None:
    """Describe a program, looked up in PATH when it is a plain name; None when it is absent or unreadable.

    A file that is named by its path need not be executable: scripts and modules are handed to an interpreter.
    """
    is_name = isinstance(path_or_name, str) and "/" not in path_or_name
    found = shutil.which(path_or_name) if is_name else path_or_name
    if found is None:
        return None
    try:
        path = Path(found).resolve(strict=True)
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
            status = os.fstat(file.fileno())
    except OSError:
        return None
    return Executable(str(path), digest, status.st_size, status.st_mtime)


def git_state(folder: Path) -> GitState | None:
    """Describe the checkout around `folder`; None outside one, before its first commit, or without git."""
    commit = _git(folder, "rev-parse", "--verify", "HEAD")
    changes = _git(folder, "status", "--porcelain")
    return None if commit is None or changes is None else GitState(commit, bool(changes))


def _git(folder: Path, *arguments: str) -> str | None:
    # Without optional locks git leaves the checkout as it is: looking must not change.
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
