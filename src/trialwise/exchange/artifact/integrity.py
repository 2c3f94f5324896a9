"""Whether the files of an artifact are those that its manifest lists."""

from __future__ import annotations

import hashlib

from trialwise.analysis.artifacts import Integrity
from trialwise.errors import StoreError
from trialwise.exchange.artifact.manifest import MAX_BYTES, NAME, identity_of, read_manifest
from trialwise.exchange.artifact.reading import Artifact
from trialwise.foreign_files import open_foreign, read_foreign

SIGNATURE = f"{NAME}.sig"
_AT_ONCE = 1 << 20


def integrity_of(artifact: Artifact) -> Integrity:
    """Compare the files of an artifact with its manifest.

    Raises
    ------
    StoreError
        The manifest cannot be read, or a file cannot.
    """
    manifest = read_foreign(artifact.folder / NAME, MAX_BYTES, within=artifact.folder, error=StoreError)
    listed = read_manifest(manifest)
    there = [name for name in artifact.names if name not in (NAME, SIGNATURE)]
    known = set(there)
    return Integrity(
        identity=identity_of(manifest),
        files=len(listed),
        changed=tuple(
            name for name, digest in listed.items() if name in known and _digest(artifact, name) != digest
        ),
        missing=tuple(name for name in listed if name not in known),
        added=tuple(name for name in there if name not in listed),
    )


def _digest(artifact: Artifact, name: str) -> str:
    digest = hashlib.sha256()
    with open_foreign(artifact.folder / name, within=artifact.folder, error=StoreError) as file:
        for chunk in iter(lambda: file.read(_AT_ONCE), b""):
            digest.update(chunk)
    return digest.hexdigest()
