"""What `trialwise calibrate` says: for which schemes and metrics an emulated path stands for a real one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import isfinite

from trialwise.analysis.likeness.results import Certificate, JudgedRow, Parameter, Search
from trialwise.report.document import (
    Block,
    Cell,
    Column,
    Document,
    Items,
    Name,
    Note,
    Outcome,
    Piece,
    Table,
    Text,
    Verdict,
    joined,
)
from trialwise.report.numbers import ABSENT, Number, counted, estimate, given

_OUTCOMES: dict[str, Outcome] = {
    "different": "bad",
    "equivalent": "good",
    "undecided": "open",
    "no inference": "open",
}
_SCALES = {"bit/s": ("Mbit/s", 1e-6), "s": ("ms", 1e3), "": ("%", 100.0), "packets": ("packets", 1.0)}
"""Units of parameters as people read them, with the factor."""
_MORE: tuple[Text, ...] = (("more: further trials on each side for a 90 % chance of a verdict.",),)
_ENDINGS: dict[str, str] = {
    "done": "",
    "nothing open": "; what was identified left nothing to search",
    "budget": "; the budget ended it",
    "given": "",
    "chosen": "",
    "not simulated": "no search: none of the schemes to fit can be simulated",
}


def document(found: Certificate) -> Document:
    """Return what the path may stand for, its parameters, the verdicts, what betrays it, and how it was fitted."""
    return Document("certificate", _answer(found), tuple(_evidence(found)), tuple(_method(found)))


def _answer(found: Certificate) -> Verdict:
    outcome: Outcome = "bad" if found.failed else "open" if found.open or not found.passed else "good"
    of_each = (
        ("stands for it in ", found.passed),
        ("is undecided in ", found.open),
        ("does not stand for it in ", found.failed),
    )
    said = [(words, *joined([Name(one) for one in metrics])) for words, metrics in of_each if metrics]
    text: Text = (
        "The path " + ("judged against " if _is_given(found) else "fitted to "),
        Name(found.real),
        " ",
        *(joined(said, "; ") if said else ("was not judged",)),
        ".",
    )
    return Verdict(outcome, text)


def _evidence(found: Certificate) -> Iterator[Block]:
    if found.parameters:
        yield _parameters(found.parameters)
    yield Note(("Uplink: ", Name(found.uplink), "."), is_aside=True)
    yield Note(("Downlink: ", Name(found.downlink), "."), is_aside=True)
    if found.doubts:
        yield Items(tuple((doubt,) for doubt in found.doubts))
    if found.judged:
        yield _rows("judged", "Held out: emulated against real", found.judged, "/judged")
    if found.left_out:
        caption = "Each fitted treatment against the path that is likest without it"
        yield _rows("left-out", caption, found.left_out, "/left_out")
    if found.betrayed is not None:
        yield Note((Name(found.betrayed), " betrays the path most: it is farthest from the real one."))
    if found.not_simulated:
        names = joined([Name(name) for name in found.not_simulated])
        yield Note(
            ("Not run in simulated time, because their schemes exist only as real programs: ", *names, ".")
        )
    yield from (Note((note,), is_aside=True) for note in found.notes)


def _parameters(parameters: Sequence[Parameter]) -> Table:
    columns = (
        Column("parameter"),
        Column("value", is_numeric=True),
        Column("95 % interval"),
        Column("source"),
        Column("from", is_remark=True),
    )
    rows = tuple(_parameter(one, f"/parameters/{place}") for place, one in enumerate(parameters))
    return Table("parameters", ("The path",), columns, rows)


def _parameter(one: Parameter, at: str) -> tuple[Cell, ...]:
    unit, factor = _SCALES[one.unit]

    def place(name: str) -> str:
        """Return where a number stands in the JSON document, unless it has another unit there."""
        return f"{at}/{name}" if factor == 1 else ""

    value = Number(one.value * factor, place("value"), unit) if isfinite(one.value) else "no limit"
    low = Number(one.low * factor, place("low"), "", "down")
    high: Piece = Number(one.high * factor, place("high"), unit, "up") if isfinite(one.high) else "…"
    return (one.name, value, (low, " to ", high), one.source, one.how)


def _rows(key: str, caption: str, rows: Sequence[JudgedRow], at: str) -> Table:
    columns = (
        Column("treatment"),
        Column("metric"),
        Column("real", is_numeric=True),
        Column("emulated", is_numeric=True),
        Column("difference", is_numeric=True),
        Column("verdict"),
        Column("more", is_numeric=True),
        Column("distance", is_numeric=True),
        Column("inside", is_numeric=True),
    )
    made = tuple(_row(row, f"{at}/{place}") for place, row in enumerate(rows))
    if all(row.distance is None for row in rows):
        facts = (*_reasons(rows), *_MORE)
        return Table(key, (caption,), columns[:-2], tuple(cells[:-2] for cells in made), facts, most=None)
    facts = (
        *_reasons(rows),
        *_MORE,
        ("distance: 1 is what the real path's own noise gives on average.",),
        ("inside: emulated trials within the interval that holds 90 % of real ones (with 95 %).",),
    )
    return Table(key, (caption,), columns, made, facts, most=None)


def _reasons(rows: Sequence[JudgedRow]) -> Iterator[Text]:
    """Yield why a verdict is another than that on the means."""
    for row in rows:
        if row.basis != "means":
            yield (Name(row.treatment), ", ", Name(row.metric), f": {row.reason}.")


def _row(row: JudgedRow, at: str) -> tuple[Cell, ...]:
    real, emulated = (Number(mean, f"{at}/means/{place}", row.unit) for place, mean in enumerate(row.means))
    return (
        Name(row.treatment),
        Name(row.metric),
        real,
        emulated,
        estimate(row.change, row.low, row.high, "%", sign=True) if row.change is not None else ABSENT,
        Verdict(_OUTCOMES[row.verdict], (row.verdict,)),
        Number(row.more, f"{at}/more", kind="count") if row.verdict == "undecided" else "",
        Number(row.distance, f"{at}/distance", digits=2),
        ABSENT if row.inside is None else Number(100 * row.inside, "", "%", digits=3),
    )


def _method(found: Certificate) -> Iterator[Block]:
    given_path = _is_given(found)
    fit: Text = (
        "Fitted to ",
        *joined([Name(name) for name in found.fitted]),
        f": what packets tell was identified first; {_searched(found.search)}. ",
    )
    yield Note(
        (
            *(_chosen(found) if given_path else fit),
            "Verdicts hold together in each table at ",
            given(found.confidence),
            f" ({found.correction}); emulated packets are {'real' if found.engine == 'emulated' else 'simulated'}. ",
            "Metrics are those of the experiments."
            if given_path
            else "Delays are those above the least of their trial: no clock of the other end is trusted.",
        )
    )
    if found.left_out:
        chosen = (
            "For a treatment left out, the path is the likest without it of those that the search evaluated"
        )
        simulated = "" if found.engine == "simulated" else " Their trials are simulated."
        yield Note((f"{chosen}; what was identified saw its packets.{simulated}",))
    span = f", trials of {found.span[0]} to {found.span[1]}" if found.span else ""
    yield Note(
        (f"Made {found.made} by Trialwise {found.version}{span}; seed {found.seed}; {found.digest}.",),
        is_aside=True,
    )


def _is_given(found: Certificate) -> bool:
    """Return whether the path was not fitted here, but is that of an experiment."""
    return found.search.ended in {"given", "chosen"}


def _chosen(found: Certificate) -> Text:
    search = found.search
    if search.ended == "given":
        return ("The path was given. ",)
    chosen, first = (Number(value, digits=2).text for value in (search.chosen, search.identified))
    return (
        f"Of {counted(search.evaluations, 'path')}, it is the one whose means are nearest in ",
        *joined([Name(name) for name in found.fitted]),
        f": their farness (0: the same means, 0.5: a margin apart, below 1) is {chosen}, that of the first path {first}. ",
    )


def _searched(search: Search) -> str:
    if not search.evaluations:
        return _ENDINGS[search.ended]
    trials = counted(search.trials, "trial")
    return (
        f"then {counted(search.evaluations, 'evaluation')} with {trials} of each treatment brought the mean distance from "
        f"{Number(search.identified, digits=3).text} to {Number(search.chosen, digits=3).text}{_ENDINGS[search.ended]}"
    )
