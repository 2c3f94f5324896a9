"""The versioned document that `doctor --json` prints; its schema is in `schemas/`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from trialwise.measurement.disturbances import Disturbance
from trialwise.measurement.environment import Environment


@dataclass(frozen=True, slots=True)
class PathCeilingDocument:
    """What this machine's emulator can do: rates in bit/s of payload, delays in seconds.

    `rate` is the highest link rate tried at which one TCP connection over 28 ms each way filled 88 % of the link while
    the emulator kept up, None if even the lowest failed; `limit` says why the next one was not reached.
    """

    rate: int | None
    goodput: int
    limit: str | None
    unrestricted: int
    packets_per_second: float
    delay_error_median: float
    delay_error_p99: float
    realtime: bool
    device: str
    format: Literal["trialwise.path-ceiling/1"] = "trialwise.path-ceiling/1"


@dataclass(frozen=True, slots=True)
class OptionalPart:
    """A part that only some users need.

    Parameters
    ----------
    name
        Its name.
    why
        What it is needed for.
    version
        Its version; None if it is not installed.
    found
        Where it is, or why it cannot be used.
    change
        How to get it; None if it is installed.
    """

    name: str
    why: str
    version: str | None
    found: str
    change: str | None


@dataclass(frozen=True, slots=True)
class DoctorDocument:
    """The machine, what on it disturbs measurements, and which optional parts are installed."""

    environment: Environment
    disturbances: tuple[Disturbance, ...]
    optional: tuple[OptionalPart, ...]
    format: Literal["trialwise.doctor/1"] = "trialwise.doctor/1"
