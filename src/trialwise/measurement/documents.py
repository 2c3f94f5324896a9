"""What `doctor` prints with --json: a versioned document, whose schema stands in `schemas/`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from trialwise.measurement.disturbances import Disturbance
from trialwise.measurement.environment import Environment


@dataclass(frozen=True, slots=True)
class DoctorDocument:
    """The machine, and what on it disturbs measurements."""

    environment: Environment
    disturbances: tuple[Disturbance, ...]
    format: Literal["trialwise.doctor/1"] = "trialwise.doctor/1"
