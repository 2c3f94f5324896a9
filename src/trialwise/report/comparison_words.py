"""The wording of a comparison, shared by the terminal, Markdown, LaTeX and test reports."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import isfinite

from trialwise import statistics as st
from trialwise.analysis.comparison.results import Comparison, ComparisonRow, GeometricMean
from trialwise.analysis.environments import EnvironmentDifference
from trialwise.analysis.influences import FIRST
from trialwise.analysis.unit_words import plural, sides_text, units_text
from trialwise.experiment.quantity import duration_text
from trialwise.report.numbers import ABSENT, about, counted, interval, p_value, percent, signed, write
from trialwise.report.units import Scale, scale

_COUNTED = {"no inference": "without inference"}
CHANCE = "for a 90 % chance to decide"


DESCRIPTIVE = "(these trials alone)"
"""Follows a number that says nothing about other trials."""
_OF_TIMES = {"better": "faster", "worse": "slower"}
_MAX_ENVIRONMENT = 20
P_FOR = "p for"
"""Heading of p-values; each cell names the claim that its p-value supports."""


def row_names(found: Comparison) -> tuple[str, dict[str, str]]:
    """Return `labels` of all rows; a row that holds all trials of both sides is named after the sides."""
    title, names = labels([row.treatment for row in found.rows])
    return title, {
        name: f"{found.b} against {found.a}" if name == "-" else text for name, text in names.items()
    }


def labels(treatments: Sequence[str]) -> tuple[str, dict[str, str]]:
    """Return what tells treatments apart, and their labels: if all have a single common factor, its levels alone."""
    names = dict.fromkeys(treatments)
    factors = {name.partition("=")[0] for name in names}
    single = len(factors) == 1 and all("=" in name and " " not in name.partition("=")[0] for name in names)
    if single and not any(_second_factor(name) for name in names):
        return factors.pop(), {name: name.partition("=")[2] for name in names}
    return "treatment", {name: "all" if name == "-" else name for name in names}


def _second_factor(name: str) -> bool:
    return any("=" in word for word in name.split(" ")[1:])


def verdict_of(row: ComparisonRow) -> str:
    """Return the verdict's word; for "different", its direction if the metric has one."""
    return f"{row.verdict}, {row.direction}" if row.direction else row.verdict


def direction_of(row: ComparisonRow) -> str | None:
    """Return the direction of a difference between commands in a word: of times faster or slower, of other metrics better or worse."""
    return _OF_TIMES.get(row.direction or "", row.direction) if is_time(row) else row.direction


def is_time(row: ComparisonRow) -> bool:
    """Return True for how long commands take, of which people say faster and slower."""
    return row.metric.name == "time" and row.metric.better == "lower"


def counts_of(found: Comparison) -> str:
    """Count the rows by verdict."""
    parts = [f"{number} {_COUNTED.get(word, word)}" for word, number in found.counts.items() if number]
    worse = sum(row.direction == "worse" for row in found.rows)
    better = sum(row.direction == "better" for row in found.rows)
    told = [f"{number} {word}" for number, word in ((worse, "worse"), (better, "better")) if number]
    if told:
        parts[0] += f" ({', '.join(told)})"
    return f"{counted(len(found.rows), 'comparison')}: {', '.join(parts)}"


def replication_of(found: Comparison) -> str:
    """Say how many rows of A come out of B within the margin."""
    counts = found.counts
    margins = list(dict.fromkeys(margin_of(row) for row in found.rows if row.difference))
    judged = f" ({margins[0]} of A)" if len(margins) == 1 and margins[0].endswith("%") else ""
    others = [f"{counts[word]} {word}" for word in ("different", "undecided", "no inference") if counts[word]]
    said = f": {', '.join(others)}" if others else ""
    return f"{counts['equivalent']} of {counted(len(found.rows), 'row')} replicate within the margin{judged}{said}"


def method_of(found: Comparison) -> str:
    """Describe what the numbers rest on."""
    methods = [row.difference.method for row in found.rows if row.difference]
    told = "; ".join(dict.fromkeys(part for method in methods for part in method.split("; "))) or "no test"
    shifted = not methods or any(row.difference and row.difference.hodges_lehmann for row in found.rows)
    shift = "Hodges–Lehmann shift; " if shifted else ""
    return (
        f"B − A: {told}; {shift}B / A with Fieller's interval. Intervals: {percent(found.confidence)}, "
        f"each by itself. p and verdicts: {percent(found.confidence)} for all together, {found.correction}; "
        "p is small where its claim holds."
        + (f" More: units on each side {CHANCE}." if any(row.more for row in found.rows) else "")
        + geometric_method_of(found.geometric_means)
    )


def geometric_method_of(means: Sequence[GeometricMean]) -> str:
    """Describe what geometric means rest on; empty if none has an interval."""
    known = [(one, one.ratio) for one in means if one.ratio is not None]
    told = dict.fromkeys(
        f"{ratio.method}, n = {_sides_of(one, ratio)}, {percent(ratio.confidence)}" for one, ratio in known
    )
    return f" Geometric mean: {'; '.join(told)}." if told else ""


def _sides_of(one: GeometricMean, ratio: st.Ratio) -> str:
    a, b = ratio.n
    return f"{units_text(a, one.level, 'shared ')}" if one.paired else sides_text(a, b, one.level)


def by_metric(found: Comparison) -> list[list[ComparisonRow]]:
    """Group the rows by metric, those with inference first: they give the margin by which the metric is judged."""
    groups: dict[str, list[ComparisonRow]] = {}
    for row in found.rows:
        groups.setdefault(row.metric.name, []).append(row)
    return [sorted(rows, key=lambda row: row.difference is None) for rows in groups.values()]


def scales_of(rows: Sequence[ComparisonRow]) -> dict[str, Scale]:
    """Return the unit in which the rows of each metric are listed, by the metric's name."""
    means: dict[str, list[float | None]] = {}
    for row in rows:
        means.setdefault(row.metric.name, []).extend(row.summary.means)
    units = {row.metric.name: row.metric.unit for row in rows}
    return {name: scale(values, units[name]) for name, values in means.items()}


def title_of(row: ComparisonRow, shown: Scale) -> str:
    """Name a row's metric with its unit, estimand, direction and margin."""
    better = f", {row.metric.better} is better" if row.metric.better else ""
    return f"{metric_of(row, shown)}{better}; {margin_of(row, shown)}"


def metric_of(row: ComparisonRow, shown: Scale) -> str:
    """Name a row's metric with the displayed unit, and its estimand."""
    return named_metric(row.metric.name, row.metric.what, shown)


def named_metric(metric: str, what: str, shown: Scale) -> str:
    """Name a metric with its unit, and its estimand (`what`) if there are several."""
    return f"{metric}{shown.heading}: {what}" if what else f"{metric}{shown.heading}"


def margin_of(row: ComparisonRow, shown: Scale | None = None) -> str:
    """Write δ as it was given, in the metric's unit unless another is to be shown."""
    one = row.difference
    if one is None or one.margin is None:
        return "no margin" if one else "no inference"
    if one.margin_percent is not None:
        return f"δ = {percent(one.margin_percent)}"
    return f"δ = {(shown or Scale(row.metric.unit)).with_unit(one.margin)}"


def margin_in_units(row: ComparisonRow) -> str:
    """Write δ in the metric's unit."""
    return write(row.difference.margin) if row.difference else ABSENT


def n_of(row: ComparisonRow) -> str:
    """Write the number of units on each side, and their level."""
    a, b = row.units.n
    if row.units.paired:
        return units_text(a, row.units.level, "shared ")
    return f"{a}, {units_text(b, row.units.level)}"


def floor_of(row: ComparisonRow, shown: Scale) -> str:
    """Write the noise floor of the bench, with the number of units on each side used to find it."""
    if row.floor is None:
        return ABSENT
    share = "" if row.floor.percent is None else f" = {about(row.floor.percent)} %"
    return f"{shown.write(row.floor.value)}{share} (n = {row.floor.n})"


def p_of(value: float | None) -> str:
    """Write a p-value, or a dash if there is none."""
    return p_value(value)


def claim_p_of(row: ComparisonRow) -> str:
    """Write the p-value after the claim that it supports: "beyond δ: 0.33"."""
    if row.claim is None:
        return ABSENT
    return f"{row.claim.replace('the margin', 'δ')}: {p_of(row.p_adjusted)}"


def interval_of(
    estimate: float | None, low: float | None, high: float | None, shown: Scale | None = None
) -> str:
    """Write an estimate with its bounds, which are rounded outward."""
    in_unit = shown or Scale("")
    if low is None or high is None:
        return f"{in_unit.write(estimate)} (too few)"
    return f"{in_unit.write(estimate)} ({interval(in_unit.write(low, 'down'), in_unit.write(high, 'up'))})"


def difference_of(row: ComparisonRow, shown: Scale | None = None) -> str:
    """Write the difference of the means with its interval, in the metric's unit unless another is to be shown.

    Without inference, the difference describes these trials alone.
    """
    if row.difference is None:
        a, b = row.summary.means
        return f"{(shown or Scale('')).write(b - a)} {DESCRIPTIVE}" if row.is_described else ABSENT
    found = row.difference.welch
    return interval_of(found.estimate, found.low, found.high, shown)


def ratio_of(row: ComparisonRow) -> str:
    """Write the ratio with Fieller's interval; if that has no bounds, A's mean may be 0.

    Without inference, write only that of the means.
    """
    if row.difference is not None:
        return _ratio(row.difference.ratio)
    a, b = row.summary.means
    return f"{write(b / a)} {DESCRIPTIVE}" if row.is_described and a else ABSENT


def _ratio(ratio: st.Ratio) -> str:
    if not ratio.bounded:
        return f"{write(ratio.estimate)} (no bounds)"
    return interval_of(ratio.estimate, ratio.low, ratio.high)


def change_of(row: ComparisonRow) -> str:
    """Write the change in percent with its interval; without inference, only that of the means."""
    if row.difference is None:
        written = signed(row.summary.percent_difference if row.is_described else None)
        return ABSENT if written == ABSENT else f"{written} % {DESCRIPTIVE}"
    found = row.difference.percent
    if not found.bounded:
        written = signed(found.estimate)
        return ABSENT if written == ABSENT else f"{written} % (no bounds)"
    return f"{signed(found.estimate)} % ({interval(signed(found.low, 'down'), signed(found.high, 'up'))})"


def open_words(row: ComparisonRow) -> str | None:
    """Say why a row has no verdict, and what would give it one; None if it has one."""
    why = _why_open(row)
    bill = bill_of(row) if row.verdict == "undecided" else None
    return f"{why}; {bill} {CHANCE}" if why and bill else why


def _why_open(row: ComparisonRow) -> str | None:
    if row.verdict == "no inference":
        return row.reason + lifted(row)
    if row.verdict != "undecided":
        return None
    if row.difference is not None and row.difference.margin == 0:
        given = percent(row.difference.margin_percent or 0.0)
        return f"undecided: {given} of a mean of 0 is not a valid margin; give it in the unit: --margin {row.metric.name}=0.1"
    return f"undecided: {row.reason}"


def lifted(row: ComparisonRow) -> str:
    """Name the option that treats higher levels as fixed, if a level above trials prevents a verdict."""
    a, b = row.units.counts["trial"]
    if row.units.level == "trial" or min(a, b) < 2:
        return ""
    return f"; repeat over {plural(row.units.level)}, or take these as fixed (--level trial)"


def short_bill(row: ComparisonRow) -> str:
    """Write the cost to decide for a cell: how many more units on each side, and how long they take."""
    if not row.more:
        return ""
    return f"{row.more:,}" + (f", {duration_text(row.more_seconds)}" if row.more_seconds else "")


def bill_of(row: ComparisonRow) -> str | None:
    """Write how many more units are needed, and how long they take; None if that is unknown."""
    if not row.more:
        return None
    unit = row.units.level if row.more == 1 else plural(row.units.level)
    time = f", about {duration_text(row.more_seconds)}" if row.more_seconds else ""
    where = "shared by both sides" if row.units.paired else "on each side"
    return f"{row.more:,} more {unit} {where}{time}"


def open_rows(found: Comparison) -> Iterator[tuple[str, str]]:
    """Yield the names of rows without a verdict, and why, without the cost to decide; rows with the same reason are joined."""
    _, names = row_names(found)
    several = len({row.metric.name for row in found.rows}) > 1
    groups: dict[str, list[str]] = {}
    for row in found.rows:
        if words := _why_open(row):
            name = f"{row.metric.name} of {names[row.treatment]}" if several else names[row.treatment]
            groups.setdefault(words, []).append(name)
    for words, members in groups.items():
        more = f" and {len(members) - 3} more" if len(members) > 3 else ""
        yield ", ".join(members[:3]) + more, words


def lacking(found: Comparison) -> Iterator[str]:
    """Yield what only one side has."""
    for side in dict.fromkeys(one.side for one in found.one_sided):
        for kind, several in (("treatment", "treatments"), ("metric", "metrics"), ("cell", "cells")):
            own = [one.name for one in found.one_sided if (one.side, one.kind) == (side, kind)]
            if own:
                more = f" and {len(own) - 8} more" if len(own) > 8 else ""
                yield f"only {side} has the {kind if len(own) == 1 else several} {', '.join(own[:8])}{more}"


def environment_lines(found: Comparison) -> Iterator[str]:
    """Yield the differences between both sides' environments, if a row has no inference or the machines differ."""
    two_machines = any(one.block == "machine" and one.rank <= FIRST for one in found.environments)
    if not two_machines and all(row.difference is not None for row in found.rows):
        return
    for one in found.environments[:_MAX_ENVIRONMENT]:
        yield difference_text(one)
    if (more := len(found.environments) - _MAX_ENVIRONMENT) > 0:
        yield f"and {more} more (--json has them all)"


def difference_text(one: EnvironmentDifference) -> str:
    """Write a difference as `name: A | B`."""
    absent = "not set" if one.known else "not recorded"
    a, b = (", ".join(values) or absent for values in (one.a, one.b))
    return f"{one.name}: {a} | {b}"


def remarks(found: Comparison) -> Iterator[str]:
    """Yield what readers should know about the trials of either side."""
    of: dict[str, list[str]] = {}
    for side, notes in found.notes.items():
        for note in notes:
            of.setdefault(note, []).append(side)
    yield from (f"{' and '.join(sides)}: {note}" for note, sides in of.items())
    yield from _pairing(found)
    if any(row.difference and row.difference.margin is None for row in found.rows):
        yield "no margin was given, so that nothing can be equivalent; try --margin 3%"


def _pairing(found: Comparison) -> Iterator[str]:
    """Say by what factor pairing reduced the units needed, for each metric."""
    _, names = row_names(found)
    for metric in dict.fromkeys(row.metric.name for row in found.rows):
        gains = {
            names[row.treatment]: row.pairing.gain
            for row in found.rows
            if row.metric.name == metric and row.pairing is not None and isfinite(row.pairing.gain)
        }
        if gains:
            each = ", ".join(
                about(gain) + (f" ({name})" if len(gains) > 1 else "")
                for name, gain in list(gains.items())[:3]
            )
            yield f"pairs: the variance of B − A in {metric} is smaller than unpaired by the factor {each}"
