"""Write an artifact as a zip archive: the same files give the same bytes."""

from __future__ import annotations

import hashlib
import stat
import time
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from trialwise.errors import StoreError
from trialwise.exchange.artifact.manifest import NAME, identity_of, manifest_text, problem_of
from trialwise.foreign_files import open_foreign

_AT_ONCE = 1 << 20
_FIRST = (1980, 1, 1, 0, 0, 0)
"""The earliest time that zip knows."""
_LAST = 4_354_819_198
"""The latest, in Unix seconds: 2107-12-31 23:59:58."""
_PACKED = (".gz", ".parquet", ".zip", ".xz", ".zst", ".png")
"""Endings of files that are compressed already."""


@dataclass(frozen=True)
class Entry:
    """A file of an artifact: its name there, and its content or the file that holds it."""

    name: str
    content: bytes | Path
    executable: bool = False

    def chunks(self) -> Iterator[bytes]:
        """Yield the content.

        Raises
        ------
        StoreError
            The file cannot be read.
        """
        if isinstance(self.content, bytes):
            yield self.content
            return
        with open_foreign(self.content, error=StoreError) as file:
            yield from iter(lambda: file.read(_AT_ONCE), b"")

    @cached_property
    def measured(self) -> tuple[str, int]:
        """The SHA-256 in hexadecimal, and the size in bytes."""
        digest, size = hashlib.sha256(), 0
        for chunk in self.chunks():
            digest.update(chunk)
            size += len(chunk)
        return digest.hexdigest(), size


def with_manifest(entries: Iterable[Entry]) -> tuple[tuple[Entry, ...], str]:
    """Return the files sorted by name with their manifest, and the identity of the artifact.

    Raises
    ------
    StoreError
        A name may not stand in an artifact, or two files have the same.
    """
    found: dict[str, Entry] = {}
    for entry in entries:
        problem = problem_of(entry.name) or ("stands twice" if entry.name in found else None)
        if problem is not None:
            raise StoreError(f"{entry.name!r} {problem}", hint="rename the file, or leave it out")
        found[entry.name] = entry
    manifest = manifest_text({name: entry.measured[0] for name, entry in found.items()})
    found[NAME] = Entry(NAME, manifest)
    return tuple(found[name] for name in sorted(found, key=str.encode)), identity_of(manifest)


def write_zip(path: Path, entries: Iterable[Entry], moment: float) -> None:
    """Write files, in this order, as a zip archive; all bear the same time, in Unix seconds.

    Raises
    ------
    StoreError
        A file changed since its hash was taken.
    """
    date = _date(moment)
    with zipfile.ZipFile(path, "x", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
        for entry in entries:
            info = zipfile.ZipInfo(entry.name, date)
            info.create_system = 3  # Unix, wherever it is written
            info.external_attr = (stat.S_IFREG | (0o755 if entry.executable else 0o644)) << 16
            info.compress_type = zipfile.ZIP_STORED if entry.name.endswith(_PACKED) else zipfile.ZIP_DEFLATED
            digest = hashlib.sha256()
            with archive.open(info, "w", force_zip64=entry.measured[1] > 1 << 31) as file:
                for chunk in entry.chunks():
                    digest.update(chunk)
                    file.write(chunk)
            if digest.hexdigest() != entry.measured[0]:
                raise StoreError(f"{entry.name}: changed while it was packed", hint="pack again")


def _date(moment: float) -> tuple[int, int, int, int, int, int]:
    known = time.gmtime(min(max(moment, 0.0), _LAST))
    return max(_FIRST, known[:6])
