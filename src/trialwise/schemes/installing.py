"""Prepare a machine for a scheme: install Debian packages, then run the scheme's own setup."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from trialwise.experiment.placeholders import fill
from trialwise.schemes.needs import has_programs
from trialwise.schemes.scheme import Scheme
from trialwise.schemes.setup import prefix


@dataclass(frozen=True, slots=True)
class Step:
    """A command that helps to make a scheme ready; `system` if it changes the system and needs root."""

    words: tuple[str, ...]
    folder: Path
    system: bool

    @property
    def permitted(self) -> bool:
        """Return True if this user may run it here."""
        return not self.system or (os.geteuid() == 0 and shutil.which(self.words[0]) is not None)


def steps(scheme: Scheme) -> list[Step]:
    """Return the commands to run for a scheme, in order; empty if there are none."""
    found: list[Step] = []
    if packages := lacking_packages(scheme):
        found.append(Step(("apt-get", "install", "--yes", *packages), Path("/"), system=True))
    if scheme.setup is not None:
        folder = scheme.source.resolve().parent
        values = {"folder": str(folder), "prefix": str(prefix())}
        words = tuple(fill(word, values) for word in scheme.setup)
        found.append(Step(words, folder, system=False))
    return found


def lacking_packages(scheme: Scheme) -> list[str]:
    """Return the packages to install for a scheme; none if it names its programs and all of them are present."""
    return [] if has_programs(scheme) else [each for each in scheme.needs.packages if not _is_installed(each)]


def _is_installed(package: str) -> bool:
    words = ["dpkg-query", "--show", "--showformat=${db:Status-Status}", package]
    try:
        return subprocess.run(words, capture_output=True, text=True, check=False).stdout == "installed"
    except OSError:
        return False
