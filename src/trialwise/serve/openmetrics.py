"""The state of experiments as OpenMetrics 1.0.0, for Prometheus and Grafana."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from trialwise.analysis.interval_courses import IntervalCourse
from trialwise.serve.hub import Watched
from trialwise.visible import visible

CONTENT_TYPE = "application/openmetrics-text; version=1.0.0; charset=utf-8"
_MOST = 1000
"""Samples of one family, so that a scrape stays small."""


@dataclass(frozen=True, slots=True)
class _Family:
    """Samples of one metric: labels, and value."""

    name: str
    help: str
    samples: Sequence[tuple[Mapping[str, str], float]]


def openmetrics(experiments: Sequence[Watched]) -> str:
    """Write what was read last of experiments; the numbers are those of `status --json` and of the page's intervals."""
    read = [each for each in experiments if each.quick is not None]
    return (
        "".join(line for family in (*_progress(read), *_intervals(experiments)) for line in _lines(family))
        + "# EOF\n"
    )


def _progress(experiments: Sequence[Watched]) -> Iterator[_Family]:
    def family(name: str, help_: str, value: Mapping[str, float | None]) -> _Family:
        labels = {each.place.key: _labels(each) for each in experiments}
        return _Family(
            name, help_, [(labels[key], number) for key, number in value.items() if number is not None]
        )

    states = {each.place.key: each.quick.state for each in experiments if each.quick is not None}
    yield family(
        "trialwise_trials_planned", "Trials in the plan.", {key: s.planned for key, s in states.items()}
    )
    yield family(
        "trialwise_trials_done", "Trials that have ended.", {key: s.done for key, s in states.items()}
    )
    yield family(
        "trialwise_trials_failed",
        "Trials without a value for good.",
        {key: s.failed for key, s in states.items()},
    )
    yield family(
        "trialwise_run_active", "1 while a run is at work.", {key: s.is_active for key, s in states.items()}
    )
    left = {key: s.left if s.is_active and s.goes_on else None for key, s in states.items()}
    yield family(
        "trialwise_left_seconds", "Seconds that the rest of the plan takes at the pace so far.", left
    )
    attempts = [
        ({**_labels(each), "status": status}, float(count))
        for each in experiments
        if each.quick is not None
        for status, count in each.quick.state.counts.items()
    ]
    yield _Family("trialwise_attempts", "Attempts at trials by status.", attempts)


def _intervals(experiments: Sequence[Watched]) -> Iterator[_Family]:
    courses = [(each, course) for each in experiments for course in _latest(each)]
    for end in ("low", "high"):
        samples = [
            (
                {
                    **_labels(each),
                    "metric": course.metric,
                    "treatment": course.treatment,
                    "unit": course.unit,
                    "of": "mean" if course.percentile is None else f"p{course.percentile:g}",
                    "confidence": f"{course.confidence:g}",
                },
                value,
            )
            for each, course in courses
            if (value := getattr(course.points[-1], end)) is not None
        ]
        told = f"The {end} end of the interval of a treatment, two-sided, as a page computed it last."
        yield _Family(f"trialwise_interval_{end}", told, samples)


def _latest(each: Watched) -> list[IntervalCourse]:
    """Return the courses of the analysis, newer ones of the same metrics in their places."""
    newer = each.drawn.courses if each.drawn is not None else ()
    renewed = {course.metric for course in newer}
    known = each.slow.courses if each.slow is not None else ()
    return [*newer, *(course for course in known if course.metric not in renewed)]


def _labels(each: Watched) -> dict[str, str]:
    return {"experiment": each.place.title, "key": each.place.key}


def _lines(family: _Family) -> Iterator[str]:
    yield f"# TYPE {family.name} gauge\n# HELP {family.name} {family.help}\n"
    for labels, value in family.samples[:_MOST]:
        told = ",".join(f'{name}="{_escaped(text)}"' for name, text in labels.items())
        yield f"{family.name}{{{told}}} {_number(value)}\n"


def _escaped(text: str) -> str:
    """Escape a value of a label (OpenMetrics 1.0.0, ABNF `escaped-string`)."""
    return visible(text).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _number(value: float) -> str:
    if math.isfinite(value):
        return repr(float(value))
    return "NaN" if math.isnan(value) else "+Inf" if value > 0 else "-Inf"
