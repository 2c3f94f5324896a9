"""Differences between the environments in which two sets of trials ran."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

Facts = Mapping[str, str]
"""Recorded facts of one environment, by dotted names such as "kernel.release"."""

_PASSING = frozenset(
    {
        "machine.boot_id",
        "machine.memory_available",
        "machine.swap_used",
        "machine.load",
        "machine.clock_synchronised",
    }
)
"""Facts that change from one minute, or boot, to the next."""
_PASSING_AT_ENDS = tuple(f".{name}" for name in _PASSING)
"""Of the ends of real paths: names that begin with ``ends.NAME``."""
_FIRST = ("machine.", "processor.", "kernel.release", "kernel.version", "kernel.", "python", "git.")
"""Prefixes that identify machines come first."""
_MAX_FACTS = 2000
_MAX_TEXT = 120
_MAX_DEPTH = 6


@dataclass(frozen=True, slots=True)
class EnvironmentDifference:
    """A fact that differs between the sides, with its values on each; none if not recorded there."""

    name: str
    a: tuple[str, ...]
    b: tuple[str, ...]


def facts_of(record: Mapping[str, object]) -> dict[str, str]:
    """Flatten the record of an environment, as stored in `environments/`, to at most 2000 facts of 120 characters."""
    found: dict[str, str] = {}
    for name, text in _flat("", record, _MAX_DEPTH):
        if len(found) >= _MAX_FACTS:
            break
        if name not in _PASSING and not name.endswith(_PASSING_AT_ENDS):
            found[name] = text if len(text) <= _MAX_TEXT else f"{text[: _MAX_TEXT - 1]}…"
    return found


def _flat(name: str, value: object, depth: int) -> Iterator[tuple[str, str]]:
    if depth and isinstance(value, Mapping):
        for key, part in cast("Mapping[object, object]", value).items():
            yield from _flat(f"{name}.{key}" if name else str(key), part, depth - 1)
    elif depth and (records := _records(value)):
        for record in records:
            label = str(record.get("path") or record.get("name") or "")
            rest = {key: part for key, part in record.items() if part != label}
            yield from _flat(f"{name}.{label}", rest, depth - 1)
    elif value is not None:
        yield name, str(value)


def _records(value: object) -> list[Mapping[str, object]]:
    """Return a list of records, such as of files; empty if it is anything else."""
    parts: list[object] = cast("list[object]", value) if isinstance(value, list) else []
    found = [cast("Mapping[str, object]", part) for part in parts if isinstance(part, Mapping)]
    return found if len(found) == len(parts) else []


def differences(a: Sequence[Facts], b: Sequence[Facts]) -> tuple[EnvironmentDifference, ...]:
    """Return the facts that differ between the environments of two sides, those of the machine first."""
    if not a or not b:
        return ()
    names = dict.fromkeys(name for facts in (*a, *b) for name in facts)
    found = (EnvironmentDifference(name, _values(a, name), _values(b, name)) for name in names)
    return tuple(sorted((one for one in found if set(one.a) != set(one.b)), key=lambda one: _rank(one.name)))


def _values(side: Iterable[Facts], name: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(facts[name] for facts in side if name in facts))


def _rank(name: str) -> int:
    return next((place for place, begin in enumerate(_FIRST) if name.startswith(begin)), len(_FIRST))
