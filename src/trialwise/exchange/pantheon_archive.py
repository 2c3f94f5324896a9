"""The folder of results of a Pantheon test as Pantheon publishes it: packed (`.tar.xz`, `.tar.gz`, `.tar.bz2`, `.tar`)."""

from __future__ import annotations

import dataclasses
import lzma
import shutil
import tarfile
import tempfile
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from trialwise.analysis.trial_set import TrialSet
from trialwise.errors import AnalysisError
from trialwise.exchange.pantheon_folder import is_pantheon_file, pantheon_trials

ENDINGS = (".tar.xz", ".tar.gz", ".tar.bz2", ".txz", ".tgz", ".tbz2", ".tar")
MOST_BYTES = 16 * 2**30
"""Of what an archive holds, unpacked: an archive that says more is refused before that much is read."""
_PADDING = 2**20
"""Bytes after the last member, more than any program writes."""
_DAMAGED = (tarfile.TarError, lzma.LZMAError, zlib.error, EOFError)


def is_packed(path: Path) -> bool:
    """Whether a file is an archive by its name."""
    return path.name.lower().endswith(ENDINGS)


def packed_trials(path: Path, name: str, most: int = MOST_BYTES) -> TrialSet:
    """The runs of all schemes of a packed folder (`pantheon_trials`).

    What is needed is unpacked to the system's folder for temporary files, under names of our own choice, and removed again:
    wherever the archive says that its members go, nothing is written elsewhere. Links and devices are passed over.

    Raises
    ------
    AnalysisError
        The archive is damaged or too large, holds several folders of results or none, or its runs cannot be read.
    """
    with tempfile.TemporaryDirectory(prefix="trialwise-") as text:
        folder = Path(text)
        _unpack(path, folder, most)
        try:
            found = pantheon_trials(folder, name)
        except AnalysisError as error:
            raise AnalysisError(error.message.replace(text, str(path)), hint=error.hint) from error
        return dataclasses.replace(found, notes=tuple(note.replace(text, str(path)) for note in found.notes))


def _unpack(path: Path, folder: Path, most: int) -> None:
    """Unpack the files of results side by side into a folder."""
    try:
        with tarfile.open(path) as archive:
            source = _copy(path, archive, folder, most)
            if archive.fileobj:
                archive.fileobj.read(_PADDING)  # the checksum stands behind it
    except _DAMAGED as error:
        raise AnalysisError(
            f"{path}: is no whole archive: {error}", hint="was it copied or downloaded to its end?"
        ) from error
    except OSError as error:
        raise AnalysisError(f"{path}: cannot be unpacked: {error.strerror or error}") from error
    if source is None:
        raise AnalysisError(
            f"{path}: holds no results of a Pantheon test",
            hint="pantheon_perf.json, or logs of runs (SCHEME_datalink_runN.log), are looked for",
        )


def _copy(path: Path, archive: tarfile.TarFile, folder: Path, most: int) -> PurePosixPath | None:
    """Copy the members that hold results into a folder; where in the archive they are, None without any."""
    source: PurePosixPath | None = None
    for member in _wanted(path, archive, most):
        place = PurePosixPath(member.name)
        if source not in (None, place.parent):
            raise AnalysisError(
                f"{path}: holds results in {source} and in {place.parent}",
                hint="unpack it and name one of the folders",
            )
        source = place.parent
        content = archive.extractfile(member)
        if content is not None:
            with content, (folder / place.name).open("wb") as file:
                shutil.copyfileobj(content, file)
    return source


def _wanted(path: Path, archive: tarfile.TarFile, most: int) -> Iterator[tarfile.TarInfo]:
    """The members that hold results, while all members together are not more than so many bytes."""
    size = 0
    for member in archive:
        size += member.size
        if size > most:
            raise AnalysisError(
                f"{path}: holds more than {most / 2**30:.3g} GiB",
                hint="unpack it where there is room, and name the folder",
            )
        if member.isreg() and is_pantheon_file(PurePosixPath(member.name).name):
            yield member
