"""The manifest of an artifact: the SHA-256 of every file, as `sha256sum -c` reads it, and which names files may have.

The hash of the manifest is the identity of the artifact. It shows that nothing was changed since it was written, and not who wrote it.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Mapping

from trialwise.errors import StoreError

NAME = "MANIFEST.sha256"
MAX_BYTES = 64 << 20
MAX_NAME, MAX_PART = 1000, 255
"""Maximum characters of a name, and bytes of each of its parts: what file systems take."""
MAX_DEPTH = 32
_LINE = re.compile(r"([0-9a-f]{64})  (.+)")


def manifest_text(digests: Mapping[str, str]) -> bytes:
    """Return the manifest of files by name, given their SHA-256 in hexadecimal."""
    names = sorted(digests, key=str.encode)
    return "".join(f"{digests[name]}  {name}\n" for name in names).encode()


def identity_of(manifest: bytes) -> str:
    """Return the identity of an artifact: the SHA-256 of its manifest."""
    return hashlib.sha256(manifest).hexdigest()


def read_manifest(content: bytes) -> dict[str, str]:
    """Return the SHA-256 of each file that a manifest lists.

    Raises
    ------
    StoreError
        It is no manifest, or names a file twice or one that may not be.
    """
    try:
        lines = content.decode("utf-8").split("\n")
    except UnicodeDecodeError as error:
        raise StoreError(f"{NAME}: is not text") from error
    if lines.pop() != "":
        raise StoreError(f"{NAME}: ends in the middle of a line", hint="was it copied to its end?")
    found, known = dict[str, str](), Known()
    for number, line in enumerate(lines, start=1):
        match = _LINE.fullmatch(line)
        if match is None:
            raise StoreError(f"{NAME}: line {number} is not a hash and a name")
        name = match[2]
        if (problem := known.problem_with(name)) is not None:
            raise StoreError(f"{NAME}: line {number}: {name!r} {problem}")
        found[name] = match[1]
    return found


class Known:
    """The names that an artifact has so far: no two may be one file where a file system takes upper and lower case alike."""

    def __init__(self) -> None:
        self._spelt: dict[str, str] = {}
        self._files: set[str] = set()

    def problem_with(self, name: str) -> str | None:
        """Return why an artifact may not have this file as well, and take it as known; None if it may."""
        problem = problem_of(name)
        if problem is not None:
            return problem
        if name in self._files:
            return "stands twice"
        self._files.add(name)
        parts = name.split("/")
        paths = ("/".join(parts[:end]) for end in range(1, len(parts) + 1))
        return _CASE if any(self._spelt.setdefault(path.casefold(), path) != path for path in paths) else None


_CASE = "differs from another name only in upper and lower case"


def problem_of(name: str) -> str | None:
    """Return why a file of an artifact may not have this name; None if it may."""
    parts = name.split("/")
    problems = {
        "is no relative path": name.startswith("/")
        or "\\" in name
        or re.match(r"[A-Za-z]:", name) is not None,
        "leads through other folders": any(part in ("", ".", "..") for part in parts),
        "holds control characters": any(unicodedata.category(each) in ("Cc", "Cf", "Cs") for each in name),
        "is not in the composed form of Unicode (NFC)": unicodedata.normalize("NFC", name) != name,
        "is too long": len(parts) > MAX_DEPTH
        or len(name) > MAX_NAME
        or any(len(part.encode(errors="replace")) > MAX_PART for part in parts),
    }
    return next((problem for problem, has in problems.items() if has), None)
