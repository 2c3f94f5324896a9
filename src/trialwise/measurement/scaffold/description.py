"""What a program measures and which options it takes: the records between descriptions and skeletons."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches

from trialwise.errors import PlanError

INTEGERS = ("int32", "uint32", "int64", "uint64")
ELEMENTS = (*INTEGERS, "double", "bool")
TYPES = (*INTEGERS, "double", "string", "blob", "guid", "bool", *(f"[{element}]" for element in ELEMENTS))
OPTION_TYPES = ("flag", "string", *INTEGERS, "double")
_ALIASES = {
    "int": "int32",
    "integer": "int32",
    "long": "int32",
    "float": "double",
    "real": "double",
    "boolean": "bool",
}
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_OPTION = re.compile(r"[A-Za-z][A-Za-z0-9_.:-]*")
MAX_STREAM = 63
"""Maximum bytes of PROGRAM_POINT, the name of a table (OML.md section 9)."""
_BITS = {"int32": 32, "uint32": 32, "int64": 64, "uint64": 64}


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a measurement point."""

    name: str
    type: str
    unit: str = ""
    description: str = ""

    @property
    def element(self) -> str | None:
        """The type of a vector's elements; None if this is not a vector."""
        return self.type[1:-1] if self.type.startswith("[") else None

    @property
    def comment(self) -> str:
        """What is known of it besides its name and type, on one line."""
        text = " ".join(self.description.split())
        return f"{text} [{self.unit}]".strip() if self.unit else text


@dataclass(frozen=True, slots=True)
class MeasurementPoint:
    """A named tuple that the program measures."""

    name: str
    fields: tuple[Field, ...]
    description: str = ""


@dataclass(frozen=True, slots=True)
class Option:
    """An option of the program's command line."""

    name: str
    type: str
    default: str | int | float | bool
    description: str = ""
    unit: str = ""
    letter: str = ""
    variable: str = ""


@dataclass(frozen=True, slots=True)
class Program:
    """A program, its options, and what it measures."""

    name: str
    points: tuple[MeasurementPoint, ...]
    options: tuple[Option, ...] = ()
    description: str = ""
    version: str = "0.1.0"


def checked(program: Program) -> Program:
    """Return the program itself if every name in it is valid.

    Raises
    ------
    PlanError
        A name is invalid, taken or too long; there is no point, or a point has no fields.
    """
    _check_name("program", program.name)
    if not program.points:
        raise PlanError("there is no measurement point", hint="add one: [points.NAME.fields]")
    _check_unique("measurement point", [point.name for point in program.points])
    for point in program.points:
        _check_point(program.name, point)
    _check_unique("option", [option.variable for option in program.options])
    _check_unique("letter", [option.letter for option in program.options if option.letter])
    for option in program.options:
        _check_option(option)
    if not re.fullmatch(r"\d+(\.\d+){0,2}", program.version):
        raise PlanError(f"version {program.version!r} is invalid", hint='write "1.0.0"')
    return program


def field_type(name: str) -> str:
    """Return a field's type from any of its names, such as OML's `vector_int32`, `:boolean` and `long`.

    Raises
    ------
    PlanError
        The type is unknown.
    """
    vector = re.fullmatch(r"vector_(\w+)", name)
    found = f"[{_ALIASES.get(vector[1], vector[1])}]" if vector else _ALIASES.get(name, name)
    if found not in TYPES:
        raise PlanError(f"there is no type {name!r}", hint=_nearest(name, TYPES))
    return found


def option(
    name: str,
    type_name: str,
    default: object,
    *,
    description: str = "",
    unit: str = "",
    letter: str = "",
    variable: str = "",
) -> Option:
    """Make an option; with None, its default is the zero of its type.

    Raises
    ------
    PlanError
        The type is unknown, or the default is not of that type.
    """
    kind = {"boolean": "flag", "bool": "flag", "long_long": "int64"}.get(
        type_name, _ALIASES.get(type_name, type_name)
    )
    if kind not in OPTION_TYPES:
        raise PlanError(f"option {name!r}: there is no type {type_name!r}", hint=_nearest(kind, OPTION_TYPES))
    value = _default(name, kind, default)
    return Option(name, kind, value, description, unit, letter, variable or re.sub(r"[.:-]", "_", name))


def known_keys(what: str, given: Iterable[str], known: Iterable[str]) -> None:
    """Reject keys that a description does not have.

    Raises
    ------
    PlanError
        A key is unknown; the message gives the nearest known one.
    """
    allowed = list(known)
    for key in given:
        if key not in allowed:
            raise PlanError(f"{what} has no key {key!r}", hint=_nearest(key, allowed))


def _nearest(name: str, known: Iterable[str]) -> str:
    allowed = list(known)
    close = get_close_matches(name, allowed, n=1)
    return f"did you mean {close[0]!r}?" if close else f"one of {', '.join(allowed)}"


def _default(name: str, kind: str, value: object) -> str | int | float | bool:
    wrong = PlanError(f"option {name!r}: {value!r} is not a valid default of type {kind}")
    if kind == "flag" and (value is None or isinstance(value, bool)):
        return bool(value)
    if kind == "string" and (value is None or isinstance(value, str)):
        return value or ""
    if kind == "double" and (
        value is None or (isinstance(value, int | float) and not isinstance(value, bool))
    ):
        return float(value or 0)
    if kind in _BITS and (value is None or (isinstance(value, int) and not isinstance(value, bool))):
        low = 0 if kind.startswith("u") else -(1 << (_BITS[kind] - 1))
        if low <= (value or 0) < low + (1 << _BITS[kind]):
            return value or 0
    raise wrong


def _check_name(what: str, name: str) -> None:
    if not _NAME.fullmatch(name):
        raise PlanError(f"{name!r} cannot name a {what}", hint="letters, digits and _, the first no digit")


def _check_unique(what: str, names: list[str]) -> None:
    for name in names:
        if names.count(name) > 1:
            raise PlanError(f"{what} {name!r} is given twice", hint="rename one")


def _check_point(program: str, point: MeasurementPoint) -> None:
    _check_name("measurement point", point.name)
    if not point.fields:
        raise PlanError(
            f"measurement point {point.name!r} has no fields", hint=f"add them: [points.{point.name}.fields]"
        )
    for field in point.fields:
        _check_name("field", field.name)
    _check_unique(f"measurement point {point.name!r}: field", [field.name for field in point.fields])
    stream = f"{program}_{point.name}"
    if len(stream) > MAX_STREAM:
        raise PlanError(
            f"{stream!r} is longer than the {MAX_STREAM} bytes of a stream's name", hint="shorten a name"
        )


def _check_option(option: Option) -> None:
    if not _OPTION.fullmatch(option.name) or option.name.startswith("oml-") or option.name == "help":
        raise PlanError(
            f"{option.name!r} cannot name an option",
            hint="letters, digits, and - _ . : between; help and oml-… are taken",
        )
    _check_name("variable", option.variable)
    if option.letter and not re.fullmatch(r"[A-Za-gi-z0-9]", option.letter):
        raise PlanError(
            f"option {option.name!r}: {option.letter!r} is not a free letter", hint="h is for --help"
        )
