"""What an artifact says of itself: one source for its crate, its citation and its README."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from trialwise.analysis.artifacts import PackedClaim, PackedExperiment
from trialwise.errors import PlanError

_AUTHOR = re.compile(r"([^<>]*\S)\s*(?:<(\d{4}-\d{4}-\d{4}-\d{3}[\dX])>)?\s*")
LICENCE = "LICENSE"


@dataclass(frozen=True, slots=True)
class Author:
    """An author; `orcid` without its address, empty if there is none."""

    given: str
    family: str
    orcid: str = ""

    @property
    def name(self) -> str:
        """The whole name."""
        return f"{self.given} {self.family}".strip()


def author_of(text: str) -> Author:
    """Read "Given Family" or "Family, Given", with an ORCID in angle brackets if there is one.

    Raises
    ------
    PlanError
        There is no name, or the ORCID is none.
    """
    found = _AUTHOR.fullmatch(text.strip())
    if found is None or not text.isprintable():
        raise PlanError(f"{text!r} is no author", hint='write "Given Family <0000-0000-0000-0000>"')
    family, comma, given = found[1].partition(",")
    if not comma:
        given, _, family = found[1].rpartition(" ")
    return Author(given.strip(), family.strip(), found[2] or "")


@dataclass(frozen=True, slots=True)
class PackedFile:
    """A file of the artifact."""

    name: str
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Needs:
    """What a machine needs to measure again, as the authors state it; empty texts and None if they do not."""

    cores: int | None
    memory: str
    disk: str
    root: bool
    other: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Description:
    """An artifact: `licence` is an SPDX identifier, empty if a file `LICENSE` alone says it; `moment` in Unix seconds."""

    title: str
    about: str
    moment: float
    licence: str
    authors: Sequence[Author]
    doi: str
    experiments: Sequence[PackedExperiment]
    claims: Sequence[PackedClaim]
    needs: Needs

    @property
    def date(self) -> str:
        """The day, as ISO 8601 writes it, in UTC."""
        return iso_time(self.moment)[:10]


def slug(text: str) -> str:
    """Return a text as a name of lower-case letters, digits, ``-``, ``_`` and ``.``, as tables of Frictionless have it."""
    return re.sub(r"[^a-z0-9._-]+", "-", text.lower()).strip("-") or "data"


def iso_time(moment: float) -> str:
    """Write a moment in Unix seconds as ISO 8601 in UTC, to the second."""
    return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
