"""Factors from the names of files: by a pattern such as `{cc}_{rate}_{rep}.json`, or guessed from what differs among them."""

from __future__ import annotations

import os.path
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from trialwise.errors import AnalysisError
from trialwise.readers.names import REPETITIONS

_SPLIT = re.compile(r"([_\-./]+)")
_NAMED = re.compile(r"([A-Za-z]{1,12})[=:]?(\d[\d.]*[A-Za-z]{0,4})")
_FIELD = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True, slots=True)
class Named:
    """The factors of each file by its name, and the pattern that says which part is which; `guessed` if nobody gave it."""

    factors: tuple[Mapping[str, str], ...]
    pattern: str
    guessed: bool = False


def by_pattern(paths: Sequence[str], pattern: str) -> Named:
    """Return the factors that a pattern finds in each path; indices of repetitions are left out.

    Raises
    ------
    AnalysisError
        The pattern has no field or one twice, or does not fit a path.
    """
    fields = _FIELD.findall(pattern)
    if not fields or len(set(fields)) != len(fields):
        raise AnalysisError(
            f"--factor {pattern}: names no factor, or one twice", hint="write --factor '{cc}_{rep}.json'"
        )
    parts = [
        re.escape(part) if place % 2 == 0 else f"(?P<{part}>[^/]+?)"
        for place, part in enumerate(_FIELD.split(pattern))
    ]
    wanted = re.compile("(?:.*/)?" + "".join(parts))
    found: list[Mapping[str, str]] = []
    for path in paths:
        fits = wanted.fullmatch(path)
        if fits is None:
            raise AnalysisError(
                f"{path}: does not have the form {pattern}", hint="write a pattern that all names have"
            )
        found.append({name: level for name, level in fits.groupdict().items() if name not in REPETITIONS})
    return Named(tuple(found), pattern)


def guessed(paths: Sequence[str]) -> Named | None:
    """Guess the factors of files from what differs in their names; None if names differ in their number of parts, or in nothing.

    A part `k=v` or `rtt20ms` gives its name; a part that numbers otherwise equal names is the repetition. What is a whole name is
    called file or folder, and other parts have numbers.
    """
    shared = os.path.commonpath([Path(path).parent for path in paths])
    split = [_SPLIT.split(os.path.relpath(path, shared)) for path in paths]
    rows = [parts[::2] for parts in split]
    if len(rows) < 2 or len({len(row) for row in rows}) != 1:
        return None
    columns = list(zip(*rows, strict=True))
    varying = [place for place, column in enumerate(columns) if len(set(column)) > 1]
    repetition = _repetition(rows, varying)
    factors: list[dict[str, str]] = [{} for _ in rows]
    shown = list(split[0])
    taken: set[str] = set()
    for number, place in enumerate(varying, 1):
        what = _component(split[0], place)
        name, levels = _named(columns[place], what if what and what not in taken else f"part{number}")
        taken.add(name)
        if place == repetition or name in REPETITIONS:
            shown[2 * place] = "{rep}"
            continue
        shown[2 * place] = f"{{{name}}}"
        for own, level in zip(factors, levels, strict=True):
            own[name] = level
    return Named(tuple(factors), "".join(shown), guessed=True) if any(factors) else None


def _repetition(rows: Sequence[Sequence[str]], varying: Sequence[int]) -> int | None:
    """Return the place of the last token of digits that alone tells names apart that are equal otherwise."""
    for place in reversed(varying):
        numbers = [row[place] for row in rows]
        if not all(re.fullmatch(r"[a-zA-Z]{0,9}#?\d{1,6}", token) for token in numbers):
            continue
        named = {re.sub(r"\d+$", "", token).lower() for token in numbers}
        others = Counter(tuple(token for other, token in enumerate(row) if other != place) for row in rows)
        if (
            named <= REPETITIONS | {"", "r", "t"}
            and max(others.values()) > 1
            and (named != {""} or place == varying[-1])
        ):
            return place
    return None


def _component(parts: Sequence[str], place: int) -> str:
    """Return what a token is if it is a whole name: of a file without its ending, or of a folder; else nothing."""
    before = parts[2 * place - 1] if place else "/"
    after = parts[2 * place + 1] if 2 * place + 1 < len(parts) else "."
    if before != "/" or after not in ("/", "."):
        return ""
    is_last = not any("/" in each for each in parts[2 * place + 1 :: 2])
    return "folder" if after == "/" else "file" if is_last else ""


def _named(column: Sequence[str], otherwise: str) -> tuple[str, list[str]]:
    found = [_NAMED.fullmatch(token) or re.fullmatch(r"(\w+)[=:](.+)", token) for token in column]
    names = {fits[1] for fits in found if fits}
    if all(found) and len(names) == 1:
        return names.pop(), [fits[2] for fits in found if fits]
    return otherwise, list(column)
