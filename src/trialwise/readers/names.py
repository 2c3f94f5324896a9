"""Factors in the words that people give to their runs, such as the title `cc=cubic rep=1`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

REPETITIONS = frozenset(("rep", "run", "trial", "iter", "iteration", "repetition", "seed"))
"""Names of what only numbers equal treatments."""
_PAIR = re.compile(r"(?<![^\s,;])([^\s,;=:]{1,100})[=:]([^\s,;=:]{1,1000})(?![^\s,;])")


def pairs(text: str) -> Iterator[tuple[str, str]]:
    """Yield the pairs `name=level` and `name:level` of a text, in its order."""
    for found in _PAIR.finditer(text):
        yield found[1], found[2]


def repetition_of(named: Mapping[str, str]) -> tuple[str | None, dict[str, str]]:
    """Return the number of the repetition, if there is one, and the factors."""
    number = next((level for name, level in named.items() if name.lower() in REPETITIONS), None)
    return number, {name: level for name, level in named.items() if name.lower() not in REPETITIONS}
