"""Of a folder with directories of pairs of versions, the latest pair is meant."""

from __future__ import annotations

import os
from pathlib import Path

from trialwise.store.directory import latest, pairs_below

OLD, NEW, AGAIN = "01234567-89abcdef", "01234567-fedcba98", "01234567-fedcba98-2"


def _directory(place: Path, nanoseconds: int, *, ledger: bool = True) -> Path:
    place.mkdir()
    (place / ".lock").touch()
    os.utime(place / ".lock", ns=(nanoseconds, nanoseconds))
    if ledger:
        (place / "ledger.sqlite").touch()
    return place


def test_pairs_are_folders_of_that_name_with_a_ledger_the_latest_first(tmp_path: Path):
    pairs = [_directory(tmp_path / name, moment) for name, moment in [(NEW, 20), (OLD, 10), (AGAIN, 30)]]
    _directory(tmp_path / "01234567-00000000", 40, ledger=False)
    _directory(tmp_path / "results", 50)
    assert pairs_below(tmp_path) == [pairs[2], pairs[0], pairs[1]]
    assert latest(tmp_path) == pairs[2]
    assert latest(pairs[1]) == pairs[1]


def test_a_folder_without_pairs_and_one_that_is_not_there_have_none(tmp_path: Path):
    for folder in (tmp_path, tmp_path / "none"):
        assert pairs_below(folder) == []
        assert latest(folder) == folder
