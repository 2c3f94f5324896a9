"""What an end reports of a trial."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from trialwise.errors import TrialError
from trialwise.execution.workers.connection import Reply
from trialwise.visible import visible

PROBE = np.dtype([("number", "<u8"), ("came", "<i8"), ("ttl", "u1"), ("phase", "u1")])
"""A probe that came, as `agent.path_end` writes it."""
OF_A_TUNNEL = "strangers", "too_large"
"""Counts of datagrams that are not of the other end, and of packets that did not go because the path carries none so large."""
_MOST_TEXT = 2000
_MOST_PARTS = 10_000
_MOST_NUMBER = 2**62
_MOST = 1 << 31
"""Bytes of all parts when they are unpacked: an end that sends more is not believed."""


@dataclass(frozen=True, slots=True)
class EndRecord:
    """The record of one end: how far it came, the probes that came, the file of its packets, and what its programs left, by name."""

    head: Mapping[str, Any]
    probes: npt.NDArray[np.void]
    sightings: bytes
    files: Mapping[str, bytes]

    @property
    def problem(self) -> str | None:
        """What went wrong at this end."""
        return _text(self.head.get("problem"))

    @property
    def hint(self) -> str | None:
        """What to try against it, as this end says."""
        return _text(self.head.get("hint"))


def _text(told: object) -> str | None:
    """Return a text of an end, harmless to show and short."""
    return None if told is None else visible(str(told)[:_MOST_TEXT])


def record_of(reply: Reply, end: str) -> EndRecord:
    """Read the record of an end from its answer.

    Raises
    ------
    TrialError
        The answer holds none, or a damaged one.
    """
    head = reply.head
    if head.get("state") == "lost":
        raise TrialError(f"{end}: the machine was restarted, or the process that ran this end was killed")
    if "unkept" in head:
        raise TrialError(f"{end}: its record could not be kept there: {_text(head['unkept'])}")
    try:
        parts = _unpacked(head["parts"], reply.body)
        probes = np.frombuffer(parts.pop("probes"), PROBE)
        sightings = parts.pop("sightings")
        _check_head(head)
    except (AttributeError, KeyError, TypeError, ValueError, zlib.error) as error:
        raise TrialError(f"{end}: its record is damaged: {_text(error)}") from error
    return EndRecord(_checked(head), probes, sightings, parts)


def _check_head(head: Mapping[str, Any]) -> None:
    """Raise ValueError, TypeError or KeyError if the head lacks what every end tells, or tells what no end can."""
    numbers = {name: head[name] for name in ("began", "monotonic", "realtime", "passes")}
    numbers["ended"], numbers["ended too"] = head["ended"]
    if head["problem"] is None:
        numbers |= {name: head["capture"][name] for name in ("seen", "dropped", "steps")}
        numbers |= {name: head["capture"].get(name, 0) for name in OF_A_TUNNEL}
    for name, value in numbers.items():
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not is_number or not 0 <= value <= _MOST_NUMBER:  # NaN is in no range
            raise ValueError(f"{name} is {str(value)[:80]}")
    if not isinstance(head["peers"], list):
        raise TypeError("peers is no list")


def _checked(head: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the head with a text of the capture that is harmless to show."""
    told = head["capture"]
    return {**head, "capture": {**told, "problem": _text(told.get("problem"))}} if told else head


def _unpacked(sizes: list[list[Any]], body: bytes) -> dict[str, bytes]:
    """Unpack the parts of a record, which may come to `_MOST` bytes together."""
    found: dict[str, bytes] = {}
    place, left = 0, _MOST
    if len(sizes) > _MOST_PARTS:
        raise ValueError(f"{len(sizes)} parts")
    for name, size in sizes:
        if type(size) is not int or not 0 <= size <= len(body) - place:
            raise ValueError(f"{name} has {size} bytes, of {len(body) - place} that are there")
        reader = zlib.decompressobj()
        content = reader.decompress(body[place : place + size], left)
        if not reader.eof:
            raise ValueError(f"{name} is cut short, or all parts are larger than {_MOST} bytes")
        found[str(name)] = content
        left = max(left - len(content), 1)
        place += size
    return found
