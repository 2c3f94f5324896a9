"""What `trialwise verify` says of a re-run: what will run, then the verdict on each claim and what would decide it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import PurePath

from trialwise.analysis.artifacts import Rerun
from trialwise.analysis.claims.reproduction import Reproduced, Word
from trialwise.analysis.claims.telescopes import Telescope
from trialwise.analysis.reruns import NotRun, PlannedRerun, Remeasured, Shown
from trialwise.experiment.quantity import duration_text
from trialwise.numbers import about, decimals
from trialwise.report import document as doc
from trialwise.report.comparison_words import difference_text
from trialwise.report.document import (
    Block,
    Cell,
    Column,
    Document,
    Heading,
    Items,
    Listing,
    Name,
    Note,
    Outcome,
    Table,
    Text,
)
from trialwise.report.numbers import ABSENT, counted, estimate
from trialwise.report.units import scale

_MOST = 20


def words_of(found: Rerun) -> tuple[Word, ...]:
    """Return the verdicts of a re-run, those on claims that it did not measure too."""
    return tuple(each.word for each in (*found.claims, *found.not_run))


_WORDS: dict[Word, Outcome] = {
    "reproduced": "good",
    "holds; sizes are not compared": "good",
    "not reproduced": "bad",
}


def planned_lines(plans: Sequence[PlannedRerun], place: str, rest: Sequence[NotRun]) -> Iterator[str]:
    """Yield what will run, before anything does: trials, time, cores, bytes, and what does not run."""
    for plan in plans:
        of = f"{counted(len(plan.treatments), 'treatment')} × rounds {plan.done + 1} to {plan.rounds}"
        whose = "the authors' time" if plan.pace is None else f"{about(plan.pace)} times the authors' time"
        size = f"about {decimals(max(plan.size / 2**20, 0.1), 1)} MiB in {place}/{plan.folder}"
        if not plan.trials:
            yield f"{', '.join(plan.claims)}: {counted(plan.rounds, 'round')} there already, nothing to run"
            continue
        yield (
            f"will run {counted(plan.trials, 'trial')} for {', '.join(plan.claims)} ({of}), "
            f"about {duration_text(plan.seconds)} ({whose}), one trial at a time (computed ones: all cores), {size}"
        )
    if not plans:
        yield "nothing will run"
    yield from (f"{each.id}: {each.word}: {each.why}" for each in rest)


def shown_document(shown: Sequence[Shown]) -> Document:
    """Return what would run for claims: the sections that run something, the environment, the files."""
    blocks = [block for each in shown for block in _shown(each)]
    return Document(
        "verify", doc.Verdict("plain", ("Nothing was run. This is what would run.",)), tuple(blocks)
    )


def _shown(each: Shown) -> Iterator[Block]:
    yield Heading((Name(each.id),))
    if each.why:
        yield Note((Name(each.why),))
        return
    said = counted(len(each.treatments), "treatment")
    yield Items(
        (
            (f"{said} of ", Name(each.folder), ": ", *doc.joined(map(Name, each.treatments))),
            ("environment: ", Name(each.environment)),
            ("written: the folder of the re-run, and what the programs write by themselves",),
            *(("needs ", Name(need)) for need in each.needs),
        ),
        most=_MOST,
    )
    yield Listing(each.sections, ("What the experiment file says of what runs",))
    yield Items(tuple((f"{file.sha256[:12]}… ", Name(file.name)) for file in each.files), most=_MOST)


def rerun_blocks(found: Rerun) -> Iterator[Block]:
    """Yield the verdicts on a re-run, what would decide the open ones, and what differs between the machines."""
    if found.claims:
        yield rerun_table(found)
    if remarks := (*not_run_texts(found), *rerun_remarks(found)):
        yield Items(remarks, most=None)
    if found.measured is not None:
        yield Note(spent_text(found.measured))
    if found.differences:
        yield Heading(("What differs and may matter, theirs | here",))
        yield Items(tuple((Name(difference_text(one)),) for one in found.differences), most=_MOST)
    if said := by_chance(found):
        yield Note(said)
    yield Note((ONE_HOST,))


def rerun_table(found: Rerun) -> Table:
    """Return the claims that were measured again, with their verdicts; the folder by its name alone, which may lie in a user's."""
    columns = (
        Column("claim"),
        Column("verdict"),
        Column("here", is_numeric=True),
        Column("n", is_numeric=True),
        Column("here against the authors'", is_numeric=True),
        Column("expected by theirs"),
    )
    rows = tuple(_again(claim, f"/rerun/claims/{at}") for at, claim in enumerate(found.claims))
    return Table("rerun", ("Claims on ", Name(PurePath(found.path).name)), columns, rows, most=None)


def not_run_texts(found: Rerun) -> Iterator[Text]:
    """Yield the claims that were not measured again, and why."""
    return ((Name(each.id), f": {each.word}: ", Name(each.why)) for each in found.not_run)


def rerun_remarks(found: Rerun) -> Iterator[Text]:
    """Yield what keeps verdicts open, and what would decide them."""
    for claim in found.claims:
        if claim.telescope is not None:
            yield (Name(claim.id), f": {_telescope_text(claim.telescope)}")
        if claim.why:
            yield (Name(claim.id), f": {claim.why}")
        if claim.here.reason:
            yield (Name(claim.id), ": ", Name(claim.here.reason))
        if claim.more is not None and found.measured is not None:
            took = found.measured.round_seconds.get(claim.id, 0.0) * claim.more
            yield (
                Name(claim.id),
                f": {counted(claim.more, 'more round')}, about {duration_text(took)}, would decide it if its number stays so",
            )


def _telescope_text(seen: Telescope) -> str:
    effect = f"effect here {about(seen.d)} standard deviations"
    if seen.is_too_small:
        return f"{effect}: too small to have been seen by the original (less than d33 = {about(seen.d33)})"
    if seen.d >= seen.d33:
        return f"{effect}: one that the original could see (d33 = {about(seen.d33)})"
    return (
        f"{effect}: it is not shown that the original could not see it (d33 = {about(seen.d33)}); "
        f"{counted(seen.enough, 'trial')} of each side would show it where there is none"
    )


def by_chance(found: Rerun) -> Text:
    """Return how many of several claims would hold by chance if each stood on its bound; nothing for one claim.

    What repeats bit by bit does so by no chance: such claims do not count.
    """
    bounded = [claim for claim in found.claims if claim.here.kind != "identical"]
    number = len(bounded)
    expected = sum(1 - claim.here.level / 100 for claim in bounded)
    return (
        (f"Of {number} claims that stood on their bounds, {about(expected)} would hold by chance.",)
        if number > 1
        else ()
    )


def spent_text(measured: Remeasured) -> Text:
    """Return what ran, for how long, and why it ended."""
    failed = f", of which {measured.failed} failed" if measured.failed else ""
    return (
        f"{counted(measured.trials, 'trial')}{failed} in {duration_text(measured.seconds)}; ",
        Name(measured.ended),
        ".",
    )


ONE_HOST = (
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
