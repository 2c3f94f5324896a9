"""What `trialwise diff` says: what matters most of what differs, by block, then what is unknown, and where results are compared."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from trialwise.analysis.diff import Diff
from trialwise.analysis.environments import EnvironmentDifference
from trialwise.analysis.influences import BLOCKS, FIRST
from trialwise.analysis.influences import Block as Part
from trialwise.report.comparison_words import difference_text
from trialwise.report.document import Block, Code, Document, Heading, Items, Name, Note, Text, Verdict
from trialwise.report.numbers import counted

_TITLES: dict[Part, str] = {
    "program": "Program and plan, A | B",
    "machine": "Machine, A | B",
    "state": "State, A | B",
}
_MOST = 12
"""Differences of one reason that are shown without --full."""
_MOST_UNKNOWN = 5


def document(found: Diff, *, full: bool = False) -> Document:
    """Return whether anything of ranks 1 to 3 differs, what it is, and how much else does; all of it if `full`."""
    shown = found.differences if full else found.first
    evidence: list[Block] = []
    for part in BLOCKS:
        evidence += _part(part, [one for one in shown if one.block == part])
    if not full and found.rest:
        evidence += [Heading(("Less important",)), Items((_folded(found.rest),))]
    if found.unknown:
        evidence += [Heading(("Unknown: recorded on one side only",)), _unknown(found.unknown, full=full)]
    return Document("diff", _answer(found), (*evidence, Heading(("Results",)), Items((_results(found),))))


def _answer(found: Diff) -> Verdict:
    if found.first:
        number = counted(len(found.first), "difference")
        return Verdict(
            "bad", (Name(found.a), " and ", Name(found.b), f" have {number} of ranks 1 to {FIRST}.")
        )
    if found.differences:
        number = counted(len(found.differences), "difference")
        return Verdict("good", (f"Nothing of ranks 1 to {FIRST} differs; {number} of other ranks.",))
    return Verdict("good", ("Nothing that both sides recorded differs.",))


def _part(part: Part, members: Sequence[EnvironmentDifference]) -> Iterator[Block]:
    if not members:
        return
    yield Heading((_TITLES[part],))
    for (rank, why), group in groupby(members, lambda one: (one.rank, one.why)):
        yield Note((f"rank {rank}, may matter because {why}",))
        yield Items(tuple((Name(difference_text(one)),) for one in group), most=_MOST)


def _folded(rest: Iterable[EnvironmentDifference]) -> Text:
    ranks = [f"{len(list(group))} of rank {rank}" for rank, group in groupby(one.rank for one in rest)]
    return (", ".join(ranks), ": ", Code("--full"), " names them")


def _unknown(unknown: Sequence[EnvironmentDifference], *, full: bool) -> Items:
    return Items(
        tuple((Name(difference_text(one)),) for one in unknown), most=None if full else _MOST_UNKNOWN
    )


def _results(found: Diff) -> Text:
    if found.results.refusal is not None:
        return ("not compared: ", Name(found.results.refusal))
    said = [f"{number} {word}" for word, number in found.results.verdicts.items() if number]
    where = Code(f"trialwise compare {found.a} {found.b}")
    return (f"{', '.join(said) or 'nothing in common'}: ", where, " says by how much")
