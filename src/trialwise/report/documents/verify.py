"""What `trialwise verify` says: whether the files are those that were packed, then each claim as recomputed from the data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import PurePath

from trialwise.analysis.artifacts import (
    Integrity,
    KeptOutputs,
    PackedLedger,
    Rerun,
    Signed,
    Verified,
    VerifiedClaim,
)
from trialwise.report import document as doc
from trialwise.report.document import (
    Block,
    Cell,
    Code,
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
from trialwise.report.documents.prospects import difference_blocks, next_blocks, prospect_table
from trialwise.report.documents.rerun import rerun_blocks, words_of
from trialwise.report.numbers import counted, estimate
from trialwise.report.units import scale

_MOST = 20
CANNOT = (
    "A hash shows that nothing was changed since the manifest was written. It cannot show that the trials were measured as they say, "
    "that others were not left out, or who wrote the manifest: compare the identity with the one that its authors published."
)


def document(found: Verified) -> Document:
    """Return whether the artifact is whole and its claims hold, and the evidence."""
    return Document("verify", answer(found), tuple(_evidence(found)), (Note((CANNOT,)),))


def answer(found: Verified) -> doc.Verdict:
    """Return whether the artifact is whole and its claims hold, in one sentence."""
    integrity = found.integrity
    if integrity.is_whole and not found.is_whole:
        return doc.Verdict(
            "bad", (_named(found), f": the manifest fits, but {_not_whole(found)}. Do not use it.")
        )
    if integrity.has_its_files and integrity.signed is not None and integrity.signed.problem is not None:
        return doc.Verdict("bad", (_named(found), f": {integrity.signed.problem}. Do not use it."))
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


def _not_whole(found: Verified) -> str:
    if any(ledger.broken for ledger in found.ledgers):
        return "the ledger is not as it was recorded"
    return "what was kept of trials gives other numbers than the ledger"


def _named(found: Verified) -> Name:
    """Return the artifact without its folder, which may name a user."""
    return Name(PurePath(found.path).name or found.path)


def _answer_again(rerun: Rerun, whole: str, found: Verified) -> doc.Verdict:
    words = Counter(words_of(rerun))
    said = ", ".join(f"{number} {word}" for word, number in words.items())
    outcome: Outcome = "good" if found.exit_code == 0 else "bad" if found.exit_code == 1 else "open"
    of = counted(sum(words.values()), "claim")
    return doc.Verdict(outcome, (_named(found), f"{whole}; of {of} on the re-run: {said}."))


def _evidence(found: Verified) -> Iterator[Block]:
    yield Note((f"identity sha256:{found.integrity.identity}",), is_aside=True)
    yield from broken_blocks(found.integrity)
    yield from _ledgers(found)
    if not found.claims:
        return
    yield claims_table(found)
    if found.rerun is not None:
        yield from rerun_blocks(found.rerun)
    elif found.here is not None:
        yield prospect_table(found.here)
    yield Heading(("The sentences",))
    yield Items(tuple((Name(claim.result.id), ": ", Name(claim.result.text)) for claim in found.claims))
    if found.notes:
        yield Heading(("Notes on the data",))
        yield Items(tuple((Name(note),) for note in found.notes), most=6)
    if found.rerun is None and found.here is not None:
        yield from difference_blocks(found.here)
        yield from next_blocks(found, found.here)


def _signed(signed: Signed) -> Text:
    if signed.problem is not None:
        return (f"{signed.problem}{f' ({signed.key})' if signed.key else ''}",)
    if signed.name is None:
        return (
            f"signed by an unknown key {signed.key}: ",
            Code("--allowed-signers"),
            " names those that you know",
        )
    return ("signed by ", Name(signed.name), f" ({signed.key})")


def claims_table(found: Verified) -> Table:
    """Return the claims as recomputed from the packed data."""
    columns = (
        Column("claim"),
        Column("by the data"),
        Column("estimate", is_numeric=True),
        Column("n", is_numeric=True),
        Column("recomputed"),
        Column("what", is_remark=True),
    )
    rows = tuple(_row(claim, f"/claims/{at}/result") for at, claim in enumerate(found.claims))
    return Table("claims", ("Claims, recomputed from the packed data",), columns, rows, most=None)


def broken_blocks(integrity: Integrity) -> Iterator[Block]:
    """Yield who signed it, and the files that are not those of the manifest."""
    if integrity.signed is not None:
        yield Note(_signed(integrity.signed), is_aside=True)
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
        yield Items(tuple(ledger_texts(found)), most=_MOST)


def ledger_texts(found: Verified) -> Iterator[Text]:
    """Yield what the chains of the ledgers show."""
    return (text for ledger in found.ledgers for text in _ledger(ledger))


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
    yield from ((name, ": ", *text) for text in outputs_texts(ledger.outputs))


def outputs_texts(outputs: KeptOutputs | None) -> Iterator[Text]:
    """Yield how many numbers are those that were kept, and which are not."""
    if outputs is None or not outputs.total:
        said = "cannot be read" if outputs is None else "hold no number of it"
        yield (f"kept outputs {said}: the manifest alone speaks for them",)
        return
    yield (f"kept outputs agree with the ledger: {outputs.agree} of {counted(outputs.total, 'number')}",)
    yield from ((Name(text),) for text in outputs.differences)
    if more := outputs.differ - len(outputs.differences):
        yield (f"and {more} more that differ",)
    yield from (
        ("not compared: ", Name(reason), f" (trials {trials})")
        for reason, trials in outputs.uncompared.items()
    )
    if outputs.not_reached:
        yield (f"not compared: {counted(outputs.not_reached, 'number')}, which took too much time or memory",)


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
