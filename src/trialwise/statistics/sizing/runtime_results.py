"""Frozen records of the required runtime of a trial."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from trialwise.statistics.estimates.measures import Measure
from trialwise.statistics.tests.drift import DriftTest, Verdict

if TYPE_CHECKING:
    from trialwise.statistics.checks import Array


@dataclass(frozen=True, slots=True)
class PrefixCurve:
    """The metric of a trial's prefix as a function of the prefix's length (TriScale, Fig. 4).

    Attributes
    ----------
    times
        Length of each prefix, from the start of the trial.
    values
        Metric of all samples of the prefix.
    verdicts
        Of the drift test on all samples of the prefix.
    values_after_startup
        Metric of the prefix without the start-up; NaN while the prefix has fewer than 20 samples after it.
    verdicts_after_startup
        Of the drift test on these; "inconclusive" if there are too few.
    """

    times: Array
    values: Array
    verdicts: tuple[Verdict, ...]
    values_after_startup: Array
    verdicts_after_startup: tuple[Verdict, ...]


@dataclass(frozen=True, slots=True)
class RuntimeNeeded:
    """The required length of a trial, start-up included.

    All lengths are in seconds, or in samples if no times were given.

    Attributes
    ----------
    runtime
        Length of a trial with a steady metric, start-up included. None if the pilot cannot tell; `reason` says why.
    startup
        Length to discard from the start of each trial.
    steady
        Whether the pilot itself is steady after the start-up.
    reason
        What decided the runtime, or why there is none and the remedy.
    predicted
        Start-up plus the length at which the drift test passes with the stated power. None for extremes, whose variance does not
        shrink with length, and without a runtime.
    observed
        The shortest prefix from which on the pilot without its start-up is steady; None if it is not steady at its end.
    oscillation
        Longest period that explains at least a twentieth of the variance after the start-up.
    curve
        Metric and verdict as functions of the length.
    drift
        The test on the pilot after the start-up.
    variation
        Long-run coefficient of variation of one sample, √(variance of the mean · samples)/metric.
    duration
        Length of the pilot.
    n
        Number of samples of the pilot.
    measure, tolerance, confidence, power
        As requested; the last three in percent.
    method
        The method used.
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
    """The joint requirement of several pilots.

    Attributes
    ----------
    runtime
        The longest start-up plus the longest length needed after the start-up; None if a pilot yields none.
    startup
        The longest one.
    steady
        Whether every pilot is steady after its start-up.
    reason
        Which pilot (counted from 1) decides, or which give no runtime and why.
    pilots
        Number of pilots.
    """

    runtime: float | None
    startup: float
    steady: bool
    reason: str
    pilots: int
