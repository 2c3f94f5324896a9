"""Keys of what is kept of the files that trials write."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from trialwise._core import parse_quantity
from trialwise.experiment.file.sections import ByShape, Limits, Written, WrongValueError
from trialwise.experiment.file.values import Text, several
from trialwise.experiment.quantity import size_text


def _kept(place: str) -> str:
    if place.startswith(("/", "~")) or ".." in place.split("/"):
        raise WrongValueError(f"{place!r} is not below the working directory")
    return place


HIGHEST_KEEP_LIMIT = 256 << 20
"""Maximum of `keep_limit`, bytes: archives of kept files are packed, sent and read in memory."""


def _checked_limit(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise ValueError('must be a size: "10MB", "1GiB", or a number of bytes')  # noqa: TRY004 pydantic reads ValueError
    size = round(parse_quantity(value, "size")) if isinstance(value, str) else value
    if not 1 <= size <= HIGHEST_KEEP_LIMIT:
        raise ValueError(f"must be from 1 byte to {size_text(HIGHEST_KEEP_LIMIT)}")
    return size


Kept = Annotated[
    tuple[str, ...] | Literal["failed"],
    ByShape(
        value=Literal["failed"],
        items=Annotated[tuple[str, ...], several(Annotated[str, Written(Text, _kept)], max_length=100)],
    ),
]
KeepLimit = Annotated[
    int,
    Written(Any, _checked_limit, size_text),
    Limits(
        {
            "type": ["string", "integer"],
            "title": 'a size such as "10MB", or a number of bytes, at most 256 MiB',
        }
    ),
]
