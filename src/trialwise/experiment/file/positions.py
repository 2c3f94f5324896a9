"""The line of each key in a TOML text, for messages."""

from __future__ import annotations

import re
import tomllib
from bisect import bisect_right
from collections.abc import Mapping

Key = tuple[str | int, ...]
"""The path to a value: names of tables and keys, and indices into lists from 0."""

_BLANK = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_KEY_PART = re.compile(r"""[A-Za-z0-9_-]+|"(?:[^"\\\n]|\\.)*"|'[^'\n]*'""")
_STRINGS = (
    r'"""(?:[^\\]|\\.)*?"{3,5}',
    r"'''.*?'{3,5}",
    r'"(?:[^"\\\n]|\\.)*"',
    r"'[^'\n]*'",
)
_STRING = re.compile("|".join(_STRINGS), re.DOTALL)
_SCALAR = re.compile(r"[^,\]}\n#]*")


def key_lines(text: str) -> Mapping[Key, int]:
    """Return the line, from 1, of every table, key and list element in a valid TOML text."""
    return _Scanner(text).lines()


class _Scanner:
    """A scanner for the text of a document that a full parser has already accepted."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._newlines = [match.start() for match in re.finditer("\n", text)]
        self._lines: dict[Key, int] = {}
        self._table: Key = ()
        self._elements: dict[Key, int] = {}

    def lines(self) -> Mapping[Key, int]:
        self._skip_blank()
        while self._at < len(self._text):
            if self._text[self._at] == "[":
                self._header()
            else:
                self._pair(self._table)
            self._skip_blank()
        return self._lines

    def _skip_blank(self) -> None:
        if found := _BLANK.match(self._text, self._at):
            self._at = found.end()

    def _take(self, pattern: re.Pattern[str]) -> str:
        found = pattern.match(self._text, self._at)
        if found is None:
            raise ValueError(f"not TOML at offset {self._at}")
        self._at = found.end()
        return found.group()

    def _note(self, key: Key, offset: int) -> None:
        line = bisect_right(self._newlines, offset - 1) + 1
        for length in range(1, len(key)):
            self._lines.setdefault(key[:length], line)
        self._lines[key] = line

    def _header(self) -> None:
        start = self._at
        repeated = self._text.startswith("[[", start)
        self._at += 2 if repeated else 1
        parts = self._parts()
        self._at = self._text.index("]" * (2 if repeated else 1), self._at) + (2 if repeated else 1)
        key = (*self._resolved(parts[:-1]), parts[-1])
        if repeated:
            count = self._elements.get(key, 0)
            self._elements[key] = count + 1
            key = (*key, count)
        self._table = self._resolved(parts) if not repeated else key
        self._note(self._table, start)

    def _resolved(self, parts: tuple[str, ...]) -> Key:
        """Return the key of a table in a header; a path through a list of tables refers to its last element."""
        key: Key = ()
        for part in parts:
            key = (*key, part)
            if count := self._elements.get(key):
                key = (*key, count - 1)
        return key

    def _parts(self) -> tuple[str, ...]:
        parts: list[str] = []
        while True:
            self._skip_blank()
            parts.append(_plain(self._take(_KEY_PART)))
            self._skip_blank()
            if self._text[self._at] != ".":
                return tuple(parts)
            self._at += 1

    def _pair(self, table: Key) -> None:
        self._skip_blank()
        start = self._at
        key = (*table, *self._parts())
        self._note(key, start)
        self._at += 1  # the sign =
        self._skip_blank()
        self._value(key)

    def _value(self, key: Key) -> None:
        match self._text[self._at]:
            case "[":
                self._list(key)
            case "{":
                self._inline_table(key)
            case '"' | "'":
                self._take(_STRING)
            case _:
                self._take(_SCALAR)

    def _list(self, key: Key) -> None:
        self._open()
        index = 0
        while self._text[self._at] != "]":
            self._note((*key, index), self._at)
            self._value((*key, index))
            index += 1
            self._separator()
        self._at += 1

    def _inline_table(self, key: Key) -> None:
        self._open()
        while self._text[self._at] != "}":
            self._pair(key)
            self._separator()
        self._at += 1

    def _open(self) -> None:
        self._at += 1
        self._skip_blank()

    def _separator(self) -> None:
        self._skip_blank()
        if self._text[self._at] == ",":
            self._at += 1
            self._skip_blank()


def _plain(part: str) -> str:
    """Return a part of a key without its quotes."""
    return str(tomllib.loads(f"key = {part}")["key"]) if part[0] in "\"'" else part
