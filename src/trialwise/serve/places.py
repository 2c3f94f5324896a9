"""The experiment directories that a page shows: those at and below the folders that were named, and nothing else."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from trialwise.errors import StoreError
from trialwise.experiment.claims import NAME
from trialwise.foreign_files import absent
from trialwise.store.directory import LEDGER

MOST_EXPERIMENTS = 200
"""Experiments that a page lists."""
_MOST_FOLDERS = 10_000
"""Folders that are looked into."""


@dataclass(frozen=True, slots=True)
class Place:
    """An experiment directory: `key` names it in addresses and stays the same over restarts, `title` is its path as people see it.

    It was found at or below `root`.
    """

    key: str
    path: Path
    title: str
    root: Path

    def claims(self) -> Path | None:
        """Return the file of claims in it or beside it, if there is one below the root; no link is followed."""
        folders = (self.path,) if self.path == self.root else (self.path, self.path.parent)
        files = (folder / NAME for folder in folders)
        return next((file for file in files if file.is_file() and not file.is_symlink()), None)


def roots_of(folders: Sequence[Path]) -> tuple[Path, ...]:
    """Return the folders to look in, absolute; raise StoreError if one is missing or not a folder."""
    for folder in folders:
        if not folder.exists():
            raise absent(folder, "name experiment directories, or folders with such", StoreError)
        if not folder.is_dir():
            raise StoreError(f"{folder}: is not a folder", hint="name an experiment directory")
    return tuple(dict.fromkeys(folder.resolve() for folder in folders))


def places(roots: Sequence[Path]) -> dict[str, Place]:
    """Return the experiment directories at and below folders by key, in the order of their paths; no link is followed."""
    found: dict[str, Place] = {}
    for root in roots:
        for path in _experiments(root):
            if len(found) >= MOST_EXPERIMENTS:
                return found
            key = hashlib.sha256(os.fsencode(path)).hexdigest()[:12]
            found.setdefault(key, Place(key, path, _title(path, root), root))
    return found


def _title(path: Path, root: Path) -> str:
    return root.name if path == root else path.relative_to(root).as_posix()


def _experiments(root: Path) -> Iterator[Path]:
    for number, (place, folders, names) in enumerate(os.walk(root)):
        if number > _MOST_FOLDERS:
            return
        if LEDGER in names:
            folders.clear()
            if not Path(place, LEDGER).is_symlink():
                yield Path(place)
        folders[:] = sorted(name for name in folders if not name.startswith("."))
