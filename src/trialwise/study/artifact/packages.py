"""The packages of the distribution that have the programs which trials ran, by dpkg-query(1)."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable, Mapping, Sequence

_SECONDS = 60
_AT_ONCE = 200
_PATTERN = frozenset("*?[\\")
"""Characters that dpkg-query takes for patterns."""


def packages_of(paths: Iterable[str]) -> dict[str, str]:
    """Return the package and its version, such as ``iperf3 3.12-1``, of each file that a package installed here.

    Files of no package, and machines without dpkg, give none.
    """
    spellings = {spelled: path for path in paths for spelled in _spellings(path)}
    names = list(spellings)
    parts = (names[at : at + _AT_ONCE] for at in range(0, len(names), _AT_ONCE))
    owners = {spellings[spelled]: name for part in parts for spelled, name in _owners(part)}
    versions = _versions(sorted(set(owners.values())))
    return {
        path: f"{name.partition(':')[0]} {versions[name]}"
        for path, name in owners.items()
        if name in versions
    }


def _spellings(path: str) -> list[str]:
    """Return a path as packages may list it: they still say /bin where that leads to /usr/bin."""
    if not path.startswith("/") or _PATTERN & set(path) or not path.isprintable():
        return []
    return [path, path.removeprefix("/usr")] if path.startswith("/usr/") else [path]


def _owners(paths: Sequence[str]) -> Iterable[tuple[str, str]]:
    for line in _asked("-S", "--", *paths):
        names, colon, path = line.partition(": ")
        if colon and path in paths and not names.startswith("diversion "):
            yield path, names.split(", ")[0]


def _versions(names: Sequence[str]) -> Mapping[str, str]:
    if not names:
        return {}
    lines = _asked("-W", "-f", "${binary:Package}\t${Version}\n", "--", *names)
    found = dict(line.split("\t", 1) for line in lines if "\t" in line)
    return {name: found.get(name) or found.get(name.partition(":")[0], "") for name in names}


def _asked(*words: str) -> list[str]:
    try:
        done = subprocess.run(
            ["dpkg-query", *words],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_SECONDS,
            check=False,
            env={**os.environ, "LC_ALL": "C"},
        )
    except (OSError, subprocess.TimeoutExpired):
        return []
    return done.stdout.splitlines()
