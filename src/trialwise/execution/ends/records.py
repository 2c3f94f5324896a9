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
_MOST_TEXT = 2000
_MOST = 1 << 31
"""Bytes of one part when it is unpacked: an end that sends more is not believed."""


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
        raise TrialError(f"{end}: its record could not be kept there: {head['unkept']}")
    try:
        parts = _unpacked(head["parts"], reply.body)
        probes = np.frombuffer(parts.pop("probes"), PROBE)
        sightings = parts.pop("sightings")
        _check_head(head)
    except (KeyError, TypeError, ValueError, zlib.error) as error:
        raise TrialError(f"{end}: its record is damaged: {error}") from error
    return EndRecord(head, probes, sightings, parts)


def _check_head(head: Mapping[str, Any]) -> None:
    """Raise ValueError or KeyError if the head lacks what every end tells."""
    numbers = [head["began"], head["monotonic"], head["realtime"], head["passes"]]
    if head["problem"] is None:
        numbers += [head["capture"][name] for name in ("seen", "dropped", "steps")]
    if not all(isinstance(each, int | float) for each in numbers) or not isinstance(head["peers"], list):
        raise ValueError("a number or a list is missing")


def _unpacked(sizes: list[list[Any]], body: bytes) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    place = 0
    for name, size in sizes:
        reader = zlib.decompressobj()
        found[str(name)] = reader.decompress(body[place : place + int(size)], _MOST)
        if not reader.eof:
            raise ValueError(f"{name} is cut short, or larger than {_MOST} bytes")
        place += int(size)
    return found
