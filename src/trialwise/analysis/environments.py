"""Differences between the environments in which two sets of trials ran."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from trialwise.analysis.influences import Block, Study, influence_of
from trialwise.numbers import as_given

Facts = Mapping[str, str]
"""Recorded facts of one environment, by dotted names such as "kernel.release"."""

_PASSING = frozenset(
    {
        "machine.memory_available",
        "machine.swap_used",
        "machine.clock_synchronised",
        "kernel.sysctls.net.ipv4.tcp_allowed_congestion_control",
    }
)
"""Facts that change from one minute to the next, or that trials change themselves."""
_PASSING_AT_ENDS = tuple(f".{name}" for name in (*_PASSING, "machine.boot_id", "machine.load"))
"""Of the ends of real paths: names that begin with ``ends.NAME``."""
_WHOLE = frozenset({"plan", "variable"})
"""Families of facts that are recorded completely or not at all: what is absent there is not set, and not unknown."""
_MAX_FACTS = 2000
_MAX_TEXT = 120
_MAX_DEPTH = 6
_DIGITS = 12
"""Digits of a file's SHA-256 that stand for its content."""
_MEMORY = 1 << 28
"""Bytes to which memory is rounded, because the kernel's own share varies from boot to boot."""
_HIDDEN = "hidden "
"""Beginning of a value that is recorded as a hash that only its own machine makes (`trialwise.measurement.inherited`)."""
_LOADS = (0.2, 0.5, 1.0)
"""Running processes for each CPU, between which loads count as equal."""


@dataclass(frozen=True, slots=True)
class EnvironmentDifference:
    """A fact that differs between the sides, with its values on each; none if not recorded there, or not set.

    `rank`, `block` and `why`: what the difference may do to results, rank 1 the most (`trialwise.analysis.influences`). It is
    not `known` if one side did not record the fact.
    """

    name: str
    a: tuple[str, ...]
    b: tuple[str, ...]
    rank: int
    block: Block
    why: str
    known: bool


def facts_of(record: Mapping[str, object]) -> dict[str, str]:
    """Flatten the record of an environment, as stored in `environments/`, to at most 2000 facts of 120 characters.

    Files become ``program.NAME`` and ``library.NAME`` with the first digits of their SHA-256, what trials inherit ``variable.NAME``
    and ``limit.NAME``. Memory is rounded to 256 MiB, and the load is one of four classes.
    """
    found: dict[str, str] = {}
    for name, text in _flat("", _arranged(record), _MAX_DEPTH):
        if len(found) >= _MAX_FACTS:
            break
        if name not in _PASSING and not (name.startswith("ends.") and name.endswith(_PASSING_AT_ENDS)):
            found[name] = text if len(text) <= _MAX_TEXT else f"{text[: _MAX_TEXT - 1]}…"
    return found


def _arranged(record: Mapping[str, object]) -> Mapping[str, object]:
    """Return a record with the files and what trials inherit in families; records of other tools stay as they are."""
    families = {"variable": "environment", "limit": "limits", "build": "build"}
    inherited = _mapping(record.get("fingerprint"))
    kept = {name: part for name, part in record.items() if name not in ("fingerprint", "executables", "ends")}
    ends = {name: _with_details(_mapping(end)) for name, end in _mapping(record.get("ends")).items()}
    return {
        **_with_details(kept),
        **({"ends": ends} if ends else {}),
        **_settled(record),
        **_files(_records(record.get("executables"))),
        **{family: inherited[name] for family, name in families.items() if name in inherited},
    }


def _with_details(record: Mapping[str, object]) -> dict[str, object]:
    """Return a record with its further facts (`trialwise.measurement.details`) beside its others: their names are whole."""
    return {
        **{name: part for name, part in record.items() if name != "details"},
        **_mapping(record.get("details")),
    }


def _mapping(value: object) -> Mapping[str, object]:
    return cast("Mapping[str, object]", value) if isinstance(value, Mapping) else {}


def _settled(record: Mapping[str, object]) -> dict[str, object]:
    """Return the machine with its memory and load to the precision in which they can be compared."""
    found = dict(_mapping(record.get("machine")))
    memory, load = found.get("memory"), found.pop("load", None)
    cpus = _mapping(record.get("processor")).get("cpus")
    if isinstance(memory, int):
        found["memory"] = round(memory / _MEMORY) * _MEMORY
    if isinstance(load, list) and load and isinstance(cpus, int) and cpus > 0:
        found["load"] = _load(cast("list[object]", load)[0], cpus)
    return {"machine": found} if found else {}


def _load(one_minute: object, cpus: int) -> str | None:
    if not isinstance(one_minute, int | float):
        return None
    each = one_minute / cpus
    below = next((bound for bound in _LOADS if each < bound), None)
    return (
        f"{as_given(_LOADS[-1])} or more for each CPU"
        if below is None
        else f"below {as_given(below)} for each CPU"
    )


def _files(records: Iterable[Mapping[str, object]]) -> dict[str, dict[str, str]]:
    """Return the digests of files by name: as commands name them, without the folders of absolute paths and versions of libraries."""
    found: dict[str, dict[str, set[str]]] = {"program": {}, "library": {}}
    for record in records:
        name, digest = str(record.get("name") or record.get("path") or ""), str(record.get("sha256") or "")
        family = "library" if record.get("role") == "library" else "program"
        short = name.rpartition("/")[2] if name.startswith("/") else name
        if family == "library":
            short = re.split(r"\.so\b", short)[0]
        if short and digest:
            found[family].setdefault(short, set()).add(digest[:_DIGITS])
    return {
        family: {name: ", ".join(sorted(each)) for name, each in files.items()}
        for family, files in found.items()
    }


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


def plan_facts(document: Mapping[str, object]) -> dict[str, str]:
    """Flatten an experiment file, as TOML has it, to facts that begin with ``plan.``."""
    return facts_of({"plan": document})


def differences(
    a: Sequence[Facts], b: Sequence[Facts], study: Study = "measured"
) -> tuple[EnvironmentDifference, ...]:
    """Return the facts that differ between the environments of two sides, those that matter most first.

    Facts that only one side recorded are among them, not `known`.
    """
    if not a or not b:
        return ()
    names = dict.fromkeys(name for facts in (*a, *b) for name in facts)
    families = _families(a) & _families(b)
    found = (_difference(name, a, b, families, study) for name in names)
    return tuple(
        sorted(filter(None, found), key=lambda one: (not one.known, one.rank, _place(one), one.name))
    )


def _difference(
    name: str, a: Sequence[Facts], b: Sequence[Facts], both: set[str], study: Study
) -> EnvironmentDifference | None:
    values = _values(a, name), _values(b, name)
    influence = influence_of(name, study)
    if influence is None or set(values[0]) == set(values[1]):
        return None
    hidden = any(text.startswith(_HIDDEN) for text in (*values[0], *values[1]))
    known = (all(values) or _family(name) in _WHOLE & both) and not hidden
    return EnvironmentDifference(name, *values, influence.rank, influence.block, influence.why, known)


def _families(side: Sequence[Facts]) -> set[str]:
    return {_family(name) for facts in side for name in facts}


def _family(name: str) -> str:
    return name.partition(".")[0]


def _values(side: Iterable[Facts], name: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(facts[name] for facts in side if name in facts))


_FIRST = ("machine.", "processor.", "kernel.release", "kernel.version", "kernel.", "python", "git.")
"""Prefixes that identify machines come first."""


def _place(one: EnvironmentDifference) -> int:
    return next((place for place, begin in enumerate(_FIRST) if one.name.startswith(begin)), len(_FIRST))
