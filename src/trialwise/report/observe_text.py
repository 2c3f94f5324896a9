"""What `trialwise observe` says in the terminal."""

from __future__ import annotations

from collections.abc import Iterator

from trialwise.analysis.nesting import plural
from trialwise.analysis.observing.results import Observation, ObservedRow
from trialwise.experiment.placeholders import level_text
from trialwise.experiment.quantity import duration_text
from trialwise.report.numbers import ABSENT, Rounding, counted, interval, percent, signed, write
from trialwise.report.terminal_table import Line, aligned


def observe_lines(found: Observation) -> Iterator[Line]:
    """The answer, what it rests on, a table for each metric, what else is to be known."""
    yield answer(found)
    yield (
        f"  {found.source}: each {found.factor} against {found.base}; verdicts hold together at {percent(found.confidence)}"
        f" ({found.correction}), intervals by themselves"
    )
    yield from (f"  {note}" for note in found.notes)
    for question, metric in dict.fromkeys((row.question, row.metric) for row in found.rows):
        rows = [row for row in found.rows if (row.question, row.metric) == (question, metric)]
        yield ""
        yield heading(rows[0], found.base)
        yield aligned([_titles(rows[0], found), *(_cells(row) for row in rows)])
    reasons = list(dict.fromkeys(row.reason for row in found.rows if row.verdict == "no inference"))
    if reasons:
        yield ""
        yield from (f"no inference: {reason}" for reason in reasons)


def answer(found: Observation) -> str:
    """The verdict in a sentence."""
    counts, total = found.counts, len(found.rows)
    asked = counted(total, "comparison")
    if found.verdict == "different":
        rest = ", ".join(
            f"{counts[word]} {word}" for word in ("equivalent", "undecided", "no inference") if counts[word]
        )
        margin = " beyond the margin" if any(row.margin is not None for row in found.rows) else ""
        return f"Measuring changes what is measured: {counts['different']} of {asked} different{margin}" + (
            f" ({rest})." if rest else "."
        )
    if found.verdict == "equivalent":
        return f"No effect: {'all ' if total > 1 else ''}{asked} equivalent within the margin."
    open_ = counts["undecided"] + counts["no inference"]
    bills = [row.more for row in found.rows if row.verdict == "undecided"]
    bill = max((more for more in bills if more), default=None)
    more = (
        ""
        if bill is None
        else f"; {counted(bill, 'more trial')} of each treatment would probably decide what can be decided"
    )
    return f"Undecided: {open_} of {asked}{more}."


def heading(row: ObservedRow, base: str) -> str:
    """Metric, unit, margin and question of a table."""
    unit = f" [{row.unit}]" if row.unit else ""
    margin = "no margin" if row.margin is None else f"margin {_margin(row)}"
    if row.margin_relative:
        margin += f" of {base}"
    if row.question == "error":
        return f"{row.metric}{unit} against 0, {margin}"
    return f"{row.metric}{unit} against {base}, {margin}"


def verdict_text(row: ObservedRow) -> str:
    """The word of a row with what belongs to it: the direction, the margin, or the bill."""
    if row.verdict == "different":
        return f"different, {row.direction}" if row.direction else "different"
    if row.verdict == "equivalent":
        return f"equivalent within {_margin(row)}"
    if row.verdict == "no inference":
        return "no inference"
    more = _bill(row)
    there = row.low is not None and row.high is not None and not row.low <= 0 <= row.high
    known = "undecided whether it matters" if there and row.margin is not None else "undecided"
    return f"{known}, {more}"


def effect_text(row: ObservedRow) -> str:
    """The effect with its interval: in percent where the margin is or there is none, else in the metric's unit."""
    if row.estimate is None or row.low is None or row.high is None:
        return ABSENT
    relative = row.margin_relative or row.margin is None
    if relative and row.percent is not None and row.percent_low is not None and row.percent_high is not None:
        return f"{_signed(row.percent)} % ({_signed_bounds(row.percent_low, row.percent_high)})"
    return f"{_signed(row.estimate)} ({_signed_bounds(row.low, row.high)})"


def _bill(row: ObservedRow) -> str:
    if row.more is None:
        return "and no number of trials up to 10,000 is likely to decide"
    many = counted(row.more, f"more {row.unit_of_inference}", f"more {plural(row.unit_of_inference)}")
    long = "" if row.more_seconds is None else f", {duration_text(row.more_seconds)}"
    return f"{many} each{long}"


def _margin(row: ObservedRow) -> str:
    if row.margin is None:
        return "none"
    return percent(row.margin) if row.margin_relative else f"{write(row.margin)} {row.unit}".strip()


def _titles(row: ObservedRow, found: Observation) -> list[str]:
    where = [found.factor, *row.load]
    if row.question == "error":
        return [*where, "n", "mean", f"{found.confidence:g} % interval", "verdict"]
    return [*where, "n", found.base, "mean", f"effect ({found.confidence:g} % interval)", "verdict"]


def _cells(row: ObservedRow) -> list[str]:
    where = [row.flavour, *(level_text(level) for level in row.load.values())]
    verdict = verdict_text(row)
    if row.question == "error":
        inside = ABSENT if row.low is None else _signed_bounds(row.low, row.high)
        return [*where, str(row.n), _plain(row.mean), inside, verdict]
    n = f"{row.n_base}, {row.n}"
    return [*where, n, _plain(row.mean_base), _plain(row.mean), effect_text(row), verdict]


def _plain(value: float) -> str:
    return write(value).replace("-", "−", 1) if value < 0 else write(value)


def _signed(value: float | None, rounding: Rounding = "nearest") -> str:
    return signed(value, rounding).replace("-", "−", 1)


def _signed_bounds(low: float | None, high: float | None) -> str:
    return interval(_signed(low, "down"), _signed(high, "up"))
