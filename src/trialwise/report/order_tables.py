"""Tables of order: fixed against random order for each treatment, and the pairs that stand out."""

from __future__ import annotations

from collections.abc import Iterator

from trialwise.analysis.order_results import OrderAnalysis, PairEffect, TreatmentOrder
from trialwise.report.claims import Term
from trialwise.report.numbers import Number, Rounding
from trialwise.report.tables import Cell, Table

PLACE = "data-order-path"
"""The attribute of numbers that stand in the JSON document of `trialwise order`."""
_COLUMNS: tuple[tuple[str, str, Rounding], ...] = (
    ("n fixed", "n_fixed", "nearest"),
    ("n random", "n_random", "nearest"),
    ("p", "p_value", "nearest"),
    ("p corrected", "p_corrected", "nearest"),
    ("η²", "eta_squared", "nearest"),
    ("Δ%", "percent_difference", "nearest"),
    ("shift %", "shift_percent", "nearest"),
    ("low", "shift_percent_low", "down"),
    ("high", "shift_percent_high", "up"),
    ("case", "case", "nearest"),
)
_PAIR_COLUMNS: tuple[tuple[str, str, Rounding], ...] = (
    ("effect %", "percent", "nearest"),
    ("low", "percent_low", "down"),
    ("high", "percent_high", "up"),
    ("p", "p_value", "nearest"),
    ("n", "n", "nearest"),
)


def order_tables(found: OrderAnalysis) -> Iterator[Table]:
    """Tables with rows, numbers at their place in the JSON document of an analysis of order."""
    groups = {"group": any(one.group for one in found.treatments)}
    several = len({one.metric for one in found.treatments}) > 1
    names = (*(["metric"] if several else []), *(["group"] if groups["group"] else []), "treatment")
    if found.treatments:
        yield Table(
            key="order-treatments",
            caption="Fixed against random order; shifts: fixed minus random, of the fixed median",
            columns=(*names, "change", *(title for title, _, _ in _COLUMNS)),
            rows=tuple(_treatment(names, one, place) for place, one in enumerate(found.treatments)),
            numeric=frozenset(range(len(names) + 1, len(names) + 1 + len(_COLUMNS))),
            place=PLACE,
        )
    if any(group.pairs for group in found.carry_over):
        yield _pairs(found)


def _treatment(names: tuple[str, ...], one: TreatmentOrder, place: int) -> tuple[Cell, ...]:
    at = f"/treatments/{place}"
    known: dict[str, Cell] = {
        "metric": one.metric,
        "group": one.group or "",
        "treatment": Term(one.treatment),
    }
    numbers = (
        Number(getattr(one, field), f"{at}/{field}", rounding=rounding) for _, field, rounding in _COLUMNS
    )
    return (*(known[name] for name in names), one.change, *numbers)


def _pairs(found: OrderAnalysis) -> Table:
    several = len(found.carry_over) > 1
    names = (*(["metric"] if several else []), "treatment", "right after")
    return Table(
        key="order-pairs",
        caption="Carry-over: pairs that stand out; low and high hold for all pairs together",
        columns=(*names, *(title for title, _, _ in _PAIR_COLUMNS)),
        rows=tuple(
            _pair(
                f"{group.metric} ({group.group})" if group.group else group.metric,
                pair,
                f"/carry_over/{at}/pairs/{place}",
                several=several,
            )
            for at, group in enumerate(found.carry_over)
            for place, pair in enumerate(group.pairs)
        ),
        numeric=frozenset(range(len(names), len(names) + len(_PAIR_COLUMNS))),
        place=PLACE,
    )


def _pair(where: str, pair: PairEffect, at: str, *, several: bool) -> tuple[Cell, ...]:
    numbers = (
        Number(getattr(pair, field), f"{at}/{field}", rounding=rounding)
        for _, field, rounding in _PAIR_COLUMNS
    )
    begin: list[Cell] = [where] if several else []
    return (*begin, Term(pair.treatment), Term(pair.predecessor), *numbers)
