"""Elements chosen by name and written as ``name:head,key=value,…``, as the registers of the core list them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from trialwise import _core


@cache
def element_forms(kind: str) -> Mapping[str, str]:
    """Map the name of each form of a kind ("queue", "load", …) to an example text; a form without a name is its own name.

    Raises
    ------
    KeyError
        The kind is unknown.
    """
    return {name or example: example for name, example, *_ in _core.elements()[kind]}


def element_examples(kind: str) -> str:
    """Join an example of each form of a kind for a help text; KeyError if the kind is unknown."""
    return ", ".join(element_forms(kind).values())


@cache
def element_keys(kind: str, name: str) -> frozenset[str]:
    """Return the keys of one form of a kind; empty if it has none. KeyError if the kind is unknown."""
    return frozenset(key for found, *_, keys in _core.elements()[kind] if found == name for key, _, _ in keys)
