"""Tables of order: fixed against random order for each treatment, and the pairs that stand out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from trialwise.analysis.order_results import (
    GroupCarryOver,
    LastingEffect,
    OrderAnalysis,
    PairEffect,
    TreatmentOrder,
)
from trialwise.report.document import Cell, Name, Table, table_of
from trialwise.report.numbers import Number, Rounding

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
_LASTING_COLUMNS: tuple[tuple[str, str, Rounding], ...] = (
    *_PAIR_COLUMNS[:-1],
    ("n after", "n_after", "nearest"),
    ("n before", "n_before", "nearest"),
)


def order_tables(found: OrderAnalysis) -> Iterator[Table]:
    """Tables with rows, numbers at their place in the JSON document of an analysis of order."""
    groups = {"group": any(one.group for one in found.treatments)}
    several = len({one.metric for one in found.treatments}) > 1
    names = (*(["metric"] if several else []), *(["group"] if groups["group"] else []), "treatment")
    if found.treatments:
        yield table_of(
            key="order-treatments",
            caption="Fixed against random order; shifts: fixed minus random, of the fixed median",
            titles=(*names, "change", *(title for title, _, _ in _COLUMNS)),
            rows=tuple(_treatment(names, one, place) for place, one in enumerate(found.treatments)),
            numeric=range(len(names) + 1, len(names) + 1 + len(_COLUMNS)),
        )
    if any(group.pairs for group in found.carry_over):
        yield _pairs(found)
    if any(group.lasting for group in found.carry_over):
        yield _lasting(found)


def _treatment(names: tuple[str, ...], one: TreatmentOrder, place: int) -> tuple[Cell, ...]:
    at = f"/treatments/{place}"
    known: dict[str, Cell] = {
        "metric": one.metric,
        "group": one.group or "",
        "treatment": Name(one.treatment),
    }
    numbers = (
        Number(getattr(one, field), f"{at}/{field}", rounding=rounding) for _, field, rounding in _COLUMNS
    )
    return (*(known[name] for name in names), one.change, *numbers)


def _pairs(found: OrderAnalysis) -> Table:
    several = len(found.carry_over) > 1
    names = (*(["metric"] if several else []), "treatment", "right after")
    return table_of(
        key="order-pairs",
        caption="Carry-over: pairs that stand out; low and high hold for all pairs together",
        titles=(*names, *(title for title, _, _ in _PAIR_COLUMNS)),
        rows=tuple(
            (*_where(group, several=several), *_pair(pair, f"/carry_over/{at}/pairs/{place}"))
            for at, group in enumerate(found.carry_over)
            for place, pair in enumerate(group.pairs)
        ),
        numeric=range(len(names), len(names) + len(_PAIR_COLUMNS)),
    )


def _lasting(found: OrderAnalysis) -> Table:
    several = len(found.carry_over) > 1
    names = (*(["metric"] if several else []), "treatment", "once it has run")
    return table_of(
        key="order-lasting",
        caption="Effects that last for the rest of the round; low and high hold for all pairs together",
        titles=(*names, *(title for title, _, _ in _LASTING_COLUMNS)),
        rows=tuple(
            (*_where(group, several=several), *_lasting_cells(one, f"/carry_over/{at}/lasting/{place}"))
            for at, group in enumerate(found.carry_over)
            for place, one in enumerate(group.lasting)
        ),
        numeric=range(len(names), len(names) + len(_LASTING_COLUMNS)),
    )


def _where(group: GroupCarryOver, *, several: bool) -> tuple[Cell, ...]:
    return (f"{group.metric} ({group.group})" if group.group else group.metric,) if several else ()


def _pair(pair: PairEffect, at: str) -> tuple[Cell, ...]:
    return Name(pair.treatment), Name(pair.predecessor), *_numbers(pair, at, _PAIR_COLUMNS)


def _lasting_cells(one: LastingEffect, at: str) -> tuple[Cell, ...]:
    return Name(one.treatment), Name(one.earlier), *_numbers(one, at, _LASTING_COLUMNS)


def _numbers(
    of: PairEffect | LastingEffect, at: str, columns: Sequence[tuple[str, str, Rounding]]
) -> Iterator[Number]:
    return (Number(getattr(of, field), f"{at}/{field}", rounding=rounding) for _, field, rounding in columns)
