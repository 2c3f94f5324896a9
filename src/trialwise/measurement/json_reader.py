"""Read numbers from JSON and JSON lines, by JSON pointers (RFC 6901)."""

from __future__ import annotations

import json
import math
import re
from typing import TYPE_CHECKING, cast

import numpy as np

from trialwise.errors import PlanError, TrialError
from trialwise.measurement.numbers import finite, nearest, quote
from trialwise.measurement.samples import Samples
from trialwise.numbers import counted

if TYPE_CHECKING:
    from trialwise.measurement.reported import Reported

INDEX = re.compile(r"0|[1-9][0-9]*", re.ASCII)
# parse_int: Python refuses integers of more than 4300 digits, and we need only a float64.
DECODER = json.JSONDecoder(parse_int=float)


def parse_pointer(pointer: str) -> tuple[str, ...]:
    """Split a JSON pointer into its names (RFC 6901, sections 3 and 4).

    Raises
    ------
    PlanError
        The pointer is not empty and does not start with ``/``, or contains a ``~`` not followed by ``0`` or ``1``.
    """
    if pointer and not pointer.startswith("/"):
        raise PlanError(f"{pointer!r} is not a JSON pointer", hint=f"a pointer starts with '/': '/{pointer}'")
    if re.search(r"~(?![01])", pointer):
        raise PlanError(
            f"{pointer!r} is not a JSON pointer", hint="write '~' as '~0' and '/' in a name as '~1'"
        )
    return tuple(name.replace("~1", "/").replace("~0", "~") for name in pointer.split("/")[1:])


def read_json(reported: Reported, pointer: str, *, time: str | None = None) -> Samples:
    """Read a number, an array of numbers, or one number from each line of JSON lines.

    Parameters
    ----------
    reported
        JSON (RFC 8259) in UTF-8, or one JSON value per line.
    pointer
        Where the number or the array is (RFC 6901); ``""`` is the whole value.
    time
        Where the time in seconds is: a pointer, or the plain name of a member of the outermost object.

    Raises
    ------
    PlanError
        A pointer is invalid.
    TrialError
        The input is empty, not text, not JSON or truncated; the pointer leads nowhere or not to a finite number (booleans,
        nulls and texts are not numbers); or there are more values than times, or fewer.
    """
    names = parse_pointer(pointer)
    time_names = None if time is None else _time_names(time)
    text = reported.text()
    try:
        documents = [(reported.where, _parse(text))]
        read = _read_document
    except RecursionError as error:
        raise TrialError(
            f"{reported.where} is nested too deeply", hint="have the program write flat JSON"
        ) from error
    except json.JSONDecodeError as error:
        documents = _parse_lines(reported, text, error)
        read = _read_lines
    values = read(documents, names)
    if time_names is None:
        return Samples(np.array(values))
    times = read(documents, time_names)
    if len(times) != len(values):
        raise TrialError(
            f"{reported.where} has {counted(len(values), 'value')} at {pointer!r} and {counted(len(times), 'time')} at {time!r}",
            hint="point to arrays of one length",
        )
    return Samples(np.array(values), np.array(times))


def _time_names(time: str) -> tuple[str, ...]:
    return parse_pointer(time) if time.startswith("/") else (time,)


def _parse(text: str) -> object:
    return DECODER.decode(text)


def _parse_lines(reported: Reported, text: str, whole: json.JSONDecodeError) -> list[tuple[str, object]]:
    lines = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    documents: list[tuple[str, object]] = []
    for number, line in lines:
        try:
            documents.append((f"{reported.where}, line {number}", _parse(line)))
        except json.JSONDecodeError as error:
            raise _not_json(
                reported, text, error if documents else whole, number if documents else whole.lineno
            ) from error
    return documents


def _not_json(reported: Reported, text: str, error: json.JSONDecodeError, line: int) -> TrialError:
    cut = not error.doc[error.pos :].strip() or error.msg.startswith("Unterminated")
    found = quote(text.split("\n")[line - 1].strip())
    return TrialError(
        f"{reported.where} is {'cut off' if cut else 'not JSON'}: {error.msg},"
        f" line {line} column {error.colno}, in {found}",
        hint="check that the program ended by itself and prints nothing but JSON there",
    )


def _read_document(documents: list[tuple[str, object]], names: tuple[str, ...]) -> list[float]:
    [(where, document)] = documents
    found = _find(document, names, where)
    items = _members(found)
    if not isinstance(items, list):
        return [_number(found, where, names)]
    if not items:
        raise TrialError(
            f"{_place(where, names)} is an empty array",
            hint="a trial without samples has failed: check the program",
        )
    return [_number(item, where, names, index) for index, item in enumerate(items)]


def _read_lines(documents: list[tuple[str, object]], names: tuple[str, ...]) -> list[float]:
    return [_number(_find(document, names, where), where, names) for where, document in documents]


def _place(where: str, names: tuple[str, ...]) -> str:
    return where + "".join(f"/{name}" for name in names).join((" at '", "'")) if names else where


def _find(document: object, names: tuple[str, ...], where: str) -> object:
    found = document
    for depth, name in enumerate(names):
        members = _members(found)
        if isinstance(members, dict) and name in members:
            found = members[name]
        elif isinstance(members, list) and INDEX.fullmatch(name) and int(name) < len(members):
            found = members[int(name)]
        else:
            raise _nothing_at(found, names[: depth + 1], where)
    return found


def _members(found: object) -> dict[str, object] | list[object] | None:
    return cast("dict[str, object] | list[object]", found) if isinstance(found, dict | list) else None


def _nothing_at(found: object, names: tuple[str, ...], where: str) -> TrialError:
    members = _members(found)
    if isinstance(members, dict):
        hint = nearest(names[-1], members)
    elif isinstance(members, list):
        hint = f"there is an array of {len(members)} there: use an index from 0"
    else:
        hint = f"there is {_kind(found)} there, which holds nothing"
    return TrialError(f"{where} has nothing at '/{'/'.join(names)}'", hint=hint)


def _number(found: object, where: str, names: tuple[str, ...], index: int | None = None) -> float:
    if isinstance(found, float) and math.isfinite(found):
        return found
    place = _place(where, names) if index is None else f"{_place(where, names)}, item {index},"
    if isinstance(found, float):
        return finite(found, str(found), place)
    raise TrialError(
        f"{place} holds {_kind(found)}, which is not a number",
        hint="point to a number, or to an array of nothing but numbers",
    )


def _kind(found: object) -> str:
    if found is None or isinstance(found, bool):
        return json.dumps(found)
    if isinstance(found, str):
        return f"the text {quote(found)}"
    if isinstance(found, dict):
        return "an object"
    return "an array" if isinstance(found, list) else "a number"
