"""Parts of a JSON document of another tool, where anything may be absent or of another type: it counts as missing then."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from math import inf
from typing import Any, cast

from trialwise.readers.long_lists import is_list


class Part:
    """Any value of JSON, or none; looking into what is not there gives a part that is missing."""

    __slots__ = ("value",)

    def __init__(self, value: object) -> None:
        self.value = value

    def __getitem__(self, key: str) -> Part:
        return Part(self._object.get(key))

    def __contains__(self, key: str) -> bool:
        return key in self._object

    def __bool__(self) -> bool:
        return bool(self.value)

    @property
    def number(self) -> float | None:
        """The number, also one that stands as text is none; infinite where it exceeds the range of a double."""
        if isinstance(self.value, bool) or not isinstance(self.value, int | float):
            return None
        try:
            return float(self.value)
        except OverflowError:
            return inf if self.value > 0 else -inf

    @property
    def text(self) -> str:
        """The text; empty if it is none."""
        return self.value if isinstance(self.value, str) else ""

    @property
    def level(self) -> str:
        """The text, number or truth as the level of a factor; empty if it is none."""
        if isinstance(self.value, bool):
            return str(self.value).lower()
        return str(self.value) if isinstance(self.value, str | int | float) else ""

    @property
    def moment(self) -> float | None:
        """The Unix seconds of a time with its zone as text (RFC 3339); None if it is none."""
        return moment(self.text)

    def entries(self) -> Iterator[Part]:
        """Yield the entries of a list; nothing if it is none."""
        if is_list(self.value):
            yield from map(Part, self.value)

    def members(self) -> Iterator[tuple[str, Part]]:
        """Yield the members of an object; nothing if it is none."""
        yield from ((name, Part(value)) for name, value in self._object.items())

    @property
    def _object(self) -> dict[str, object]:
        value: Any = self.value
        return cast("dict[str, object]", value) if isinstance(value, dict) else {}


def moment(told: str) -> float | None:
    """Return the Unix seconds of a time with its zone (RFC 3339); None if it is none."""
    try:
        found = datetime.fromisoformat(told)
    except ValueError:
        return None
    return None if found.tzinfo is None else found.timestamp()
