"""Content of the figures of a comparison: differences with their margin, and ranks."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from trialwise.analysis.comparison.ranking import MetricRanking
from trialwise.analysis.comparison.results import ComparisonRow
from trialwise.report import comparison_words as words
from trialwise.report.numbers import percent
from trialwise.report.plot_rows import Row, in_unit
from trialwise.report.units import Scale, scale

BEST, NOT_BEST = "may be the best", "is not"


def file_name(name: str) -> str:
    """Return a metric's name in characters that file names may contain; a run of other characters becomes one dash."""
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", name)


@dataclass(frozen=True, slots=True)
class Differences:
    """B − A of one metric with intervals, a row for each of `names`.

    Rows hold `name`, `word` (the verdict, or its direction), `estimate`, `low`, `high`, `margin` (None without one), `n`,
    `p` and `more`. `axis` says what is measured.
    """

    metric: str
    axis: str
    rows: tuple[Row, ...]
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Ranks:
    """Ranks of treatments by one metric: rows hold `name`, `best`, `worst`, `standing`, `mean` and `n`."""

    metric: str
    axis: str
    rows: tuple[Row, ...]
    names: tuple[str, ...]


def differences(
    rows: Sequence[ComparisonRow],
    names: Mapping[str, str],
    told: Callable[[ComparisonRow], str | None] | None = None,
) -> Differences | None:
    """Return the rows of one metric that have an interval; None if none has. `names` are the rows' labels.

    `told` gives a difference's direction in the words of the text beside it; without it these are better and worse.
    In percent of A if every ratio has bounds and no margin is in the metric's unit; otherwise in that unit.
    """
    known = [row for row in rows if row.difference is not None]
    if not known:
        return None
    relative = all(map(_is_relative, known))
    facts = known[0].metric
    words_of = [(row, told(row) if told else row.direction) for row in known]
    made = [
        _difference(row, names[row.treatment], word or row.verdict, relative=relative)
        for row, word in words_of
    ]
    bounds = (row.difference.welch for row in known if row.difference)
    ends = (end for found in bounds for end in (found.low, found.high))
    shown = Scale("% of A") if relative else scale(ends, facts.unit)
    return Differences(
        facts.name,
        f"{facts.name}: B − A{shown.heading}",
        tuple(in_unit(made, shown, ("estimate", "low", "high", "margin"))),
        tuple(names[row.treatment] for row in known),
    )


def _is_relative(row: ComparisonRow) -> bool:
    one = row.difference
    return one is not None and one.ratio.bounded and (one.margin is None or one.margin_percent is not None)


def _difference(row: ComparisonRow, name: str, word: str, *, relative: bool) -> Row:
    if row.difference is None:
        raise ValueError("a row without inference has no interval")
    found = row.difference.percent if relative else row.difference.welch
    return {
        "name": name,
        "word": word,
        "estimate": found.estimate,
        "low": found.low,
        "high": found.high,
        "margin": (row.difference.margin_percent if relative else row.difference.margin) or None,
        "n": words.n_of(row),
        "p": words.claim_p_of(row),
        "more": words.short_bill(row),
    }


def ranks(one: MetricRanking, names: Mapping[str, str], where: str = "") -> Ranks:
    """Rank treatments from the best mean to the worst; `where` completes the title, and `names` are the treatments' labels."""
    return Ranks(
        one.metric,
        f"rank by {one.metric}{where}, all at {percent(one.confidence)}",
        tuple(
            {
                "name": names[place.treatment],
                "best": place.best,
                "worst": place.worst,
                "standing": BEST if place.may_be_best else NOT_BEST,
                "mean": place.mean,
                "n": place.n,
            }
            for place in one.treatments
        ),
        tuple(names[place.treatment] for place in one.treatments),
    )
