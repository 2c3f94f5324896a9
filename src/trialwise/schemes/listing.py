"""List the schemes and what each lacks here, for `trialwise schemes`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from trialwise.errors import PlanError
from trialwise.schemes.library import SHIPPED, read_file, scheme_files
from trialwise.schemes.needs import has_programs, missing, needed
from trialwise.schemes.scheme import Scheme
from trialwise.schemes.setup import SETUP, was_done


@dataclass(frozen=True, slots=True)
class SchemeEntry:
    """A scheme: what it can carry, what it lacks on this machine, and the path of its file.

    `licence` is that of the code in which congestion control runs; `needs` is what it needs on any machine; `pantheon` and `nearest`
    are Pantheon's schemes that it stands for, and unpublished ones to which it comes nearest. `problem` says why its file is not a
    valid scheme; the rest is empty then. `set_up` is None if it has no setup of its own.
    """

    name: str
    title: str
    loads: tuple[str, ...]
    missing: tuple[str, ...]
    file: str
    shipped: bool
    color: str | None = None
    first: Literal["sender", "receiver"] | None = None
    set_up: bool | None = None
    problem: str | None = None
    licence: str | None = None
    needs: tuple[str, ...] = ()
    pantheon: tuple[str, ...] = ()
    nearest: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SchemesDocument:
    """The schemes by name, as `trialwise schemes --json` prints them."""

    schemes: tuple[SchemeEntry, ...]
    format: Literal["trialwise.schemes/1"] = "trialwise.schemes/1"


def list_schemes(folders: Iterable[Path] = ()) -> tuple[SchemeEntry, ...]:
    """Return every scheme, by name; raise PlanError if a folder does not exist."""
    return tuple(_entry(name, path) for name, path in sorted(scheme_files(folders).items()))


def set_up(scheme: Scheme) -> bool | None:
    """Return True if Trialwise has run the scheme's setup, or if it names its programs and all are here; None if it has none."""
    return None if scheme.setup is None else has_programs(scheme) or was_done(scheme.source, SETUP)


def _entry(name: str, path: Path) -> SchemeEntry:
    shipped = path.parent == SHIPPED
    try:
        scheme = read_file(path)
    except PlanError as error:
        return SchemeEntry(name, "", (), (), str(path), shipped, problem=error.line)
    return SchemeEntry(
        name=name,
        title=scheme.title,
        loads=tuple(scheme.loads),
        missing=missing(scheme),
        file=str(path),
        shipped=shipped,
        color=scheme.color,
        first=scheme.first,
        set_up=set_up(scheme),
        licence=scheme.licence,
        needs=needed(scheme),
        pantheon=scheme.pantheon,
        nearest=scheme.nearest,
    )
