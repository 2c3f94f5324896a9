"""What a file of no known format looks like, and what would read it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from itertools import islice
from typing import cast

from trialwise.errors import AnalysisError
from trialwise.readers.content import Content
from trialwise.readers.json_documents import TWICE, Repeated, opens_json
from trialwise.readers.long_lists import is_list
from trialwise.readers.tables.foreign import binary, printed
from trialwise.visible import visible

_MOST_KEYS = 6
_MOST_NUMBERS = 3
_MOST_VISITED = 10_000
_LONGEST = 60
_LOOKED_AT = 1 << 16
_NUMBER = re.compile(r"(?<![\w.])-?\d{1,18}(?:\.\d{1,18})?(?![\w.])")
_TABLE = "write a table with a row for each trial: `trialwise compare FILE.csv --value COLUMN --group COLUMN`"


def unknown(content: Content) -> AnalysisError:
    """Return the error of a file that no reader knows: its keys or lines, its numbers, and how to have them read."""
    what, ways = _described(content)
    return AnalysisError(
        f"{content.path}: no format that is known{f': {what}' if what else ''}",
        hint="; or ".join([*ways, _TABLE]) if ways else None,
    )


def is_printed(content: Content) -> bool:
    """Return True if a file is what a known program printed for people: it may look like a table, but is none."""
    return not content.is_binary and printed(content.data[:_LOOKED_AT]) is not None


def _described(content: Content) -> tuple[str, list[str]]:
    known = binary(content.data) or (printed(content.data[:_LOOKED_AT]) if is_printed(content) else None)
    if known is not None:
        return f"it is {known.what}", [known.hint]
    begin = content.head.lstrip()
    if content.is_binary or not begin.strip():
        return "it is no text, since it holds zero bytes" if content.is_binary else "it is empty", []
    if (content.document is None and opens_json(begin)) or content.is_cut:
        return "JSON that ends before its first result, or is none", []
    if content.document is not None:
        return _json(content)
    return ("", []) if begin.startswith("<") else _text(content)


def _json(content: Content) -> tuple[str, list[str]]:
    document: object = content.document
    kind = "an object" if isinstance(document, dict) else "a list"
    keys = ", ".join(_short(key) for key in islice(content.keys, _MOST_KEYS))
    more = ", …" if len(content.keys) > _MOST_KEYS else ""
    numbers = list(islice(_numbers(content.document), _MOST_NUMBERS))
    what = f"JSON, {kind}{f' with {keys}{more}' if keys else ''}"
    if not numbers:
        twice = next(_repeated(content.document), None)
        return f"{what}, without a number{f': {_short(twice)} {TWICE}' if twice else ''}", []
    told = ", ".join(f"{_short(pointer)} = {value:g}" for pointer, value in numbers)
    pointer = numbers[0][0]
    return f"{what}; numbers: {told}", [
        f"in an experiment whose program prints this, write json = {_toml(pointer)} below [metrics.NAME]",
        'write {NAME: {MEASURE: {"value": NUMBER}}} (Bencher\'s format), which `trialwise look` reads',
    ]


def _numbers(document: object) -> Iterator[tuple[str, float]]:
    """Yield the first numbers of a document with their JSON pointers."""
    for pointer, value in _entries(document):
        if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e300:
            yield pointer, value


def _repeated(document: object) -> Iterator[str]:
    """Yield the JSON pointers of keys that stand twice."""
    return (pointer for pointer, value in _entries(document) if isinstance(value, Repeated))


def _entries(document: object) -> Iterator[tuple[str, object]]:
    """Yield the first entries of a document with their JSON pointers (RFC 6901); of a list, only its first one."""
    left: list[tuple[str, object]] = [("", document)]
    for _ in range(_MOST_VISITED):
        if not left:
            return
        pointer, value = left.pop(0)
        if isinstance(value, dict):
            members = list(islice(cast("dict[str, object]", value).items(), _MOST_VISITED))
            left += [
                (f"{pointer}/{key.replace('~', '~0').replace('/', '~1')}", each) for key, each in members
            ]
        elif is_list(value):
            left += [(f"{pointer}/0", value[0])] if value else []
        else:
            yield pointer, value


def _text(content: Content) -> tuple[str, list[str]]:
    lines = [line for line in content.head.split("\n") if line.strip()]
    first = next((line for line in lines if _NUMBER.search(line[:_LONGEST])), None)
    what = f"text that begins with {_short(lines[0])!r}"
    if first is None:
        return f"{what}, without a number in sight", []
    found = _NUMBER.search(first[:_LONGEST])
    before = first[: found.start() if found else 0].lstrip()
    before = re.escape(before) if visible(before) == before else ""
    command = shlex.quote(f"cat {shlex.quote(visible(str(content.path.absolute())))}")
    path = shlex.quote(visible(str(content.path)))
    metric = shlex.quote(f"value={before}(-?[0-9.]+)")
    return f"{what}; a number in {_short(first)!r}", [
        f"let an experiment run the program, and find the number: trialwise new value.toml --command {command} --metric {metric}",
        f"if blanks divide its columns, trialwise analyze {path} --delimiter ' ' --no-header --value column_2",
    ]


def _toml(pointer: str) -> str:
    return '"' + visible(pointer).replace("\\", "\\\\").replace('"', '\\"') + '"'


def _short(text: str) -> str:
    shown = visible(text.strip())
    return shown if len(shown) <= _LONGEST else f"{shown[: _LONGEST - 1]}…"
