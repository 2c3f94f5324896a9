"""All problems of an experiment file, with file, line and key, as one error."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from trialwise.errors import PlanError
from trialwise.experiment.file.positions import Key

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_LONGEST = 60
_MAX_DECIMAL = 2048


@dataclass(frozen=True, slots=True)
class Problem:
    """One problem at `key`, and its remedy."""

    key: Key
    text: str
    hint: str | None = None


class Problems:
    """Collects the problems of one file; a `frozen` one is in an experiment directory, where nobody can mend it any more."""

    def __init__(self, path: Path, lines: Mapping[Key, int], *, frozen: bool = False) -> None:
        self.frozen = frozen
        self._path = path
        self._lines = lines
        self._found: dict[tuple[Key, str], Problem] = {}

    def add(self, key: Key, text: str, hint: str | None = None) -> None:
        """Note a problem; the same one at the same key counts once."""
        self._found.setdefault((key, text), Problem(key, text, hint))

    def given(self, key: Key) -> bool:
        """Return True if the file has the key."""
        return key in self._lines

    def has(self, key: Key) -> bool:
        """Return True if a problem was noted at this key."""
        return any(noted == key for noted, _ in self._found)

    def raise_any(self) -> None:
        """Raise all problems, if any, as one PlanError in the order of the file."""
        found = sorted(self._found.values(), key=lambda problem: self._line(problem.key) or 0)
        if len(found) == 1:
            raise PlanError(self._said(found[0]), hint=found[0].hint)
        if found:
            said = (self._said(each) + (f"\n  try: {each.hint}" if each.hint else "") for each in found)
            raise PlanError(f"{self._path}: {len(found)} problems\n" + "\n".join(said))

    def _said(self, problem: Problem) -> str:
        line = self._line(problem.key)
        return f"{self._path}{f':{line}' if line else ''}: {key_text(problem.key)}: {problem.text}"

    def _line(self, key: Key) -> int | None:
        """Return the line of the key, or of the innermost enclosing table or list in the file."""
        for length in range(len(key), 0, -1):
            if line := self._lines.get(key[:length]):
                return line
        return None


def key_text(key: Key) -> str:
    """Write a key as in `metrics.speed.kpi[1].percentile`; list elements count from 1."""
    text = ""
    for part in key:
        if isinstance(part, int):
            text += f"[{part + 1}]"
        else:
            text += ("." if text else "") + (part if _BARE.fullmatch(part) else _quoted(part))
    return text


def shown(value: object) -> str:
    """Write a value as in the file, shortened; lists and tables by type only."""
    if isinstance(value, Mapping):
        return "a table"
    if isinstance(value, list):
        return "a list" if value else "an empty list"
    if isinstance(value, bool):
        return "true" if value else "false"
    text = _quoted(value) if isinstance(value, str) else _number(value)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def _quoted(text: str) -> str:
    """Quote a text, escaping characters that a terminal might treat as commands."""
    return json.dumps(text, ensure_ascii=not text.isprintable())


def _number(value: object) -> str:
    """Write a number; in hexadecimal if it has too many digits for Python's decimal output."""
    return hex(value) if isinstance(value, int) and value.bit_length() > _MAX_DECIMAL else str(value)


def nearest(word: str, known: Iterable[str]) -> str | None:
    """Return the known word that `word` was probably meant to be."""
    return next(iter(difflib.get_close_matches(word, list(known), n=1, cutoff=0.5)), None)


def either(words: Iterable[str]) -> str:
    """Join words with commas, and "or" before the last."""
    *first, last = words
    return f"{', '.join(first)} or {last}" if first else last
