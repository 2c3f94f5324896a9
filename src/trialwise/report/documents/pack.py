"""What `trialwise pack` says: where the archive is, what its claims cost, what was replaced, and what a badge still needs."""

from __future__ import annotations

from collections.abc import Iterator

from trialwise.analysis.artifacts import UNKNOWN_COST, Packed, PackedClaim, PackedExperiment, Replaced
from trialwise.report.document import (
    Block,
    Code,
    Column,
    Document,
    Heading,
    Items,
    Name,
    Note,
    Table,
    Text,
    Verdict,
)
from trialwise.report.numbers import ABSENT, Number, counted

_MOST = 8
_MEBIBYTE = 1 << 20


def document(found: Packed) -> Document:
    """Return where the archive is and its identity, then what its authors have to know before they publish it."""
    answer = (
        "wrote ",
        Name(found.path),
        f": {counted(found.files, 'file')}, identity sha256:{found.identity}",
    )
    evidence = (*_claims(found), *_listed("Programs", _programs(found)), *_listed("Private", _private(found)))
    ledgers = (
        (Name(each.name), f": head {each.head}, {counted(each.rows, 'row')}")
        for each in found.experiments
        if each.head is not None
    )
    excluded = ((Name(each.name), ": ", Name(text)) for each in found.experiments for text in each.excluded)
    left_out = ((Name(each),) for each in found.left_out)
    return Document(
        "pack",
        Verdict("good", answer),
        (
            *evidence,
            *_listed("Ledgers", ledgers),
            *_listed("Excluded trials", excluded),
            *_listed("Left out", left_out),
            *_listed("Rehearsal", _rehearsal(found)),
            *_listed("Badges", _badges(found)),
        ),
    )


def _listed(title: str, lines: Iterator[Text]) -> Iterator[Block]:
    if said := tuple(lines):
        yield Heading((title,))
        yield Items(said, most=_MOST)


def _claims(found: Packed) -> Iterator[Block]:
    if not found.claims:
        return
    columns = (
        Column("claim"),
        Column("by its data"),
        Column("trials", is_numeric=True),
        Column("time", is_numeric=True),
        Column("CPU time", is_numeric=True),
        Column("peak MiB", is_numeric=True),
        Column("disk MiB", is_numeric=True),
        Column("root"),
    )
    yield Table(
        "claims", ("Claims, and what their trials cost",), columns, tuple(map(_row, found.claims)), most=None
    )
    if any(claim.processor is None or claim.memory is None for claim in found.claims):
        yield Note((UNKNOWN_COST,), is_aside=True)


def _row(claim: PackedClaim) -> tuple[Name | Number | Text, ...]:
    return (
        Name(claim.result.id),
        (claim.result.verdict + (", as stated" if claim.expected else ""),),
        Number(claim.trials, kind="count"),
        Number(claim.seconds, kind="duration"),
        Number(claim.processor, kind="duration") if claim.processor is not None else (ABSENT,),
        Number(claim.memory / _MEBIBYTE, digits=2) if claim.memory is not None else (ABSENT,),
        Number(claim.size / _MEBIBYTE, digits=2),
        (ABSENT if claim.root is None else "yes" if claim.root else "no",),
    )


def _programs(found: Packed) -> Iterator[Text]:
    for experiment in found.experiments:
        if experiment.programs:
            yield (f"{counted(len(experiment.programs), 'file')} of ", Name(experiment.name), " packed")
        if experiment.packages:
            yield ("from packages: ", Name(", ".join(experiment.packages)))
        for outside in experiment.outside:
            yield (Name(outside.name), f" is not packed: {outside.why}; recorded as sha256 {outside.sha256}…")


def _private(found: Packed) -> Iterator[Text]:
    for each in found.replaced:
        if each.times:
            yield (Name(each.name), f" → {each.stand_in}, {counted(each.times, 'time')}")
        if each.stays:
            yield _staying(each)
    if found.removed:
        yield ("removed, since they look like secrets: ", Name(", ".join(found.removed)))


def _staying(each: Replaced) -> Text:
    return (
        Name(each.name),
        f" stays in {counted(each.stays, 'file')} of measured data and plans, which are not changed",
    )


def _rehearsal(found: Packed) -> Iterator[Text]:
    if found.rehearsal is None:
        return
    who = "another user" if found.rehearsal.by_another_user else "the same user"
    yield (f"in an empty folder, by {who}:",)
    for name, word in found.rehearsal.verdicts.items():
        yield (Name(name), f": {word}")


def _badges(found: Packed) -> Iterator[Text]:
    lacking = [
        what
        for what, there in (("authors (--author)", found.authors), ("a DOI (--doi)", found.doi))
        if not there
    ]
    yield (
        f"available: needs {' and '.join(lacking)}" if lacking else "available: a DOI and authors are stated",
    )
    unpacked = sum(_is_lacking(experiment) for experiment in found.experiments)
    yield (
        f"functional: {counted(unpacked, 'experiment')} with programs that are not packed: say how to get them"
        if unpacked
        else "functional: all programs of the experiments' folders are packed",
    )
    yield (
        "reproduced: ",
        "claims are stated" if found.claims else "needs claims: ",
        *(() if found.claims else (Code("trialwise claims DIR --suggest > claims.toml"), " beside DIR")),
    )


def _is_lacking(experiment: PackedExperiment) -> bool:
    return bool(experiment.outside)
