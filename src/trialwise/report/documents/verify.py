"""What `trialwise verify` says: whether the files are those that were packed, then each claim as recomputed from the data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import PurePath

from trialwise.analysis.artifacts import Integrity, PackedLedger, Rerun, Verified, VerifiedClaim
from trialwise.analysis.claims.reproduction import Reproduced, Word
from trialwise.report import document as doc
from trialwise.report.comparison_words import difference_text
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
from trialwise.report.numbers import ABSENT, counted, estimate
from trialwise.report.units import scale

_MOST = 20
_CANNOT = (
    "A hash shows that nothing was changed since the manifest was written. It cannot show that the trials were measured as they say, "
    "that others were not left out, or who wrote the manifest: compare the identity with the one that its authors published."
)


def document(found: Verified) -> Document:
    """Return whether the artifact is whole and its claims hold, and the evidence."""
    return Document("verify", _answer(found), tuple(_evidence(found)), (Note((_CANNOT,)),))


def _answer(found: Verified) -> doc.Verdict:
    integrity = found.integrity
    if integrity.is_whole and not found.is_whole:
        return doc.Verdict(
            "bad",
            (_named(found), ": the manifest fits, but the ledger is not as it was recorded. Do not use it."),
        )
    if not integrity.is_whole:
        number = len(integrity.changed) + len(integrity.missing) + len(integrity.added)
        return doc.Verdict(
            "bad", (_named(found), f": {counted(number, 'file')} not as the manifest says. Do not use it.")
        )
    whole = f": unchanged since it was packed ({counted(integrity.files, 'file')})"
    if not found.claims:
        return doc.Verdict("open", (_named(found), f"{whole}; it states no claims."))
    failing = sum(not claim.holds for claim in found.claims)
    if found.rerun is not None:
        return _answer_again(found.rerun, whole, found)
    outcome: Outcome = {0: "good", 3: "open"}.get(found.exit_code, "bad")  # type: ignore[assignment]
    said = (
        f"{counted(len(found.claims), 'claim')} as the authors say"
        if not failing
        else f"{failing} of {counted(len(found.claims), 'claim')} not as the authors say"
    )
    return doc.Verdict(outcome, (_named(found), f"{whole}; {said}."))


def _named(found: Verified) -> Name:
    """Return the artifact without its folder, which may name a user."""
    return Name(PurePath(found.path).name or found.path)


def _answer_again(rerun: Rerun, whole: str, found: Verified) -> doc.Verdict:
    words = Counter(claim.word for claim in rerun.claims)
    said = ", ".join(f"{number} {word}" for word, number in words.items())
    outcome: Outcome = "good" if found.exit_code == 0 else "bad" if found.exit_code == 1 else "open"
    return doc.Verdict(
        outcome, (_named(found), f"{whole}; of {counted(len(rerun.claims), 'claim')} on the re-run: {said}.")
    )


def _evidence(found: Verified) -> Iterator[Block]:
    yield Note((f"identity sha256:{found.integrity.identity}",), is_aside=True)
    yield from _broken(found.integrity)
    yield from _ledgers(found)
    if not found.claims:
        return
    columns = (
        Column("claim"),
        Column("by the data"),
        Column("estimate", is_numeric=True),
        Column("n", is_numeric=True),
        Column("recomputed"),
        Column("what", is_remark=True),
    )
    rows = tuple(_row(claim, f"/claims/{at}/result") for at, claim in enumerate(found.claims))
    yield Table("claims", ("Claims, recomputed from the packed data",), columns, rows, most=None)
    if found.rerun is not None:
        yield from _rerun(found.rerun)
    yield Heading(("The sentences",))
    yield Items(tuple((Name(claim.result.id), ": ", Name(claim.result.text)) for claim in found.claims))
    if found.notes:
        yield Heading(("Notes on the data",))
        yield Items(tuple((Name(note),) for note in found.notes), most=6)


_WORDS: dict[Word, Outcome] = {
    "reproduced": "good",
    "holds; sizes are not compared": "good",
    "not reproduced": "bad",
}


def _rerun(found: Rerun) -> Iterator[Block]:
    columns = (
        Column("claim"),
        Column("verdict"),
        Column("here", is_numeric=True),
        Column("n", is_numeric=True),
        Column("here against the authors'", is_numeric=True),
        Column("expected by theirs"),
    )
    rows = tuple(_again(claim, f"/rerun/claims/{at}") for at, claim in enumerate(found.claims))
    caption = ("Claims on ", Name(found.path))
    yield Table("rerun", caption, columns, rows, most=None)
    if whys := tuple((Name(claim.id), f": {claim.why}") for claim in found.claims if claim.why):
        yield Items(whys)
    if found.differences:
        yield Heading(("What differs and may matter, theirs | here",))
        yield Items(tuple((Name(difference_text(one)),) for one in found.differences), most=_MOST)
    yield Note((_ONE_HOST,))


_ONE_HOST = (
    "What one machine shows holds on that machine. Here against the authors' is a factor for ratios and a difference else, with its "
    "interval; it agrees if that lies within the tolerance of the claim."
)


def _again(claim: Reproduced, at: str) -> tuple[Cell, ...]:
    here = claim.here
    size = scale((here.estimate, here.low, here.high), here.unit)
    between, low, high = claim.change or (None, None, None)
    return (
        Name(claim.id),
        doc.Verdict(_WORDS.get(claim.word, "open"), (claim.word,)),
        estimate(
            here.estimate,
            here.low,
            here.high,
            size.unit,
            power=size.power,
            pointers=(f"{at}/here/estimate", f"{at}/here/low", f"{at}/here/high"),
        ),
        " + ".join(map(str, here.n)),
        estimate(
            between,
            low,
            high,
            "" if claim.is_factor else here.unit,
            pointers=(f"{at}/change/0", f"{at}/change/1", f"{at}/change/2"),
        ),
        {True: "yes", False: "no", None: ABSENT}[claim.expected],
    )


def _broken(integrity: Integrity) -> Iterator[Block]:
    for title, names in (
        ("Changed", integrity.changed),
        ("Missing", integrity.missing),
        ("Not in the manifest", integrity.added),
    ):
        if names:
            yield Heading((title,))
            yield Items(tuple((Name(name),) for name in names), most=_MOST)


def _ledgers(found: Verified) -> Iterator[Block]:
    if found.ledgers:
        yield Heading(("Ledgers",))
        yield Items(tuple(text for ledger in found.ledgers for text in _ledger(ledger)), most=_MOST)


def _ledger(ledger: PackedLedger) -> Iterator[Text]:
    name = Name(ledger.folder)
    yield from ((name, ": ", Name(text)) for text in ledger.broken)
    if ledger.broken:
        return
    if ledger.head is None:
        yield (name, ": of a format without a hash chain: the manifest alone speaks for it")
        return
    upgraded = f"; {counted(ledger.later, 'row')} since an upgrade only" if ledger.later else ""
    yield (name, f": chain whole, {counted(ledger.rows, 'row')}, head {ledger.head}{upgraded}")


def _row(claim: VerifiedClaim, at: str) -> tuple[Cell, ...]:
    result = claim.result
    size = scale((result.estimate, result.low, result.high), result.unit)
    outcome: Outcome = "good" if claim.holds else "bad" if result.verdict == "contradicted" else "open"
    return (
        Name(result.id),
        doc.Verdict(outcome, (result.verdict + (", as stated" if claim.expected else ""),)),
        estimate(
            result.estimate,
            result.low,
            result.high,
            size.unit,
            power=size.power,
            pointers=(f"{at}/estimate", f"{at}/low", f"{at}/high"),
        ),
        " + ".join(map(str, result.n)),
        _recomputed(claim),
        (Name(result.metric), ": ", Name(result.subject)),
    )


def _recomputed(claim: VerifiedClaim) -> Cell:
    if claim.same is None:
        return doc.Verdict("open", ("no result was packed",))
    if claim.same:
        return doc.Verdict("good", ("the same",))
    return doc.Verdict("bad", (f"not the same: packed as {claim.authors}",))
