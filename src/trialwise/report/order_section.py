"""What the report and the page of `trialwise order` say and show of order: one form for both."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from trialwise.analysis.order_results import Change, GroupCarryOver, OrderAnalysis, Outcome, Verdict
from trialwise.analysis.order_sentences import one_order
from trialwise.analysis.order_view import OrderView
from trialwise.report.document import plain
from trialwise.report.documents.order import (
    carry_over_title,
    conclusion_of,
    how_compared,
    no_pair,
    ranked,
    sentence_of,
    trends,
)
from trialwise.report.figures.order import order_figures
from trialwise.report.figures.order_picture import Kind, Picture
from trialwise.report.figures.order_pictures import left_out, pictures
from trialwise.report.figures.sheets import Sheet
from trialwise.report.numbers import counted
from trialwise.report.order_tables import PLACE, order_tables
from trialwise.report.section import (
    MOST_LINES,
    OPEN,
    FigureGroup,
    Line,
    Look,
    Part,
    Section,
    Standing,
    marks_counted,
    part,
)

_LOOKS: Mapping[Verdict, Look] = {
    "order matters": "matters",
    "order does not matter": "fine",
    "undecided": "",
}
_CHANGES: Mapping[Change, tuple[Standing, str]] = {
    "location": ("descriptive", "changes"),
    "distribution": ("descriptive", "changes"),
    "small": ("claim", "within the margin"),
    "same": ("claim", "no difference"),
    "open": ("refusal", "open"),
    "untested": ("refusal", "not tested"),
}
_OUTCOMES: Mapping[Outcome, tuple[Standing, str]] = {
    "same winner": ("claim", "stays"),
    "no winner": ("claim", "stays"),
    "another winner": ("descriptive", "changes"),
    "winner in one order only": ("descriptive", "changes"),
    "untested": ("refusal", "not tested"),
}
_GROUPS: tuple[tuple[str, tuple[Kind, ...]], ...] = (
    ("Fixed against random order", ("p-values", "effect-sizes", "differences", "cases", "intervals")),
    ("Which predecessor does it", ("carry-over", "pairs")),
    ("Position and time", ("position", "drift", "trials")),
)


def order_section(
    view: OrderView, sheets: dict[str, Sheet], labels: Mapping[str, str] | None = None
) -> Section:
    """The section of a view; `labels` are what figures call treatments, and `sheets` take the data of the figures."""
    shown = pictures(view, labels or {})
    groups = tuple(_figure_groups(shown, sheets))
    found = view.found
    if found is None:
        return Section(view.refusal, "", "", (), (), groups, ())
    judged = not view.refusal
    return Section(
        verdict=found.sentence if judged else view.refusal,
        look=_LOOKS[found.verdict] if judged else "",
        facts=_facts(found),
        notes=(
            *(note for note in found.notes if judged or note != one_order(found.rounds_random)),
            *left_out(view),
        ),
        parts=tuple(_parts(view, found)) if judged else tuple(_problems(found)),
        groups=groups,
        tables=tuple(order_tables(found)) if judged else (),
        place=PLACE,
    )


def _facts(found: OrderAnalysis) -> str:
    rounds = [
        counted(count, f"{order} round")
        for order, count in (("fixed", found.rounds_fixed), ("random", found.rounds_random))
        if count
    ]
    workers = [counted(len(found.workers), "worker")] if len(found.workers) > 1 else []
    return " · ".join([counted(found.n_trials, "value"), *rounds, *workers])


def _figure_groups(shown: Sequence[Picture], sheets: dict[str, Sheet]) -> Iterator[FigureGroup]:
    for title, kinds in _GROUPS:
        members = [picture for picture in shown if picture.kind in kinds]
        if members:
            yield FigureGroup(title, tuple(order_figures(members, sheets)))


# Sentences


def _parts(view: OrderView, found: OrderAnalysis) -> Iterator[Part]:
    yield from part("Next", [Line(step) for step in dict.fromkeys(found.next_steps)])
    yield from _treatments(found)
    yield from part(
        "Would the conclusion change?",
        list(_conclusions(found)),
    )
    for group in found.carry_over:
        yield from _carry_over(view, group, several=len(found.carry_over) > 1)
    yield from _workers(found)
    yield from _problems(found)


def _treatments(found: OrderAnalysis) -> Iterator[Part]:
    """One sentence for each treatment, those that change first."""
    lines = [Line(sentence_of(found, one), *_CHANGES[one.change]) for one in ranked(found)]
    summary = f"{marks_counted(lines)}; {how_compared(found)}"
    yield from part("Fixed against random order", lines, summary, more="; the table has all")


def _conclusions(found: OrderAnalysis) -> Iterator[Line]:
    for one in found.conclusions:
        yield Line(conclusion_of(found, one), *_OUTCOMES[one.outcome])


def _carry_over(view: OrderView, group: GroupCarryOver, *, several: bool) -> Iterator[Part]:
    pairs = [Line(pair.sentence, "descriptive", "stands out") for pair in group.pairs[:MOST_LINES]]
    lasting = [Line(one.sentence, "descriptive", "lasts") for one in group.lasting[:MOST_LINES]]
    none = [Line(no_pair(group), *(("claim", "none") if group.tested else ("refusal", "not tested")))]
    slopes = [
        Line(f"{name}: {plain(text)}", mark="trend")
        for name, text in trends(group, "", view.units.get(group.metric, ""))
    ]
    notes = [Line(group.note, "refusal", "note")] if group.note else []
    method = Line(f"n = {group.n_pairs}: {group.method}", mark="method")
    lines = [*([*lasting, *pairs] or none), *slopes, *notes, method]
    more = len(group.pairs) + len(group.lasting) - len(pairs) - len(lasting)
    yield Part(
        carry_over_title(group, several=several),
        tuple(lines),
        more=f"… and {counted(more, 'more pair')}; the table has all" if more > 0 else "",
        is_open=len(lines) <= OPEN,
    )


def _workers(found: OrderAnalysis) -> Iterator[Part]:
    if len(found.workers) < 2:
        return
    spread = [Line(one.sentence, mark="order") for one in found.worker_spread]
    differences = [Line(one.sentence, "descriptive", "differs") for one in found.worker_differences]
    none = [Line("none differs from the others", "claim", "none")]
    yield from part(f"Workers ({len(found.workers)})", [*spread, *(differences or none)])


def _problems(found: OrderAnalysis) -> Iterator[Part]:
    if found.n_problems:
        lines = [Line(problem.text, "refusal") for problem in found.problems]
        title = f"Wrong in the data ({found.n_problems}); the rest was used"
        yield from part(title, lines, most=20)
