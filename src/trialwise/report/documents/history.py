"""What `trialwise history` says: which series changed, between which commits or days, and by how much."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from trialwise.analysis.history import Change, History, Series
from trialwise.report.document import (
    Block,
    Cell,
    Column,
    Document,
    Heading,
    Items,
    Name,
    Note,
    Outcome,
    Table,
    Text,
    Verdict,
)
from trialwise.report.numbers import Number, counted, decimals, estimate, given, p_text
from trialwise.report.terminal_plot import sparkline
from trialwise.report.units import Scale, scale

_MOST = 20
"""Rows of a table in the terminal."""
_WIDTH = 16
"""Columns of a course in characters."""
_COMMIT = 40
"""Digits of a whole commit, of which `_SHORT` are shown."""
_SEEN, _MOST_CORRELATED = 0.005, 0.8
"""Correlations of neighbours that are told, and up to which the rate is known (`benches/changes.py`)."""
_SHORT = 8
_ERRORS = "The bounds of a size take its place as known; sizes of changes that were hardly found are too large on average."


def document(found: History, figures: Sequence[Block] = ()) -> Document:
    """Return the newest change, all changes, the series with their courses, what is too short, and the method."""
    return Document(
        "history",
        _answer(found),
        (
            *figures,
            *_changes(found),
            *_drifts(found),
            *_series(found, has_sketch=not figures),
            *_undecided(found),
            *_limits(found),
        ),
        (
            Note(
                (
                    _method(found),
                    given(100 * found.level, "%"),
                    f" for all series together where none changes. {_ERRORS}",
                )
            ),
        ),
    )


def shown_at(at: str) -> str:
    """Return a commit in as many digits as people use; anything else as it is."""
    return at[:_SHORT] if len(at) == _COMMIT and set(at) <= set("0123456789abcdef") else at


def title_of(series: Series, found: History) -> str:
    """Return the name of a series, with its machine if there are several."""
    several = len({each.machine for each in found.series}) > 1
    return f"{series.name} on {series.machine or 'an unnamed machine'}" if several else series.name


def _answer(found: History) -> Verdict:
    changed = [place for place, series in enumerate(found.series) if series.changes]
    moving = sum(series.drift_p_value is not None for series in found.series)
    of = f" of {counted(found.tested, 'series', 'series')}"
    if not found.tested:
        return Verdict("open", (f"No series is long enough: {_more(found)}.",))
    if not changed:
        drift = f"; {moving} drifted" if moving else ""
        unclear = sum(series.undecided for series in found.series)
        undecided = f"; {unclear} {'is' if unclear == 1 else 'are'} undecided" if unclear else ""
        return Verdict("plain", (f"No change of level was found in any{of}{drift}{undecided}.",))
    latest = max(changed, key=lambda place: _age(found.series[place]))
    series, last = found.series[latest], len(found.series[latest].changes) - 1
    change = series.changes[last]
    text: Text = (
        f"{len(changed)}{of} changed; the newest: ",
        Name(title_of(series, found)),
        " ",
        *_size(change, f"/series/{latest}/changes/{last}"),
        " from ",
        Name(shown_at(change.last)),
        " to ",
        Name(shown_at(change.first)),
        ".",
    )
    outcomes: dict[str, Outcome] = {"better": "good", "worse": "bad"}
    return Verdict(outcomes.get(change.meaning, "plain"), text)


def _age(series: Series) -> int:
    """Return how near the last change is to the end, as a number that grows with it."""
    return series.changes[-1].point - len(series.points)


def _more(found: History) -> str:
    least = min((series.more for series in found.series), default=0)
    return f"the longest needs {counted(least, 'more point')}" if least else "there is none"


def _size(change: Change, at: str) -> Text:
    if change.percent is None:
        return ("changed",)
    pointers = (f"{at}/percent", f"{at}/low", f"{at}/high")
    return (estimate(change.percent, change.low, change.high, "%", sign=True, pointers=pointers),)


def _changes(found: History) -> Iterator[Block]:
    rows = [
        _change_row(found, series, place, number)
        for place, series in enumerate(found.series)
        for number in range(len(series.changes))
    ]
    if rows:
        columns = (
            Column("series"),
            Column("last before"),
            Column("first after"),
            Column("change", is_numeric=True),
            Column("p", is_numeric=True),
            Column("", is_remark=True),
        )
        yield Table("changes", ("Changes",), columns, tuple(rows), most=_MOST)


def _change_row(found: History, series: Series, place: int, number: int) -> tuple[Cell, ...]:
    change, at = series.changes[number], f"/series/{place}/changes/{number}"
    return (
        Name(title_of(series, found)),
        Name(shown_at(change.last)),
        Name(shown_at(change.first)),
        _size(change, at),
        Number(change.p_value, f"{at}/p_value", kind="p_value"),
        change.meaning,
    )


def _drifts(found: History) -> Iterator[Block]:
    lines = tuple(
        _drift(found, series, f"/series/{place}")
        for place, series in enumerate(found.series)
        if series.drift_p_value is not None
    )
    if lines:
        yield Heading(("Drift, which no single commit or day explains",))
        yield Items(lines, most=_MOST)


def _drift(found: History, series: Series, at: str) -> Text:
    size: Text = ()
    if series.drift is not None:
        size = (
            Number(series.drift, f"{at}/drift", "%", sign=True, digits=2),
            " from the first to the last, ",
        )
    return (Name(title_of(series, found)), ": ", *size, *p_text(series.drift_p_value, f"{at}/drift_p_value"))


def _series(found: History, *, has_sketch: bool) -> Iterator[Block]:
    columns = (
        Column("series"),
        *((Column("course"),) if has_sketch else ()),
        Column("points", is_numeric=True),
        Column("gaps", is_numeric=True),
        Column("first", is_numeric=True),
        Column("last", is_numeric=True),
    )
    rows = tuple(_series_row(found, place, has_sketch=has_sketch) for place in range(len(found.series)))
    yield Table("series", (f"Series, {found.order}",), columns, rows, most=_MOST)


def _series_row(found: History, place: int, *, has_sketch: bool) -> tuple[Cell, ...]:
    series, at = found.series[place], f"/series/{place}"
    size = scale_of(series)
    last = len(series.points) - 1
    return (
        Name(title_of(series, found)),
        *((sparkline([point.value for point in series.points], _WIDTH),) if has_sketch else ()),
        Number(len(series.points), kind="count"),
        Number(series.gaps, f"{at}/gaps", kind="count"),
        _with_unit(series, size, 0, at),
        _with_unit(series, size, last, at),
    )


def scale_of(series: Series) -> Scale:
    """Return how the values of a series are shown."""
    return scale((point.value for point in series.points), series.unit)


def _with_unit(series: Series, size: Scale, point: int, at: str) -> Number:
    return Number(series.points[point].value, f"{at}/points/{point}/value", size.unit, power=size.power)


def _undecided(found: History) -> Iterator[Block]:
    lines: list[Text] = [
        (
            Name(title_of(series, found)),
            f": {_points_words(series)} cannot tell a change from neighbours that are alike",
        )
        for series in found.series
        if series.undecided
    ]
    if lines:
        yield Heading(("Undecided",))
        yield Items(tuple(lines), most=4)


def _points_words(series: Series) -> str:
    """Count the points, and their values where these are few, so that a finer unit would tell more."""
    values = len({point.value for point in series.points})
    said = f"{len(series.points)} points"
    return said if 2 * values > len(series.points) else f"{said} of only {counted(values, 'different value')}"


def _limits(found: History) -> Iterator[Block]:
    lines: list[Text] = [
        (Name(title_of(series, found)), f": {counted(series.more, 'more point')} needed")
        for series in found.series
        if series.more
    ]
    if lines:
        yield Heading(("Too short for any change to be found",))
        yield Items(tuple(lines), most=4)
    if found.notes:
        yield Heading(("Notes",))
        yield Items(tuple((Name(note),) for note in found.notes), most=6)


def _method(found: History) -> str:
    most = max((series.correlation for series in found.series if not series.more), default=0.0)
    correlated = ""
    if most >= _SEEN:
        allowed = "which is allowed for"
        if most > _MOST_CORRELATED:
            allowed = f"which is allowed for up to {_MOST_CORRELATED}"
        correlated = f"; neighbours correlate up to {decimals(most, 2)}, {allowed}"
    return f"{found.method[0].upper()}{found.method[1:]}{correlated}; false-positive rate "
