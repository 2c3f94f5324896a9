"""The figures of fixed against random order: the paper's Figures 2 to 6."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from trialwise.analysis.order.results import TreatmentOrder
from trialwise.analysis.order.summary import OrderSummary
from trialwise.report.figures.order_picture import NAMED, Picture, names_of
from trialwise.report.numbers import counted
from trialwise.report.points import Row

_MOST_INTERVALS = 12
MOST_METRICS = 6
_SMALLEST = 1e-30
"""Smaller p-values are drawn here, as in the paper."""
CASES = (
    "1: the intervals do not overlap",
    "2: a median lies in the other's interval",
    "3: they overlap, no median inside",
)


def compared_metrics(view: OrderSummary) -> dict[str, list[TreatmentOrder]]:
    """The treatments that were compared, by metric."""
    found: dict[str, list[TreatmentOrder]] = {}
    for one in view.found.treatments if view.found else ():
        if one.p_value is not None:
            found.setdefault(one.metric, []).append(one)
    return found


def comparison_pictures(view: OrderSummary, labels: Mapping[str, str]) -> Iterator[Picture]:
    """Five figures for each metric that was measured in both orders."""
    metrics = compared_metrics(view)
    for place, (metric, tested) in enumerate(list(metrics.items())[:MOST_METRICS]):
        several = len(metrics) > 1
        of, end = (f": {metric}", f"-{place}") if several else ("", "")
        by_effect = sorted(tested, key=lambda one: one.eta_squared or 0.0)
        rows = tuple(_treatment_row(rank, one, labels) for rank, one in enumerate(by_effect, 1))
        yield _p_values(f"p-values{end}", of, by_effect, rows)
        yield _effect_sizes(f"effect-sizes{end}", of, rows)
        yield _differences(f"differences{end}", of, tested, labels)
        yield _cases(f"cases{end}", of, tested)
        yield _intervals(f"intervals{end}", of, tested, labels)


def _treatment_row(rank: int, one: TreatmentOrder, labels: Mapping[str, str]) -> Row:
    return {
        "rank": rank,
        "treatment": _label(one, labels),
        "p": None if one.p_value is None else max(one.p_value, _SMALLEST),
        "p_corrected": one.p_corrected,
        "effect": one.eta_squared,
        "difference": one.percent_difference,
        "standing": "differs" if one.significant else "does not differ",
        "case": one.case,
    }


def _label(one: TreatmentOrder, labels: Mapping[str, str]) -> str:
    name = labels.get(one.treatment, one.treatment)
    return f"{name} ({one.group})" if one.group else name


def _each(rows: Sequence[Row], by: str) -> str:
    if len(rows) <= NAMED:
        return f"{counted(len(rows), 'treatment')} by {by}."
    return f"Each mark is one of {len(rows)} treatments, by {by}; the ends are named."


def _p_values(name: str, of: str, tested: Sequence[TreatmentOrder], rows: tuple[Row, ...]) -> Picture:
    level = min(one.alpha_corrected for one in tested)
    smallest = (
        f" Values below {_SMALLEST:g} are drawn there." if any(row["p"] == _SMALLEST for row in rows) else ""
    )
    return Picture(
        "p-values",
        name,
        f"Kruskal-Wallis p-values{of}",
        f"{_each(rows, 'effect size')} Dashed: {level:.2g}, the level over the number of comparisons (Bonferroni). Filled: differs "
        f"after correction.{smallest}",
        f"p-values of Kruskal and Wallis' test of fixed against random order{of}, sorted by effect size.",
        rows,
        names_of(rows),
        "p, not corrected",
        level,
    )


def _effect_sizes(name: str, of: str, rows: tuple[Row, ...]) -> Picture:
    return Picture(
        "effect-sizes",
        name,
        f"Effect sizes{of}",
        f"{_each(rows, 'effect size')} η² is the share of the variance of ranks that the order explains; below 0 it is none.",
        f"Effect sizes of fixed against random order{of}, sorted.",
        rows,
        names_of(rows),
        "effect size η²",
        0.0,
    )


def _differences(name: str, of: str, tested: Sequence[TreatmentOrder], labels: Mapping[str, str]) -> Picture:
    by_difference = sorted(tested, key=lambda one: one.percent_difference or 0.0)
    rows = tuple(_treatment_row(rank, one, labels) for rank, one in enumerate(by_difference, 1))
    return Picture(
        "differences",
        name,
        f"Difference of the means{of}",
        f"{_each(rows, 'difference')} Δ% is the mean in fixed order minus that in random order, in percent of the fixed one: above 0 "
        "values are larger in fixed order.",
        f"Differences of means under fixed and random order in percent{of}, sorted.",
        rows,
        names_of(rows),
        "Δ%, fixed minus random",
        0.0,
    )


def _cases(name: str, of: str, tested: Sequence[TreatmentOrder]) -> Picture:
    counts = [sum(one.case == case for one in tested) for case in (1, 2, 3)]
    rows: list[Row] = [
        {"case": text, "treatments": count, "share": f"{100 * count / len(tested):.0f} %"}
        for text, count in zip(CASES, counts, strict=True)
    ]
    return Picture(
        "cases",
        name,
        f"Cases of the intervals of medians{of}",
        "Case 1: conclusions change with the order. 2: they likely do not. 3: open.",
        f"How many of {len(tested)} treatments fall into each case of overlap of two intervals{of}.",
        tuple(rows),
        CASES,
        "treatments",
    )


def _intervals(name: str, of: str, tested: Sequence[TreatmentOrder], labels: Mapping[str, str]) -> Picture:
    ordered = sorted(tested, key=lambda one: -abs(one.shift_percent or 0.0))[:_MOST_INTERVALS]
    rows = tuple(row for one in ordered for row in _interval_rows(one, labels))
    more = (
        f" The {len(ordered)} of {len(tested)} treatments that move most."
        if len(tested) > len(ordered)
        else ""
    )
    return Picture(
        "intervals",
        name,
        f"Medians under both orders{of}",
        f"Each median with its interval, in percent of the median in fixed order; in brackets the case.{more}",
        f"Medians under fixed and random order with their intervals, by treatment{of}.",
        rows,
        tuple(dict.fromkeys(names_of(rows))),
        "% from the median in fixed order",
    )


def _interval_rows(one: TreatmentOrder, labels: Mapping[str, str]) -> Iterator[Row]:
    if one.fixed is None or one.random is None or not one.fixed.median:
        return
    for order, known in (("fixed", one.fixed), ("random", one.random)):
        low, median, high = (
            100 * (end - one.fixed.median) / abs(one.fixed.median)
            for end in (known.low, known.median, known.high)
        )
        yield {
            "treatment": f"{_label(one, labels)} (case {one.case})",
            "order": order,
            "low": low,
            "median": median,
            "high": high,
            "n": known.n,
        }
