"""What `analyze` says of estimates in the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from trialwise.analysis.estimation.results import Estimation, MetricEstimate
from trialwise.report.comparison_text import aligned
from trialwise.report.estimation_tables import interval_words, other_words, titled
from trialwise.report.numbers import ABSENT, percent, write


def estimate_lines(found: Estimation, names: Mapping[str, str]) -> Iterator[str]:
    """A block for each metric: the estimand by name, then a line for each treatment, and why something is refused."""
    by_metric: dict[str, list[MetricEstimate]] = {}
    for one in found.estimates:
        by_metric.setdefault(one.metric, []).append(one)
    for members in by_metric.values():
        first = members[0].own
        convention = f", {first.convention.replace('_', ' ')}" if first.convention else ""
        yield f"  {titled(members[0])}: {first.what} ({percent(first.confidence)}{convention}; {first.method or 'refused'})"
        head = (
            "",
            "estimate",
            "trials",
            "samples",
            "design effect",
            "the other estimand",
            "with control variates",
        )
        rows = [_cells(one, names) for one in members]
        yield from aligned([head, *rows], {2, 3, 4}, indent=4)
        for note in dict.fromkeys(note for one in members for note in _notes(one)):
            yield f"    {note}"


def _cells(one: MetricEstimate, names: Mapping[str, str]) -> tuple[str, ...]:
    own = one.own
    return (
        names.get(one.treatment, one.treatment),
        ABSENT if own.estimate is None else interval_words(own),
        str(own.trials),
        str(own.samples),
        write(own.design_effect),
        other_words(one.other),
        _controlled(one),
    )


def _controlled(one: MetricEstimate) -> str:
    if one.controlled is None:
        return ABSENT
    result = one.controlled.result
    if not result.usable:
        return f"from {result.needed} trials on"
    side = result.controlled
    bounds = f"{write(side.estimate)} ({write(side.low, 'down')} to {write(side.high, 'up')})"
    return f"{bounds}, gain {write(result.gain)}"


def _notes(one: MetricEstimate) -> Iterator[str]:
    for name, note in (("", one.own.note), ("the other estimand: ", one.other.note if one.other else "")):
        if note:
            yield f"{name}{note}"
    if one.controls_note:
        yield one.controls_note
