"""The parts of an experiment's page, from the documents that `status` and `analyze` print, each of bounded size."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, TypeVar

from markupsafe import Markup

from trialwise import study
from trialwise.analysis.interval_courses import IntervalCourse, interval_courses, latest_courses
from trialwise.errors import TrialwiseError
from trialwise.report.document import (
    Attached,
    Block,
    Chapter,
    Details,
    Document,
    Figures,
    Items,
    Name,
    Note,
    Table,
    Verdict,
    table_of,
)
from trialwise.report.documents import analyze, claims, status, stopping
from trialwise.report.html import environment
from trialwise.report.render.html import html
from trialwise.report.units import scale
from trialwise.serve.places import Place
from trialwise.store.connection import BusyLedgerError
from trialwise.store.records import Event
from trialwise.study.claims import check_claims
from trialwise.study.documents import FailureDocument, StoppingDocument
from trialwise.study.locating import opened
from trialwise.study.standing import State
from trialwise.study.standing import state as state_of
from trialwise.visible import visible

Level = Literal["quick", "drawn", "slow"]
PARTS: Mapping[Level, tuple[str, ...]] = {
    "quick": ("progress", "order", "failures"),
    "drawn": ("courses",),
    "slow": ("claims", "intervals"),
}
"""Parts by what they are read from: the ledger's rows, one column of its values, or all that an analysis takes."""
MOST_MARKS = 1500
"""Attempts of which the order is drawn."""
MOST_ROWS = 100
"""Rows of a table and lines of a list."""
MOST_CHARACTERS = 500_000
"""Characters of a part."""
_MOST_POSITIONS = 20
_MOST_TREATMENTS = 40
NOT_BY_EYE = (
    "Looking changes nothing: the experiment ends by the rule in its file. An interval that looks narrow now is no reason to stop: "
    "intervals that are chosen by eye hold less often than they say."
)


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a page: HTML of our own renderer, and numbers for what is drawn."""

    html: str
    data: Mapping[str, Any] = field(default_factory=dict[str, Any])


Parts = dict[str, Part]
Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class Quick:
    """What the rows of the ledger say: the state of the experiment, and the parts of the page that show it."""

    state: State
    parts: Parts


@dataclass(frozen=True, slots=True)
class Slow:
    """What the values say; `stopping` is None if the plan alone decides."""

    stopping: StoppingDocument | None
    courses: tuple[IntervalCourse, ...]
    parts: Parts


@dataclass(frozen=True, slots=True)
class Drawn:
    """How the intervals narrowed that need no analysis: those of metrics with a KPI and one value a trial."""

    courses: tuple[IntervalCourse, ...]
    parts: Parts


def quick(place: Place, known: StoppingDocument | None) -> Quick:
    """Read how far an experiment is; `known` is what was known last of its claims."""
    state = replace(state_of(place.path), stopping=known)
    parts = {"progress": _progress(state), "order": _order(place.path), "failures": _failures(state)}
    return Quick(state, parts)


def drawn(place: Place) -> Drawn:
    """Read what is drawn of intervals; with 100,000 trials it takes a hundredth of the time of an analysis."""
    with opened(place.path) as (experiment, _, ledger):
        found = latest_courses(experiment, ledger)
        trials = ledger.counts().get("finished", 0)
    courses = tuple(course for each in found.values() for course in each)
    data = {"courses": _drawn(courses), "trials": trials, "rule": NOT_BY_EYE} if courses else {}
    return Drawn(courses, {"courses": Part("", data)})


def slow(place: Place) -> Slow:
    """Analyse an experiment as `trialwise analyze` does; where one part cannot be had, the other can."""
    awaited, told = _or_refused(lambda: _claims(place), None)
    courses, intervals = _or_refused(lambda: _intervals(place), ())
    return Slow(awaited, courses, {"intervals": intervals, "claims": told})


def _or_refused(work: Callable[[], tuple[Answer, Part]], nothing: Answer) -> tuple[Answer, Part]:
    """Return an answer and its part, or nothing and why there is none."""
    try:
        return work()
    except BusyLedgerError:
        raise
    except TrialwiseError as error:
        return nothing, refusal(error)


# Progress


def _progress(state: State) -> Part:
    told = replace(state.document, failures=[], stopping=None, events=list(_last(state.events)))
    left_out = len(state.events) - len(told.events)
    further = (Note((f"{left_out} earlier events are left out here",), is_aside=True),) if left_out else ()
    document = status.document(told, state.failed)
    data = {
        "name": visible(state.name),
        "done": state.done,
        "planned": state.planned,
        "failed": state.failed,
        "active": state.is_active,
        "goes_on": state.goes_on,
        "seconds_left": told.seconds_left if state.is_active else None,
        "activity": visible(state.activity),
    }
    return Part(rendered(replace(document, method=(*document.method, *further))), data)


def _last(events: tuple[Event, ...]) -> tuple[Event, ...]:
    return events[-MOST_ROWS:]


# Order


def _order(path: Path) -> Part:
    with opened(path) as (_, _, ledger):
        begun, counts = ledger.order_of_begun(MOST_MARKS), ledger.counts_by_position()
    total = sum(count for *_, count in counts)
    names = list(dict.fromkeys(name for name, *_ in counts))[:_MOST_TREATMENTS]
    rank = {name: place for place, name in enumerate(names)}
    shown = [each for each in begun if each[1] in rank]
    data = {
        "treatments": [visible(name) for name in names],
        "marks": [
            [number, rank[name], status, turn, position] for number, name, status, turn, position in shown
        ],
        "total": total,
        "shown": len(shown),
    }
    return Part(rendered(_order_document(counts, names, total, len(shown))), data)


def _order_document(counts: list[tuple[str, int, int]], names: list[str], total: int, shown: int) -> Document:
    positions = sorted({position for _, position, _ in counts})
    kept = positions[:_MOST_POSITIONS]
    by = {(name, position): count for name, position, count in counts}
    rows = [(Name(name), *(str(by.get((name, position), 0)) for position in kept)) for name in names]
    titles = ("treatment", *(f"position {position}" for position in kept))
    table = table_of(
        "positions", "Attempts by position in their round", titles, rows, range(1, len(kept) + 1)
    )
    drawn = "all" if shown == total else f"the last {shown:,}"
    said = f"{total:,} attempts began; {drawn} are drawn, in the order in which they ran."
    if len(positions) > len(kept):
        said += f" {len(positions) - len(kept)} further positions are left out of the table."
    return Document("order", Verdict("plain", (said,)), (table,) if rows else ())


# Failures


def _failures(state: State) -> Part:
    failures = [failure for failure in state.document.failures if failure.status != "excluded"]
    shown = failures[-MOST_ROWS:][::-1]
    return Part(failures_html(shown, len(failures), state.failed))


def failures_html(shown: list[FailureDocument], total: int, failed: int) -> str:
    """Write attempts without a value, each with a link to what is kept of it."""
    template = environment().get_template("serve_failures.html.j2")
    return template.render(shown=shown, total=total, failed=failed)


# Claims and intervals


def _claims(place: Place) -> tuple[StoppingDocument | None, Part]:
    found = study.awaited_claims(place.path)
    stated = _stated(place)
    if found is None:
        told = Verdict("plain", ("The plan alone decides when this experiment ends; it waits for no claim.",))
        return None, Part(rendered(Document("stopping", told)) + stated)
    return found, Part(rendered(stopping.document(found, found.lifts)) + stated)


def _stated(place: Place) -> str:
    """Write what the data say of the claims in claims.toml, if there are some, or why that cannot be said."""
    file = place.claims()
    if file is None:
        return ""
    try:
        return rendered(claims.document(check_claims(file)))
    except BusyLedgerError:
        raise
    except TrialwiseError as error:
        return rendered(refused_document(error))


def _intervals(place: Place) -> tuple[tuple[IntervalCourse, ...], Part]:
    analysis = study.analyse(place.path, overview=True)
    verdicts = study.verdict_view(place.path) if analyze.asks_which_is_best(analysis) else None
    courses = interval_courses(analysis)
    finished = analysis.counts.get("finished", 0)
    with opened(place.path) as (experiment, _, ledger):
        elsewhere = latest_courses(experiment, ledger)
    others = [course for course in courses if course.metric not in elsewhere]
    data = {"courses": _drawn(others), "trials": finished, "rule": NOT_BY_EYE} if others else {}
    told = rendered(analyze.document(analysis, verdicts=verdicts))
    return courses, Part(told + _courses_table(courses), data)


def _courses_table(courses: Iterable[IntervalCourse]) -> str:
    """Write the last interval of each course, as text beside the drawing."""
    known = ((c, ends) for c in courses if (ends := _ends(c)) is not None)
    rows = [(Name(c.metric), Name(c.treatment), _what(c), str(c.points[-1].n), *ends) for c, ends in known]
    table = table_of(
        "courses",
        "The last interval of each course",
        ("metric", "treatment", "interval", "n", "low", "high"),
        rows,
        (3, 4, 5),
    )
    return _blocks((table,)) if rows else ""


def _what(course: IntervalCourse) -> str:
    what = "mean" if course.percentile is None else f"p{course.percentile:g}"
    return f"{what}, two-sided, {course.confidence:g} %"


def _ends(course: IntervalCourse) -> tuple[str, str] | None:
    """Return the last interval as text, or None if there are too few trials for one."""
    last = course.points[-1]
    if last.low is None or last.high is None:
        return None
    size = scale((last.low, last.high), course.unit)
    return size.with_unit(last.low, "down"), size.with_unit(last.high, "up")


def _drawn(courses: Iterable[IntervalCourse]) -> list[dict[str, Any]]:
    return [
        {
            "metric": visible(course.metric),
            "treatment": visible(course.treatment),
            "what": _what(course),
            "ends": _ends(course),
            "points": [[point.n, point.low, point.high] for point in course.points],
        }
        for course in courses
    ]


# Rendering


def refused_document(error: TrialwiseError) -> Document:
    """Return why something cannot be had: an experiment of which nothing has finished has no intervals."""
    hint = (Note((f"try: {error.hint}",), is_aside=True),) if error.hint else ()
    return Document("refusal", Verdict("open", (error.message,)), hint)


def refusal(error: TrialwiseError) -> Part:
    """Return a part that cannot be had."""
    return Part(rendered(refused_document(error)), {"refused": visible(error.message)})


def rendered(document: Document) -> Markup:
    """Render a document, with at most `MOST_ROWS` rows of each table and list."""
    cut = replace(
        document, evidence=tuple(map(_cut, document.evidence)), method=tuple(map(_cut, document.method))
    )
    return _within_bounds(html(cut))


def _blocks(blocks: tuple[Block, ...]) -> str:
    return rendered(Document("further", Verdict("plain", ()), blocks)).replace(
        '<p class="verdict plain"></p>\n', ""
    )


def _cut(block: Block) -> Block:
    """Limit the rows of a block, and leave out what this page does not draw."""
    match block:
        case Table() | Items():
            return replace(block, most=min(block.most or MOST_ROWS, MOST_ROWS))
        case Details() | Chapter():
            return replace(block, blocks=tuple(map(_cut, block.blocks)))
        case Figures() | Attached():
            return Note(())
        case _:
            return block


def _within_bounds(text: Markup) -> Markup:
    if len(text) <= MOST_CHARACTERS:
        return text
    return Markup(
        '<p class="warning">This part is too long for a page; the command line prints all of it.</p>'
    )
