"""What `trialwise verify` says before anything runs: what each claim takes on this machine, what differs here, what to type next."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil
from shlex import quote

from trialwise.analysis.artifacts import Here, Prospect, Verified
from trialwise.analysis.environments import EnvironmentDifference
from trialwise.numbers import about
from trialwise.report.comparison_words import difference_text
from trialwise.report.document import (
    Block,
    Cell,
    Code,
    Column,
    Heading,
    Items,
    Name,
    Note,
    Table,
    Text,
    Verdict,
)
from trialwise.report.numbers import ABSENT, Number, counted

_KICK_MINUTES = 6
"""The budget of `--kick` where none is given."""
_MEBIBYTE = 1 << 20


def prospect_table(here: Here) -> Table:
    """Return what each claim takes on this machine, and what the authors' trials took."""
    columns = (
        Column("claim"),
        Column("runs here"),
        Column("--kick", is_numeric=True),
        Column("--claim", is_numeric=True),
        Column("trials", is_numeric=True),
        Column("CPU time", is_numeric=True),
        Column("peak MiB", is_numeric=True),
        Column("disk MiB", is_numeric=True),
        Column("root"),
    )
    rows = tuple(_row(claim, f"/here/claims/{at}") for at, claim in enumerate(here.claims))
    caption = ("What it takes to measure them again here",)
    return Table("here", caption, columns, rows, tuple(_facts(here)), most=None)


def _facts(here: Here) -> Iterator[Text]:
    yield from ((Name(each.id), ": ", Name(each.why)) for each in here.claims if each.why)
    if any(each.runs is None for each in here.claims):
        yield ("?: only its own code shows that, which was not run.",)
    if any(each.smallest is not None for each in here.claims):
        yield (
            "--kick and --claim: time of the smallest re-run, and of one that decides the claim, ",
            *_pace(here),
        )
    yield ("The other columns are of the authors' trials that the claim rests on.",)
    if here.needs:
        yield ("The authors state that it needs ", Name(", ".join(here.needs)), ".")


def _pace(here: Here) -> Text:
    known = [each for each in here.claims if each.pace is not None]
    if not known:
        return ("by the authors' time: no trial has run here yet.",)
    paces = dict.fromkeys(f"{about(each.pace or 0.0)} ({each.id})" for each in known)
    one = {about(each.pace or 0.0) for each in known}
    said = about(known[0].pace or 0.0) if len(one) == 1 else ", ".join(paces)
    return (f"by the authors' time times {said}, as trials here showed.",)


def _row(claim: Prospect, at: str) -> tuple[Cell, ...]:
    return (
        Name(claim.id),
        {True: Verdict("good", ("yes",)), False: "no", None: "?"}[claim.runs],
        Number(claim.smallest, f"{at}/smallest", kind="duration"),
        Number(claim.decided, f"{at}/decided", kind="duration"),
        Number(claim.trials, f"{at}/trials", kind="count"),
        Number(claim.processor, f"{at}/processor", kind="duration"),
        ABSENT if claim.memory is None else Number(claim.memory / _MEBIBYTE, digits=2),
        Number(claim.size / _MEBIBYTE, digits=2),
        ABSENT if claim.root is None else "yes" if claim.root else "no",
    )


def difference_blocks(here: Here) -> Iterator[Block]:
    """Yield the differences between the authors' machine and this one that matter most, and count the others."""
    if all(each.runs is False for each in here.claims):
        return
    yield Heading(("What differs most, theirs | here",))
    if not here.differences:
        yield Items((("nothing of what was recorded",),))
    else:
        yield Items(tuple(map(difference_line, here.differences)))
    if here.more:
        yield Note((f"{counted(here.more, 'other difference')} of the same or less weight.",), is_aside=True)

    yield from uncompared_blocks(here)


def uncompared_blocks(here: Here) -> Iterator[Block]:
    """Say how many of the packed experiments were not looked at, if any were not."""
    if here.uncompared:
        said = f"{counted(here.uncompared, 'further experiment')} not compared with this machine: in the unpacked artifact, "
        yield Note((said, Code("trialwise diff FOLDER here"), " compares one."), is_aside=True)


def difference_line(one: EnvironmentDifference) -> Text:
    """Return a difference, and why it may matter."""
    return (Name(difference_text(one)), f": {one.why}")


def next_blocks(found: Verified, here: Here) -> Iterator[Block]:
    """Yield commands to go on with."""
    yield Heading(("Next",))
    yield Items(tuple((Code(line),) for line in _next(found, here)))


def _next(found: Verified, here: Here) -> Iterator[str]:
    """Yield commands: to see what would run, for the smallest re-run and one that decides, for all differences, for a report."""
    of = f"trialwise verify {quote(found.path)}"
    can = [each for each in here.claims if each.smallest is not None and each.runs is not False]
    if can:
        names = ",".join(each.id for each in can)
        cheapest = min(each.smallest or 0.0 for each in can)
        minutes = max(ceil(cheapest / 60), _KICK_MINUTES)
        yield f"{of} --show {names}"
        yield f"{of} --kick --budget {minutes}min"
        yield f"{of} --claim {names}"
    if len(found.ledgers) == 1:
        yield f"trialwise diff {quote(found.path)} here"
    yield f"{of} --report ae.md"
