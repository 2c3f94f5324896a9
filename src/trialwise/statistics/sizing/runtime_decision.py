"""The runtime that a pilot requires, with its reason in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from trialwise.numbers import about, write
from trialwise.statistics.tests.drift import DriftTest

if TYPE_CHECKING:
    from trialwise.statistics.checks import Array

CYCLES = 10


@dataclass(frozen=True, slots=True)
class PilotSamples:
    """Samples in order, and the time per sample."""

    samples: Array
    interval: float
    unit: str

    def length(self, samples: float) -> float:
        """Return the length of `samples` samples, in `unit`."""
        return samples * self.interval

    def written(self, samples: float) -> str:
        """Return this length in words."""
        number = write(self.length(samples)) if self.unit == "s" else str(int(np.ceil(samples)))
        return f"{number} {self.unit}"


@dataclass(frozen=True, slots=True)
class Evidence:
    """Input to the decision on a runtime; lengths in samples after the start-up."""

    pilot: PilotSamples
    startup: int | None
    test: DriftTest
    needed: float | None
    cycle: float | None
    seen: float | None
    least: int

    @property
    def rest(self) -> int:
        """Number of samples after the start-up."""
        return self.pilot.samples.size - (self.startup or 0)

    @property
    def whole(self) -> str:
        """Length of the pilot, in words."""
        return self.pilot.written(self.pilot.samples.size)

    @property
    def drift(self) -> str:
        """Drift of the pilot after its start-up, in words."""
        return f"{about(100 * self.test.drift)} % over {self.pilot.written(self.rest)}"

    def total(self, samples: float) -> str:
        """Return the length of `samples` samples plus the start-up, in words."""
        return self.pilot.written((self.startup or 0) + samples)


def decide(evidence: Evidence) -> tuple[float | None, str]:
    """Return the number of samples needed after the start-up, and the reason."""
    cycles = CYCLES * (evidence.cycle or 0.0)
    if cycles > evidence.rest:
        return cycles, _too_slow(evidence, cycles)
    if evidence.test.verdict == "drifting":
        return None, f"still drifting at the end ({evidence.drift}): run longer than {evidence.whole}"
    if evidence.startup is None and evidence.test.verdict != "steady":
        return None, f"the start-up may last longer than half of the pilot: run longer than {evidence.whole}"
    if evidence.needed is None:
        return _decide_extreme(evidence, cycles)
    if evidence.test.verdict == "inconclusive":
        return _decide_open(evidence, max(evidence.needed, cycles))
    return _decide_steady(evidence, evidence.needed, cycles)


def _too_slow(evidence: Evidence, cycles: float) -> str:
    period = evidence.cycle or 0.0
    return (
        f"oscillates with a period of {evidence.pilot.written(period)}: at least ten periods are needed "
        f"and the pilot holds {write(evidence.rest / period, digits=2)}; confirm with a pilot of {evidence.total(cycles)}"
    )


def _decide_extreme(evidence: Evidence, cycles: float) -> tuple[float | None, str]:
    """Decide for extremes, which grow with length instead of settling like 1/√n: only what the pilot showed counts."""
    if evidence.seen is None:
        return None, f"{_undecided(evidence)}, or measure a percentile, which settles"
    length = max(evidence.seen, cycles)
    return length, f"steady in the pilot from {evidence.total(length)} on; extremes allow no prediction"


def _decide_open(evidence: Evidence, length: float) -> tuple[float | None, str]:
    if length <= evidence.rest:
        return None, _undecided(evidence)
    return length, (
        f"too noisy to tell a drift of {evidence.drift} from the tolerance: a trial of "
        f"{evidence.total(length)} would; confirm with a pilot of that length"
    )


def _undecided(evidence: Evidence) -> str:
    return (
        f"a drift of {evidence.drift} can be told neither from 0 nor from the tolerance: "
        f"run longer than {evidence.whole}"
    )


def _decide_steady(evidence: Evidence, needed: float, cycles: float) -> tuple[float, str]:
    # The prediction covers noise only; how soon an oscillation averages out is read from the pilot.
    averaged = max(cycles, evidence.seen or 0.0)
    if evidence.cycle and averaged >= needed:
        period = evidence.pilot.written(evidence.cycle)
        return averaged, f"{about(averaged / evidence.cycle)} periods of the oscillation of {period}"
    if needed == evidence.least:
        return needed, f"so quiet that the fewest samples for 20 batches are enough ({evidence.least})"
    spare = (
        "" if needed <= evidence.rest else "; that is longer than the pilot: confirm with one of that length"
    )
    return needed, f"a trial of {evidence.total(needed)} passes the drift test with the stated power{spare}"
