"""What makes two trials comparable: machine, files, variables, limits and, where it computes, Trialwise's own build.

A series, a pair of `trialwise ab` and the sessions of a worker compare by `Identity.changes` alone.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast

from trialwise.experiment.problems import shown
from trialwise.measurement.file_identity import Role

Scope = Literal["measured", "computed"]
"""Measured trials depend on all of it; computed ones only on file contents and the build."""

MAX_TOLD = 6
"""Maximum number of changes listed; the rest are counted."""
_LONGEST = 60

_ROLES_REPLACED: frozenset[Role] = frozenset({"program", "interpreter", "script", "library"})
"""For these, another file with the same name replaces the earlier one; inputs differ from trial to trial."""


ANY = ("",)
"""Treatments of a file from an earlier version of the record, which does not list them."""


@dataclass(frozen=True, slots=True)
class FileIdentity:
    """A file and its content.

    `name` is its path as commands name it, relative to the experiment's folder if it lies below that.
    `path` has links resolved; `size` is in bytes. `treatments` lists the treatments in whose trials the file was seen; it is empty
    if the file is known from the command alone.
    """

    name: str
    path: str
    sha256: str
    size: int
    role: Role = "program"
    treatments: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Change:
    """One difference: its kind, what differs, and both states as text, None if absent."""

    kind: str
    name: str
    before: str | None
    after: str | None

    @property
    def text(self) -> str:
        """Describe the change in a few words, safe for a terminal."""
        name = _safe(self.name)
        if self.kind == "file":
            return f"{name} is another" if self.before and self.after else f"{name} is gone"
        if self.before is None or self.after is None:
            return f"{name} is {'set' if self.before is None else 'not set'} now"
        if len(self.before) > _LONGEST or len(self.after) > _LONGEST:
            return f"{name} is another"
        return f"{name}: {_safe(self.before)} → {_safe(self.after)}"


@dataclass(frozen=True, slots=True)
class Identity:
    """What was measured, and under which conditions. Unknown parts are None and never count as changed.

    `machine` and `limits` by name; `environment`: variables that trials inherit, secret-looking values as keyed hashes;
    `volatile`: names of files that trials write themselves; `build`: of Trialwise, if it computes the trials.
    """

    machine: Mapping[str, str | int | None]
    files: tuple[FileIdentity, ...] = ()
    environment: Mapping[str, str] | None = None
    limits: Mapping[str, str] | None = None
    build: Mapping[str, str] | None = None
    volatile: tuple[str, ...] = ()

    @property
    def digest(self) -> str:
        """Return 64 hexadecimal digits, equal if `changes` would find no difference."""
        record = self.to_json()
        record["executables"] = sorted((each.name, each.sha256) for each in self.files)
        del record["volatile"]
        return hashlib.sha256(json.dumps(record, sort_keys=True).encode()).hexdigest()

    def changes(self, before: Identity, scope: Scope = "measured") -> tuple[Change, ...]:
        """Compare with the identity of earlier trials; a file that was known then and is not known now counts as gone."""
        build = () if self.build is None else _of_names("build", self.build, before.build)
        if scope == "computed":
            return (*_contents(self.files, before.files), *build)
        return (
            *_of_names("machine", self.machine, before.machine, only_known=True),
            *_of_files(self, before),
            *_of_names("limit", self.limits, before.limits),
            *_of_names("variable", self.environment, before.environment),
            *build,
        )

    def to_json(self) -> dict[str, Any]:
        """Return a mapping for `json.dumps`, with files by path and digest only; `Environment.executables` has the rest."""
        return {
            **self.machine,
            "executables": sorted([each.path, each.sha256] for each in self.files),
            "environment": None if self.environment is None else dict(self.environment),
            "limits": None if self.limits is None else dict(self.limits),
            "build": None if self.build is None else dict(self.build),
            "volatile": list(self.volatile),
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Identity:
        """Read the identity from the record of an environment.

        The first version of these records has only the paths of files, and no variables or limits.

        Raises
        ------
        ValueError
            The record has no identity.
        """
        try:
            record: Mapping[str, Any] = document["fingerprint"]
            machine = {name: value for name, value in record.items() if name not in _PARTS}
            return cls(
                machine,
                tuple(_file(each) for each in document["executables"]),
                *(_texts(record.get(name)) for name in ("environment", "limits", "build")),
                volatile=tuple(map(str, record.get("volatile") or ())),
            )
        except (TypeError, KeyError, AttributeError) as error:
            raise ValueError(f"the record of an environment holds no identity: {error}") from error


_PARTS = {"executables", "environment", "limits", "build", "volatile"}


def _file(record: Mapping[str, Any]) -> FileIdentity:
    return FileIdentity(
        name=str(record.get("name", record["path"])),
        path=str(record["path"]),
        sha256=str(record["sha256"]),
        size=int(record["size"]),
        role=record.get("role", "program"),
        treatments=tuple(map(str, record.get("treatments", ANY))),
    )


def told(changes: Iterable[Change]) -> str | None:
    """Describe changes in one line; None if there are none."""
    texts = list(dict.fromkeys(change.text for change in changes))
    if not texts:
        return None
    more = len(texts) - MAX_TOLD
    return "; ".join(texts[:MAX_TOLD]) + (f"; and {more} more" if more > 0 else "")


def replaced(
    before: Iterable[FileIdentity], after: Iterable[FileIdentity]
) -> Iterator[tuple[FileIdentity, FileIdentity]]:
    """Pair files that are no longer used with new files of the same name, elsewhere, whose content differs."""
    then, now = ({each.name: each for each in files} for files in (before, after))
    gone = {_stem(each): each for name, each in then.items() if name not in now}
    for name, each in now.items():
        other = gone.get(_stem(each))
        if name not in then and each.role in _ROLES_REPLACED and other and other.sha256 != each.sha256:
            yield other, each


def _stem(file: FileIdentity) -> tuple[bool, str]:
    """Return the name without folders and, for a library, without its version."""
    name = file.name.rpartition("/")[2]
    return file.role == "library", re.split(r"\.so\b", name)[0] if file.role == "library" else name


def _of_files(now: Identity, before: Identity) -> Iterator[Change]:
    known = {each.name: each for each in now.files}
    of_commands = ([each for each in files if not each.treatments] for files in (before.files, now.files))
    moved = {other.name: each.name for other, each in replaced(*of_commands)}
    left_out = {*now.volatile, *before.volatile}
    for each in before.files:
        found = known.get(each.name)
        if each.name in left_out or (found is not None and found.sha256 == each.sha256):
            continue
        if each.name in moved:
            yield Change("place", each.name.rpartition("/")[2], each.name, moved[each.name])
        else:
            yield Change("file", each.name, each.sha256, found and found.sha256)


def _contents(now: Iterable[FileIdentity], before: Iterable[FileIdentity]) -> Iterator[Change]:
    """Yield files whose content is new, wherever they are."""
    then, after = list(before), list(now)
    differing = {each.sha256 for each in then} ^ {each.sha256 for each in after}
    names = {each.path for each in (*then, *after) if each.sha256 in differing}
    return (Change("file", name, "before", "after") for name in sorted(names))


def _of_names(
    kind: str,
    now: Mapping[str, Any] | None,
    before: Mapping[str, Any] | None,
    *,
    only_known: bool = False,
) -> Iterator[Change]:
    """Compare two mappings by name; if either is unknown, nothing has changed."""
    if now is None or before is None:
        return
    for name in sorted({*now, *before}):
        if only_known and (name not in now or name not in before):
            continue
        then, after = before.get(name), now.get(name)
        if then != after:
            text = name.replace("_", " ") if kind != "variable" else name
            unset = kind == "variable"
            yield Change(kind, text, _state(then, name in before, unset), _state(after, name in now, unset))


def _state(value: object, there: bool, unset: bool) -> str | None:
    if not there and unset:
        return None
    return "not known" if value is None else str(value)


def _texts(record: object) -> dict[str, str] | None:
    return None if record is None else {str(k): str(v) for k, v in cast("dict[str, object]", record).items()}


def _safe(text: str) -> str:
    return text if text.isprintable() and text else shown(text)


def without(identity: Identity, names: Iterable[str]) -> Identity:
    """Return the identity without the named files, which are volatile from now on."""
    left_out = set(names)
    return dataclasses.replace(
        identity,
        files=tuple(each for each in identity.files if each.name not in left_out),
        volatile=tuple(sorted({*identity.volatile, *left_out})),
    )
