"""The values that may stand in an experiment file: how each is read, written, and said in words."""

from __future__ import annotations

import shlex
from typing import Annotated, Any

from trialwise.experiment.quantity import seconds
from trialwise.experiment.sections import Limits, Parsed, Written, WrongValueError

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
    float, Parsed(_duration, {"type": ["string", "number"], "minimum": 0, "title": _DURATION})
]
PositiveDuration = Annotated[
    float,
    Parsed(
        _positive_duration,
        {"type": ["string", "number"], "exclusiveMinimum": 0, "title": f"{_DURATION}, above 0"},
    ),
]
# Beyond these ends the sizes of experiments lose their meaning, and computing them exactly takes for ever.
Percent = Annotated[float, Limits(ge=0.0001, le=99.9999)]
Count = Annotated[int, Limits(ge=1, le=1_000_000)]
Whole = Annotated[int, Limits(ge=-(2**63), lt=2**63)]
Level = str | int | float | bool
"""One value of a factor."""
Text = Annotated[str, Limits(min_length=1)]
Levels = Annotated[list[str | Whole | float | bool], Limits(min_length=1)]


def several(item: Any, **limits: int) -> Written:  # noqa: ANN401 any annotation
    """A list of items, which is a tuple in the record."""
    return Written(Annotated[list[item], Limits(**limits)], tuple, list)


def without_doubles(item: Any, **limits: int) -> Written:  # noqa: ANN401 any annotation
    """A list of which each item counts once."""
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
