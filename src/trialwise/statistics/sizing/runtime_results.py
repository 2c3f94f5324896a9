"""What is known of how long a trial must be: frozen records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from trialwise.statistics.estimates.measures import Measure
from trialwise.statistics.tests.drift import DriftTest, Verdict

if TYPE_CHECKING:
    from trialwise.statistics.checks import Array


@dataclass(frozen=True, slots=True)
class PrefixCurve:
    """The metric of the first part of a trial against how long that part is (TriScale, Fig. 4).

    Attributes
    ----------
    times
        Length of each prefix, from the start of the trial.
    values
        Metric of all samples of the prefix.
    verdicts
        Of the drift test on all samples of the prefix.
    values_after_startup
        Metric of the prefix without the start-up; NaN while the prefix holds fewer than 20 samples after it.
    verdicts_after_startup
        Of the drift test on these; "inconclusive" where there are too few.
    """

    times: Array
    values: Array
    verdicts: tuple[Verdict, ...]
    values_after_startup: Array
    verdicts_after_startup: tuple[Verdict, ...]


@dataclass(frozen=True, slots=True)
class RuntimeNeeded:
    """How long a trial must be, start-up included.

    All lengths are in seconds, or in samples where no times were given.

    Attributes
    ----------
    runtime
        Length of a trial whose metric is steady, start-up included. None where the pilot cannot tell;
        `reason` says why.
    startup
        What to cut from the start of each trial.
    steady
        Whether the pilot itself is steady after the start-up.
    reason
        What decided the runtime, or why there is none and what would lift that.
    predicted
        Start-up and the length at which the drift test passes with the stated power. None for extremes,
        whose variance does not shrink with length, and without a runtime.
    observed
        The shortest prefix from which on the pilot without its start-up is steady; None if it is not at
        its end.
    oscillation
        Longest period that makes up at least a twentieth of the variance after the start-up.
    curve
        The metric and the verdict against the length.
    drift
        The test on the pilot after the start-up.
    variation
        Long-run coefficient of variation of one sample, √(variance of the mean · samples)/metric.
    duration
        Of the pilot.
    n
        Samples of the pilot.
    measure, tolerance, confidence, power
        As asked for; the last three in percent.
    method
        What was done.
    """

    runtime: float | None
    startup: float
    steady: bool
    reason: str
    predicted: float | None
    observed: float | None
    oscillation: float | None
    curve: PrefixCurve
    drift: DriftTest
    variation: float
    duration: float
    n: int
    measure: Measure
    tolerance: float
    confidence: float
    power: float
    method: Literal["drift equivalence, MSER-5"]


@dataclass(frozen=True, slots=True)
class RuntimeCombined:
    """What several pilots ask for together.

    Attributes
    ----------
    runtime
        The longest start-up plus the longest need after the start-up; None if a pilot gives none.
    startup
        The longest.
    steady
        Whether every pilot is steady after its start-up.
    reason
        Which pilot (counted from 1) decides, or which give no runtime and why.
    pilots
        How many.
    """

    runtime: float | None
    startup: float
    steady: bool
    reason: str
    pilots: int
