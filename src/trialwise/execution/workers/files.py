"""Send the experiment's files to a worker, except those already there."""

from __future__ import annotations

import fnmatch
import hashlib
import io
import json
import os
import tarfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from trialwise.errors import PlanError
from trialwise.execution.workers.remote import Remote
from trialwise.experiment.model import Workers
from trialwise.store.directory import LEDGER, LOCK

MAX_FILES = 20_000
MAX_BYTES = 1 << 30
PART = 1 << 20
_NEVER = (
    ".git",
    ".hg",
    ".svn",
    "__pycache__",
    ".venv",
    "node_modules",
    ".mypy_cache",
    ".pytest_cache",
    ".ruff_cache",
)

Manifest = dict[str, tuple[str, int]]
"""SHA-256 and mode of each file by its name, relative to the experiment's folder."""


def manifest(folder: Path, settings: Workers) -> Manifest:
    """List what is to be sent: everything below `folder` except results, repositories and caches, narrowed by `settings`.

    Raises
    ------
    PlanError
        There is far too much, as when an experiment file is in a home directory.
    """
    found: Manifest = {}
    size = 0
    for name in _names(folder, settings):
        path = folder / name
        status = path.stat()
        size += status.st_size
        if len(found) >= MAX_FILES or size > MAX_BYTES:
            raise PlanError(
                f"{folder}: holds more than {MAX_FILES} files or {MAX_BYTES >> 20} MiB, which would go to every worker",
                hint="say what is needed with workers.files, or have it cloned with workers.git",
            )
        with path.open("rb") as file:
            found[name] = hashlib.file_digest(file, "sha256").hexdigest(), status.st_mode & 0o777
    return found


def digest_of(files: Manifest) -> str:
    """Return a digest that identifies the content."""
    return hashlib.sha256(json.dumps(files, sort_keys=True).encode()).hexdigest()[:32]


def send(remote: Remote, folder: Path, files: Manifest) -> int:
    """Send what the worker lacks; return the number of files."""
    answer = remote.ask("manifest", {}, json.dumps(files).encode())
    missing: list[str] = answer.head["missing"]
    if missing:
        archive = _archive(folder, missing)
        digest = hashlib.sha256(archive).hexdigest()
        for start in range(0, len(archive), PART):
            part = archive[start : start + PART]
            head = {"archive": digest, "offset": start, "last": start + PART >= len(archive)}
            remote.ask("put", head, part)
    return len(missing)


def _names(folder: Path, settings: Workers) -> Iterator[str]:
    for place, folders, names in os.walk(folder):
        where = Path(place)
        folders[:] = sorted(each for each in folders if each not in _NEVER and not _is_results(where / each))
        for name in sorted(names):
            path = where / name
            relative = path.relative_to(folder).as_posix()
            if path.is_file() and _is_wanted(relative, settings):
                yield relative


def _is_wanted(name: str, settings: Workers) -> bool:
    return (not settings.files or _matches(name, settings.files)) and not _matches(name, settings.exclude)


def _matches(name: str, patterns: Sequence[str]) -> bool:
    """Return True if a pattern matches the whole name, its last part, or a folder above it; ``*`` matches across folders."""
    parts = name.split("/")
    folders = ["/".join(parts[:end]) for end in range(1, len(parts))]
    return any(
        fnmatch.fnmatchcase(each, pattern.rstrip("/"))
        for pattern in patterns
        for each in (name, parts[-1], *folders)
    )


def _is_results(path: Path) -> bool:
    return (path / LEDGER).exists() or (path / LOCK).exists()


def _archive(folder: Path, names: Sequence[str]) -> bytes:
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as archive:
        for name in names:
            archive.add(folder / name, arcname=name, recursive=False)
    return content.getvalue()
