"""The values of an experiment file: how each is read, written, and described."""

from __future__ import annotations

import re
import shlex
import warnings
from dataclasses import dataclass
from decimal import Decimal
from math import isfinite
from typing import Annotated, Any, Literal, cast

from trialwise.experiment.file.sections import Limits, Written, WrongValueError
from trialwise.experiment.quantity import seconds

_DURATION = 'a duration such as "10s", "500ms", "1h 30min", or a number of seconds'


def _duration(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise ValueError('must be a duration: "10s", "500ms", "1h 30min", or a number of seconds')  # noqa: TRY004 pydantic reads ValueError
    return seconds(value)


def _positive_duration(value: object) -> float:
    duration = _duration(value)
    if duration <= 0:
        raise ValueError("must be longer than nothing")
    return duration


Duration = Annotated[
    float,
    Written(Any, _duration),
    Limits({"type": ["string", "number"], "minimum": 0, "title": _DURATION}),
]
PositiveDuration = Annotated[
    float,
    Written(Any, _positive_duration),
    Limits({"type": ["string", "number"], "exclusiveMinimum": 0, "title": f"{_DURATION}, above 0"}),
]
# Beyond these bounds the sizes of experiments are meaningless, and computing them exactly takes for ever.
Percent = Annotated[float, Limits(ge=0.0001, le=99.9999)]
Share = Annotated[float, Limits(ge=0, lt=1)]
Count = Annotated[int, Limits(ge=1, le=1_000_000)]
Whole = Annotated[int, Limits(ge=-(2**63), lt=2**63)]
Level = str | int | float | bool
"""One value of a factor."""
Text = Annotated[str, Limits(min_length=1)]


def _matching(pattern: str, words: str, **limits: int) -> Limits:
    """Return limits for a text that matches a regular expression, with its description."""
    return Limits({"title": words}, pattern=pattern, **limits)


NAME = r"^[A-Za-z_][A-Za-z0-9_.\-]*$"
Name = Annotated[
    str,
    _matching(
        NAME, "a name of ASCII letters, digits, _ . and -, beginning with a letter or _", max_length=128
    ),
]
Pointer = Annotated[str, _matching(r"^(/([^~/]|~[01])*)*$", 'a JSON pointer: "" for the whole, or "/key/0"')]
Call = Annotated[
    str,
    _matching(r"^[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*$", 'a text "module:function"'),
]
Commit = Annotated[str, _matching(r"^[0-9a-fA-F]{7,64}$", "a commit in 7 to 64 hexadecimal digits")]
WorkerFolder = Annotated[str, _matching(r"^(~/|/).*[^/]$", "an absolute folder, or one that begins with ~/")]
ContainerName = Annotated[str, _matching(r"^[A-Za-z0-9{][A-Za-z0-9_.{}-]*$", "a name of a container")]
Service = Annotated[str, _matching(r"^[A-Za-z0-9_{][A-Za-z0-9:_.@{}\\\-]*$", "a name of a unit of systemd")]
StreamField = Annotated[
    str, _matching(r"^[A-Za-z_][A-Za-z0-9_]*\.[A-Za-z_][A-Za-z0-9_]*$", 'a text "stream.field"')
]
ServiceUse = Annotated[
    str, _matching(r"^[A-Za-z_][A-Za-z0-9_.\-]*\.(cpu|memory)$", 'a text "service.cpu" or "service.memory"')
]
LevelOf = Annotated[str, _matching(r"^[^=\s]+=.+$", 'a text "factor=level"')]
Levels = Annotated[list[str | Whole | float | bool], Limits(min_length=1)]


@dataclass(frozen=True, slots=True)
class Extent:
    """A width or a difference: in the metric's unit, or, where it is relative, in percent of what it is taken around."""

    value: float
    relative: bool

    @property
    def text(self) -> str | float:
        """Return the extent as written in the file."""
        return f"{Decimal(repr(self.value)):f}%" if self.relative else self.value


_EXTENT = re.compile(r"(\d+(?:\.\d*)?|\.\d+)\s*%")


PERCENTAGE = r"^\s*(\d+(\.\d*)?|\.\d+)\s*%\s*$"


def extent_of(value: object) -> Extent:
    """Read a percentage, or a number above 0; raise ValueError for anything else."""
    if isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value) and value > 0:
        return Extent(float(value), relative=False)
    if isinstance(value, str) and (found := _EXTENT.fullmatch(value.strip())) and float(found[1]) > 0:
        return Extent(float(found[1]), relative=True)
    raise ValueError('must be a percentage as "3%", or a number above 0 in the unit of the metric')


Width = Annotated[
    Extent,
    Written(Any, extent_of, lambda extent: extent.text),
    Limits(
        {
            "anyOf": [
                {"type": "number", "exclusiveMinimum": 0},
                {"type": "string", "pattern": PERCENTAGE},
            ],
            "title": 'a percentage as "3%", or a number above 0 in the unit of the metric',
        }
    ),
]

Measure = Literal["mean", "median", "min", "max"] | float
"""What turns the samples of a trial into its metric; a number is a percentile."""
REDUCTIONS = ("mean", "median", "min", "max")


def _measure(value: object) -> str | float:
    if isinstance(value, str) and value in REDUCTIONS:
        return value
    try:
        number = float(
            value[1:] if isinstance(value, str) and value[:1] in {"p", "P"} else cast("float", value)
        )
    except (TypeError, ValueError, OverflowError):
        number = -1.0
    if (
        isinstance(value, bool)
        or not 0 < number < 100
        or (isinstance(value, str) and not _is_percentile(value))
    ):
        raise ValueError('must be "mean", "median", "min", "max", or a percentile: 95 or "p95"')
    return number


def _is_percentile(text: str) -> bool:
    return text[:1] in {"p", "P"} and text[1:].replace(".", "", 1).isdecimal() and text.isascii()


MeasureValue = Annotated[
    Measure,
    Written(Any, _measure),
    Limits(
        {
            "anyOf": [
                {"enum": list(REDUCTIONS)},
                {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 100},
                {"type": "string", "pattern": r"^[pP]\d{1,2}(\.\d+)?$"},
            ],
            "title": 'a reduction "mean", "median", "min", "max", or a percentile as 95 or "p95"',
        }
    ),
]


def _regex(pattern: str) -> str:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            groups = re.compile(pattern).groups
    except (re.error, OverflowError, RecursionError) as error:
        raise WrongValueError(f"not a regular expression: {error}") from error
    if groups != 1:
        raise WrongValueError(
            f"must have exactly one group ( ) around the number; it has {groups}",
            "(?:…) groups without counting" if groups > 1 else r"as in time: ([0-9.]+) s",
        )
    return pattern


Regex = Annotated[str, Written(Text, _regex)]
"""A regular expression with one group."""


def several(item: Any, **limits: int) -> Written:  # noqa: ANN401 any annotation
    """Annotate a list of items, which is a tuple in the record."""
    return Written(Annotated[list[item], Limits(**limits)], tuple, list)


def without_doubles(item: Any, **limits: int) -> Written:  # noqa: ANN401 any annotation
    """Annotate a list without duplicates."""
    return Written(Annotated[list[item], Limits(**limits)], lambda items: tuple(dict.fromkeys(items)), list)


def _words(command: str | list[str]) -> tuple[str, ...]:
    """Split a command line as a shell would."""
    try:
        words = tuple(shlex.split(command) if isinstance(command, str) else command)
    except ValueError as error:
        reason = str(error)
        raise WrongValueError(
            f"cannot be split as a shell would: {reason[:1].lower()}{reason[1:]}"
        ) from error
    if not words or not words[0]:
        raise WrongValueError("names no program")
    return words


_LINE = Text | Annotated[list[str], Limits(min_length=1)]
Argv = Annotated[tuple[str, ...], Written(_LINE, _words, shlex.join)]
"""A command line as its words."""
