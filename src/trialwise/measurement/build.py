"""The build of Trialwise that computes. All nodes need the same one, or results would differ in their bits."""

from __future__ import annotations

import hashlib
import platform
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from trialwise import __version__


@dataclass(frozen=True, slots=True)
class Build:
    """What determines the bits of a computed trial besides its task; `core` and `code` are digests of files."""

    trialwise: str
    core: str
    code: str
    python: str
    numpy: str


@cache
def own_build() -> Build:
    """Return the build of this process."""
    package = Path(__file__).parents[1]
    major, minor, _ = platform.python_version_tuple()
    return Build(
        trialwise=__version__,
        core=_digest(package, sorted(package.glob("_core*.so"))),
        code=_digest(package, sorted(package.rglob("*.py"))),
        python=f"{major}.{minor}",
        numpy=np.__version__,
    )


def _digest(folder: Path, files: list[Path]) -> str:
    digest = hashlib.sha256()
    for file in files:
        digest.update(f"{file.relative_to(folder)}\0{file.stat().st_size}\0".encode())
        digest.update(file.read_bytes())
    return digest.hexdigest()[:12]
