"""What a page shows of order: what `trialwise order` says, the figures, and the tables with all numbers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from trialwise.analysis.order.analysing import one_order
from trialwise.analysis.order.results import OrderAnalysis, TreatmentOrder
from trialwise.analysis.order.summary import OrderSummary
from trialwise.report.document import (
    Block,
    Cell,
    Details,
    Document,
    Name,
    Note,
    Table,
    Verdict,
    table_of,
)
from trialwise.report.documents import order
from trialwise.report.documents.methods import methods
from trialwise.report.figures.order import left_out, order_figures
from trialwise.report.figures.plot_data import ColumnData
from trialwise.report.notes import order_notes
from trialwise.report.numbers import Number, Rounding

PLACE = "data-order-path"
"""The attribute of numbers that stand in the JSON document of `trialwise order`."""
_Columns = tuple[tuple[str, str, Rounding], ...]
_TREATMENT: _Columns = (
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
_EFFECT: _Columns = (
    ("effect %", "percent", "nearest"),
    ("low", "percent_low", "down"),
    ("high", "percent_high", "up"),
    ("p", "p_value", "nearest"),
)
_PAIR: _Columns = (*_EFFECT, ("n", "n", "nearest"))
_LASTING: _Columns = (*_EFFECT, ("n after", "n_after", "nearest"), ("n before", "n_before", "nearest"))


def whole(view: OrderSummary, sheets: dict[str, ColumnData]) -> Document:
    """Return the document of a page of its own, with the methods; figures put their data into `sheets`."""
    found = document(view, sheets)
    chapters = (found.as_chapter("Order", PLACE), methods(order_notes(view)))
    return Document("order-page", found.answer, (replace(chapters[0], answer=None),), chapters[1:])


def document(
    view: OrderSummary, sheets: dict[str, ColumnData], labels: Mapping[str, str] | None = None
) -> Document:
    """Return the document of a view; `labels` are what figures call treatments."""
    groups = tuple(order_figures(view, labels or {}, sheets))
    found = view.found
    if found is None:
        return Document("order", Verdict("open", (view.refusal,)), groups)
    aside = tuple(Note((f"{note}.",)) for note in left_out(view))
    if view.refusal:
        notes = tuple(Note((f"{note}.",)) for note in found.notes if note != one_order(found.rounds_random))
        return Document(
            "order", Verdict("open", (view.refusal,)), (*notes, *aside, *groups, *order.problems(found))
        )
    told = order.document(found)
    return replace(told, evidence=(*groups, *aside, *told.evidence, *_folded(tables(found))))


def _folded(found: Iterable[Table]) -> Iterator[Block]:
    members = tuple(found)
    if members:
        yield Details("All numbers", members)


def tables(found: OrderAnalysis) -> Iterator[Table]:
    """Yield every number of treatments and pairs, each at its place in the JSON document of an analysis of order."""
    several = len({one.metric for one in found.treatments}) > 1
    has_groups = any(one.group for one in found.treatments)
    names = (*(["metric"] if several else []), *(["group"] if has_groups else []), "treatment")
    if found.treatments:
        yield table_of(
            "order-treatments",
            "Fixed against random order; shifts: fixed minus random, of the fixed median",
            (*names, "change", *(title for title, _, _ in _TREATMENT)),
            (
                (*_named(names, one), one.change, *_numbers(one, f"/treatments/{place}", _TREATMENT))
                for place, one in enumerate(found.treatments)
            ),
            numeric=range(len(names) + 1, len(names) + 1 + len(_TREATMENT)),
        )
    yield from _carried(
        found, "pairs", "right after", "predecessor", _PAIR, "Carry-over: pairs that stand out"
    )
    lasting = "Effects that last for the rest of the round"
    yield from _carried(found, "lasting", "once it has run", "earlier", _LASTING, lasting)


def _named(names: tuple[str, ...], one: TreatmentOrder) -> Iterator[Cell]:
    known = {"metric": one.metric, "group": one.group or "", "treatment": one.treatment}
    return (Name(known[name]) for name in names)


def _carried(
    found: OrderAnalysis, kind: str, title: str, earlier: str, columns: _Columns, caption: str
) -> Iterator[Table]:
    """Yield the pairs of one kind of all metrics and groups; `earlier` is the field of the other treatment."""
    several = len(found.carry_over) > 1
    names = (*(["metric"] if several else []), "treatment", title)
    rows = [
        (
            *((order.where(group.metric, group.group),) if several else ()),
            Name(one.treatment),
            Name(getattr(one, earlier)),
            *_numbers(one, f"/carry_over/{at}/{kind}/{place}", columns),
        )
        for at, group in enumerate(found.carry_over)
        for place, one in enumerate(getattr(group, kind))
    ]
    if rows:
        yield table_of(
            f"order-{kind}",
            f"{caption}; low and high hold for all pairs together",
            (*names, *(title for title, _, _ in columns)),
            rows,
            numeric=range(len(names), len(names) + len(columns)),
        )


def _numbers(of: object, at: str, columns: _Columns) -> Iterator[Number]:
    return (Number(getattr(of, field), f"{at}/{field}", rounding=rounding) for _, field, rounding in columns)
