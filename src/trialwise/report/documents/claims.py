"""What `trialwise claims` says: how many claims the data support, each with its numbers, and what would settle the open ones."""

from __future__ import annotations

from collections.abc import Iterator

from trialwise.analysis.claims.results import ClaimResult, ClaimsCheck, Verdict
from trialwise.analysis.unit_words import plural
from trialwise.report import document as doc
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
)
from trialwise.report.numbers import Number, counted, estimate, given
from trialwise.report.units import scale

_OUTCOMES: dict[Verdict, Outcome] = {"supported": "good", "contradicted": "bad", "undecided": "open"}


def document(found: ClaimsCheck) -> Document:
    """Return how many claims hold, a row for each, what is open and why, and the method."""
    return Document("claims", _answer(found), tuple(_evidence(found)), tuple(_method(found)))


def _answer(found: ClaimsCheck) -> doc.Verdict:
    total = len(found.claims)
    numbers = {verdict: sum(claim.verdict == verdict for claim in found.claims) for verdict in _OUTCOMES}
    said = [f"{number} {_is(number)} {verdict}" for verdict, number in numbers.items() if number]
    if len(said) > 1:
        text = f"Of {counted(total, 'claim')}, {', '.join(said[:-1])} and {said[-1]} by the data."
    else:
        verdict = found.verdict
        text = (
            f"The claim is {verdict} by the data."
            if total == 1
            else f"All {total} claims are {verdict} by the data."
        )
    return doc.Verdict(_OUTCOMES[found.verdict], (text.replace("undecided by the data", "undecided"),))


def _is(number: int) -> str:
    return "is" if number == 1 else "are"


def _evidence(found: ClaimsCheck) -> Iterator[Block]:
    columns = (
        Column("claim"),
        Column("verdict"),
        Column("what"),
        Column("estimate", is_numeric=True),
        Column("claimed", is_numeric=True),
        Column("n", is_numeric=True),
        Column("tolerance", is_numeric=True, is_remark=True),
    )
    several = len({claim.replication for claim in found.claims}) > 1
    rows = tuple(_row(claim, f"/claims/{place}", named=several) for place, claim in enumerate(found.claims))
    facts: tuple[Text, ...] = () if several else ((f"n counts {plural(found.claims[0].replication)}.",),)
    yield Table("claims", ("Claims",), columns, rows, facts, most=None)
    open_ones = tuple(
        _open(claim, f"/claims/{place}")
        for place, claim in enumerate(found.claims)
        if claim.verdict == "undecided"
    )
    if open_ones:
        yield Heading(("What would settle the others",))
        yield Items(open_ones)
    yield Heading(("The sentences",))
    yield Items(tuple((Name(claim.id), ": ", Name(claim.text)) for claim in found.claims))
    if found.notes:
        yield Heading(("Notes on the data",))
        yield Items(tuple((Name(note),) for note in found.notes), most=6)


def _row(claim: ClaimResult, at: str, *, named: bool) -> tuple[Cell, ...]:
    size = scale((claim.estimate, claim.low, claim.high), claim.unit)
    return (
        Name(claim.id),
        doc.Verdict(_OUTCOMES[claim.verdict], (claim.verdict,)),
        (Name(claim.metric), ": ", Name(claim.subject)),
        estimate(
            claim.estimate,
            claim.low,
            claim.high,
            size.unit,
            power=size.power,
            pointers=(f"{at}/estimate", f"{at}/low", f"{at}/high"),
        ),
        _claimed(claim, at),
        _n(claim, at, named=named),
        Name(claim.tolerance),
    )


def _claimed(claim: ClaimResult, at: str) -> Text:
    size = scale((claim.at_least, claim.at_most), claim.bound_unit)
    low, high = (
        Number(value, f"{at}/{name}", size.unit, power=size.power)
        for value, name in ((claim.at_least, "at_least"), (claim.at_most, "at_most"))
    )
    if claim.at_least is None:
        return ("≤ ", high)
    return ("≥ ", low) if claim.at_most is None else (low, " to ", high)


def _n(claim: ClaimResult, at: str, *, named: bool) -> Text:
    numbers = [Number(number, f"{at}/n/{place}", kind="count") for place, number in enumerate(claim.n)]
    first, *others = numbers
    joined: Text = (first, *(piece for one in others for piece in (" + ", one)))
    return (*joined, " ", plural(claim.replication)) if named else joined


def _open(claim: ClaimResult, at: str) -> Text:
    if claim.reason:
        return (Name(claim.id), ": ", Name(claim.reason))
    if claim.more is None:
        return (
            Name(claim.id),
            ": the estimate is about the bound; no number up to 10,000 gives a fair chance of a verdict",
        )
    side = " on each side" if len(claim.n) > 1 else ""
    units = claim.replication if claim.more == 1 else plural(claim.replication)
    more = Number(claim.more, f"{at}/more", kind="count")
    chance = f" more {units}{side} would give a verdict with a chance of 90 %, if the estimate is right"
    return (Name(claim.id), ": about ", more, chance)


def _method(found: ClaimsCheck) -> Iterator[Block]:
    methods = list(dict.fromkeys(claim.method for claim in found.claims if claim.method))
    levels = list(dict.fromkeys(claim.level for claim in found.claims))
    pieces: list[doc.Piece] = ["Each claim is judged by itself, at a level of "]
    for place, level in enumerate(levels):
        pieces += [", " if place else "", given(level, "%")]
    pieces.append(
        ": it is supported if the interval lies where the claim says, and contradicted if it lies elsewhere. Each bound of an "
        "interval holds at that level. Nothing is corrected for the number of claims. "
    )
    yield Note((*pieces, f"Intervals: {'; '.join(methods)}." if methods else ""))
