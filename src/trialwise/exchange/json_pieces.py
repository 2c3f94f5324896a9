"""JSON documents in pieces, for lists that are too long to stand in memory as objects; all characters are visible."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from trialwise.visible import visible_json

Fill = Callable[[int], Iterator[str]]
"""Yields the text of a value that stands under a key which is indented so far."""


class Marks:
    """Texts that stand in a document for what is filled in later; nobody can guess them."""

    def __init__(self) -> None:
        self._token = secrets.token_hex(16)
        self._fills: list[Fill] = []

    def add(self, fill: Fill) -> str:
        """Return the text that stands for what this yields; in the document, texts have the order in which they were made."""
        self._fills.append(fill)
        return self._token

    def texts(self, document: Mapping[str, object]) -> Iterator[str]:
        """Yield the document in pieces, with a line end."""
        before, *others = text_of(document, "\n").split(f'"{self._token}"')
        yield before
        for fill, after in zip(self._fills, others, strict=True):
            line = before.rpartition("\n")[2]
            yield from fill(len(line) - len(line.lstrip(" ")))
            yield after
            before = after
        yield "\n"


def listed(texts: Iterable[str], indent: int) -> Iterator[str]:
    """Yield a list under a key that is indented so far, of entries with the `margin` of this indentation; also several in one text."""
    begun = False
    for text in texts:
        yield f"{',' if begun else '['}{margin(indent)}{text}"
        begun = True
    yield f"\n{' ' * indent}]" if begun else "[]"


def margin(indent: int) -> str:
    """Return what stands before each line of an entry of a list under a key that is indented so far."""
    return "\n" + " " * (indent + 2)


def text_of(value: object, before: str) -> str:
    """Return a value as text, each line after the first of which begins with `before`."""
    text = json.dumps(value, indent=2, allow_nan=False, ensure_ascii=False)
    return visible_json(text.replace("\n", before))


def form_of(value: object, before: str, marks: Mapping[str, str], inside: Sequence[str] = ()) -> str:
    """Return the text of a value with a `%s` for each mark: for the whole text with quotes, or, by names in `inside`, for a part."""
    text = text_of(value, before).replace("%", "%%")
    for name, mark in marks.items():
        text = text.replace(mark if name in inside else f'"{mark}"', "%s")
    return text
