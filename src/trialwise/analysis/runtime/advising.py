"""The required length of a trial, from long pilot trials in a table or in an experiment directory."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from trialwise import statistics as st
from trialwise.analysis.runtime.pilots import Pilot
from trialwise.analysis.runtime.results import Growth, PilotNeed, RuntimeAdvice
from trialwise.errors import AnalysisError, StatisticsError
from trialwise.experiment.quantity import duration_text

Watcher = Callable[[int, int], None]
"""Called after each pilot with the number done and the total."""

POWER = 80.0
_HOW = (
    "equivalence test of the drift of 20 batches; start-up by MSER-5; oscillations by a Lomb-Scargle search"
)


_FAR = 10
"""Multiple of the longest pilot beyond which a length is not reported."""


def runtime_advice(
    file: str, pilots: list[Pilot], *, notes: tuple[str, ...] = (), watch: Watcher | None = None
) -> RuntimeAdvice:
    """Find the runtime and the start-up that suit all pilots; the longest requirement wins.

    Raises
    ------
    AnalysisError
        No pilot can be judged, or an option is out of range.
    """
    needs: list[tuple[Pilot, st.RuntimeNeeded]] = []
    skipped: list[str] = []
    for place, pilot in enumerate(pilots, start=1):
        try:
            needs.append((pilot, _needed(pilot)))
        except StatisticsError as error:
            skipped.append(f"{pilot.label}: {error}")
        if watch is not None:
            watch(place, len(pilots))
    if not needs:
        raise AnalysisError(f"{file}: {'; '.join(skipped)}", hint="make a longer pilot trial")
    return _advice(file, needs, tuple(skipped), notes)


def _needed(pilot: Pilot) -> st.RuntimeNeeded:
    return st.runtime_needed(
        pilot.values,
        times=pilot.times,
        measure=pilot.measure,
        tolerance=pilot.tolerance,
        confidence=pilot.confidence,
        power=POWER,
    )


def _advice(
    file: str,
    needs: list[tuple[Pilot, st.RuntimeNeeded]],
    skipped: tuple[str, ...],
    notes: tuple[str, ...],
) -> RuntimeAdvice:
    together = st.combine_pilots([need for _, need in needs])
    timed = all(pilot.times is not None for pilot, _ in needs)
    runtime, decided_by, reason = together.runtime, None, _why_none(needs)
    if runtime is not None:
        lengths = [(need.runtime or 0.0) - need.startup for _, need in needs]
        decided_by = int(np.argmax(lengths))
        pilot, decisive = needs[decided_by]
        reason = decisive.reason if len(needs) == 1 else f"{pilot.label} needs most: {decisive.reason}"
        beyond = _beyond(runtime, max(need.duration for _, need in needs), timed=timed)
        if beyond is not None:
            runtime, decided_by, reason = None, None, f"{reason}; {beyond}"
    return RuntimeAdvice(
        format="trialwise.runtime/1",
        file=file,
        unit="s" if timed else "samples",
        runtime=runtime if timed or runtime is None else float(math.ceil(runtime - 1e-9)),
        startup=together.startup,
        steady=together.steady,
        runtime_line=f'runtime = "{rounded_up(runtime)}"' if timed and runtime is not None else None,
        warmup_line=f'warmup = "{rounded_up(together.startup)}"' if timed and together.startup else None,
        decided_by=decided_by,
        reason=reason,
        how=_HOW,
        pilots=tuple(_pilot_need(pilot, need) for pilot, need in needs),
        skipped=skipped,
        notes=notes,
    )


def _beyond(runtime: float, record: float, *, timed: bool) -> str | None:
    """Say why a runtime longer than every pilot is not advised: unseen lengths are not known to be steady."""
    if runtime <= record * (1 + 1e-9):
        return None

    def length(value: float) -> str:
        return rounded_up(value) if timed else f"{math.ceil(value - 1e-9)} samples"

    if runtime > _FAR * record:
        return f"that is more than {_FAR} times the longest pilot ({length(record)}): make a pilot {_FAR} times as long"
    return f"that takes about {length(runtime)}, longer than any pilot ({length(record)}): make a pilot of that length"


def _why_none(needs: list[tuple[Pilot, st.RuntimeNeeded]]) -> str:
    missing = [(pilot, need) for pilot, need in needs if need.runtime is None]
    if len(needs) == 1:
        return needs[0][1].reason
    return "; ".join(f"{pilot.label}: {need.reason}" for pilot, need in missing)


def rounded_up(seconds: float) -> str:
    """Write a duration as in experiment files, rounded up: to three digits below a minute, then to the next unit."""
    if seconds <= 0:
        return "0s"
    for below, step in (
        (60.0, 10.0 ** (math.floor(math.log10(seconds)) - 2)),
        (3600.0, 1.0),
        (86_400.0, 60.0),
    ):
        if seconds < below:
            return duration_text(math.ceil(seconds / step - 1e-9) * step)
    return duration_text(math.ceil(seconds / 3600.0 - 1e-9) * 3600.0)


def _pilot_need(pilot: Pilot, need: st.RuntimeNeeded) -> PilotNeed:
    curve, drift = need.curve, need.drift
    return PilotNeed(
        metric=pilot.metric,
        unit=pilot.unit,
        treatment=pilot.treatment,
        trial=pilot.trial,
        measure=need.measure,
        runtime=need.runtime,
        startup=need.startup,
        steady=need.steady,
        reason=need.reason,
        predicted=need.predicted,
        observed=need.observed,
        oscillation=need.oscillation,
        verdict=drift.verdict,
        drift=drift.drift,
        drift_low=_finite(drift.low),
        drift_high=_finite(drift.high),
        variation=need.variation,
        duration=need.duration,
        n=need.n,
        tolerance=need.tolerance,
        confidence=need.confidence,
        power=need.power,
        growth=Growth(
            lengths=tuple(curve.times.tolist()),
            values=tuple(curve.values.tolist()),
            verdicts=curve.verdicts,
            values_after_startup=tuple(map(_finite, curve.values_after_startup.tolist())),
            verdicts_after_startup=curve.verdicts_after_startup,
        ),
    )


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
