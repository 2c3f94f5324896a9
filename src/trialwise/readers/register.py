"""The formats that are read, in the order in which they are recognised."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib import import_module

from trialwise.readers.content import Content
from trialwise.readers.declared import Reader

MODULES = (
    "hyperfine",
    "pyperf",
    "go_bench",
)
"""Modules of `trialwise.readers.formats`; each declares `READERS`."""


@cache
def readers() -> tuple[Reader, ...]:
    """Return all readers."""
    return tuple(_declared())


def _declared() -> Iterator[Reader]:
    for name in MODULES:
        yield from import_module(f"trialwise.readers.formats.{name}").READERS


def recognised(content: Content) -> Reader | None:
    """Return the reader of a file by its content; None if its format is not known."""
    return next((reader for reader in readers() if reader.fits(content)), None)
