"""What `runtime` says of simulated trials in the terminal: phases, estimates by duration, biases, the duration needed."""

from __future__ import annotations

from collections.abc import Iterator

from trialwise import statistics as st
from trialwise.analysis.estimation.results import DurationAdvice, DurationStep, Estimate
from trialwise.analysis.estimation.transients import change_text, growth_words
from trialwise.analysis.runtime_results import RuntimeAdvice
from trialwise.experiment.quantity import duration_text
from trialwise.report.estimation_points import made_of, stable_value
from trialwise.report.estimation_tables import interval_words
from trialwise.report.numbers import ABSENT, about, percent, write
from trialwise.report.terminal_table import Line, aligned
from trialwise.report.units import Scale, scale

_COLUMNS = ("duration", "made of", "trials", "flows", "per trial", "pooled", "few flows", "transient")
_RIGHT = (0, 2, 3)
_LEGEND = (
    "per trial: mean of each trial's own value; pooled: of all flows; few flows: the first over the second, a bias of few flows; "
    "transient: the second over that of the stable phase, of trials put together as warm-up and cool-down weigh at their duration"
)


def simulation_runtime_lines(advice: RuntimeAdvice, *, tables: bool = True) -> Iterator[Line]:
    """The duration: what to write into the experiment file, what decided, then each metric and treatment.

    Without `tables` where figures show the same.
    """
    yield f"Duration of a simulated trial: {advice.file}"
    yield f"  {advice.reason}"
    if advice.runtime_line is None:
        yield "  no duration can be given"
    else:
        yield "  in the experiment file:"
        yield ""
        yield "  [trial]"
        yield f"  {advice.runtime_line}"
    for found in advice.durations:
        yield ""
        yield from _metric(found, tables=tables)
    yield ""
    for reason in advice.skipped:
        yield f"not judged: {reason}"
    yield from advice.notes
    if tables:
        yield _LEGEND
    yield f"{percent(advice.durations[0].confidence)}: {advice.how}"


def _metric(found: DurationAdvice, *, tables: bool) -> Iterator[Line]:
    yield (
        f"{found.subject}: {found.what}; {found.trials} trials of {duration_text(found.duration)}, "
        f"tolerance {percent(found.tolerance)}"
    )
    yield f"  phases: {_phases(found)}"
    ends = [end for step in found.steps for each in (step.per_trial, step.pooled) for end in _ends(each)]
    shown = scale(ends, found.unit)
    if tables:
        header = [name + (shown.heading if name in ("per trial", "pooled") else "") for name in _COLUMNS]
        yield aligned([header, *(_cells(step, found.duration, shown) for step in found.steps)], _RIGHT)
    for sentence in found.sentences:
        yield f"  {sentence}"
    if (stable := stable_value(found)) is not None:
        yield f"  the flows of the stable phase alone: {shown.with_unit(stable)}"
    yield f"  advice: {found.reason}"


def _phases(found: DurationAdvice) -> str:
    if found.warmup_end is None:
        return f"no stable phase: {growth_words(found.growth)}"
    parts = [f"warm-up to {duration_text(found.warmup_end)} ({_share(found.warmup_share)} of flows)"]
    if found.cooldown is not None:
        parts.append(
            f"stable to {duration_text(found.duration - found.cooldown)} ({_share(found.stable_share)})"
        )
        parts.append(f"cool-down of {duration_text(found.cooldown)} ({_share(found.cooldown_share)})")
    parts.append(f"the last flow ends {duration_text(found.drain)} after no more begin")
    return f"{', '.join(parts)}; {growth_words(found.growth)}"


def _share(share: float | None) -> str:
    return ABSENT if share is None else f"{write(100 * share, digits=2)} %"


def _cells(step: DurationStep, whole: float, shown: Scale) -> list[str]:
    return [
        duration_text(step.duration),
        made_of(step, whole),
        str(step.trials),
        about(step.flows_per_trial),
        *(ABSENT if each is None else interval_words(each, shown) for each in (step.per_trial, step.pooled)),
        _bias(step.small_sample),
        ABSENT if step.transient is None else change_text(step.transient),
    ]


def _ends(found: Estimate | None) -> tuple[float | None, ...]:
    return () if found is None else (found.estimate, found.low, found.high)


def _bias(found: st.Ratio | None) -> str:
    return (
        ABSENT
        if found is None
        else f"{change_text(found.estimate)} ({change_text(found.low)} to {change_text(found.high)})"
    )
