"""The report of an evaluator: the questions that artifact committees ask, each answered from what `trialwise verify` found."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from trialwise.analysis.artifacts import Here, Verified
from trialwise.analysis.claims.reproduction import NOT_REPRODUCED
from trialwise.analysis.environments import EnvironmentDifference
from trialwise.experiment.quantity import duration_text
from trialwise.report.comparison_words import difference_text
from trialwise.report.document import Block, Code, Document, Heading, Items, Name, Note, Outcome, Text
from trialwise.report.documents.prospects import difference_line, prospect_table, uncompared_blocks
from trialwise.report.documents.rerun import (
    ONE_HOST,
    by_chance,
    not_run_texts,
    rerun_remarks,
    rerun_table,
    spent_text,
    words_of,
)
from trialwise.report.documents.verify import CANNOT, answer, broken_blocks, claims_table, ledger_texts
from trialwise.report.numbers import counted

_MOST = 40
_HOLDING = ("reproduced", "holds; sizes are not compared")


def evaluation(found: Verified, here: Mapping[str, str]) -> Document:
    """Return the findings on an artifact in the order of an evaluator's questions.

    Parameters
    ----------
    here
        What describes this machine, without names of host and user.
    """
    return Document("verify", answer(found), tuple(_blocks(found, here)), (Note((CANNOT,)),))


def _blocks(found: Verified, here: Mapping[str, str]) -> Iterator[Block]:
    yield Note((f"identity sha256:{found.integrity.identity}",))
    yield Heading(("Q1. What does the paper claim?",))
    yield _items((Name(each.result.id), ": ", Name(each.result.text)) for each in found.claims)
    yield Heading(("Q2. How does the artifact relate to the claims?",))
    if found.claims:
        yield claims_table(found)
    yield Heading(("Q3. Is it complete, and what it was when it was packed?",))
    said = (
        "every file is as the manifest says"
        if found.integrity.is_whole
        else "files are not as the manifest says"
    )
    yield _items([(f"{counted(found.integrity.files, 'file')}: {said}",), *ledger_texts(found)])
    yield from broken_blocks(found.integrity)
    yield Heading(("Q4. Which hardware and software?",))
    yield _items((f"{name}: ", Name(value)) for name, value in here.items())
    if found.here is not None and found.here.claims:
        yield prospect_table(found.here)
        if found.rerun is None:
            yield Note(("What differs most, theirs | here:",))
            yield _items([difference_line(one) for one in _of_machines(found.here)])
            yield from uncompared_blocks(found.here)
    if found.rerun is not None and found.rerun.differences:
        yield Note(("What differs from the authors' machine, theirs | here:",))
        yield from _differences(found)
    yield Heading(("Q5. Was it easy to install?",))
    yield Note(("TODO: what you installed, and how long it took.",))
    yield Heading(("Q6. Does a simple run work?",))
    yield from _simple_run(found)
    yield Heading(("Q7. Are the results as expected?",))
    yield from _results(found)
    yield Heading(("Q8. What was not run, and why?",))
    yield _items(_not_run(found))
    yield Heading(("Badges (ACM 1.1)",))
    yield _items(_badges(found))


def _items(texts: Iterator[Text] | list[Text]) -> Block:
    found = tuple(texts)
    return Items(found, most=_MOST) if found else Note(("Nothing.",))


def _differences(found: Verified) -> Iterator[Block]:
    if found.rerun is not None:
        yield _items([(Name(difference_text(one)),) for one in found.rerun.differences])


def _of_machines(here: Here) -> Iterator[EnvironmentDifference]:
    """Yield the differences between machines: an artifact could name any file as a program, and its hash is not for others."""
    return (one for one in here.differences if one.block != "program")


def _simple_run(found: Verified) -> Iterator[Block]:
    measured = None if found.rerun is None else found.rerun.measured
    if measured is None:
        yield Note(
            ("Nothing was run. ", Code("trialwise verify ARTIFACT --kick"), " runs the smallest re-run.")
        )
        return
    yield Note(spent_text(measured))


def _results(found: Verified) -> Iterator[Block]:
    rerun = found.rerun
    if rerun is None or not rerun.claims:
        yield Note(("No claim was measured again.",))
        return
    yield rerun_table(rerun)
    tolerances: list[Text] = [
        (Name(each.id), ": tolerance ", Name(each.here.tolerance or "none stated"), *_minutes(found, each.id))
        for each in rerun.claims
    ]
    yield _items([*tolerances, *rerun_remarks(rerun)])
    if said := by_chance(rerun):
        yield Note(said)
    yield Note((ONE_HOST,))


def _minutes(found: Verified, claim: str) -> Text:
    measured = None if found.rerun is None else found.rerun.measured
    if measured is None or claim not in measured.rounds:
        return ()
    took = measured.rounds[claim] * measured.round_seconds[claim]
    return (f"; {counted(measured.rounds[claim], 'round')} here, about {duration_text(took)}",)


def _not_run(found: Verified) -> Iterator[Text]:
    if found.rerun is None:
        yield from (
            (Name(each.result.id), ": recomputed only: nothing was measured again") for each in found.claims
        )
        return
    yield from not_run_texts(found.rerun)


def _badges(found: Verified) -> Iterator[Text]:
    yield _badge(
        "Artifacts Available",
        "open",
        "look for a DOI or a link to an archival repository: no file can show it",
    )
    whole = found.is_whole and all(each.same is not False for each in found.claims)
    ran = found.rerun is not None and found.rerun.measured is not None and found.rerun.measured.trials > 0
    works = ran and found.rerun is not None and bool(found.rerun.claims)
    yield _badge(
        "Artifacts Evaluated: Functional",
        "good" if whole and works else "bad" if not whole else "open",
        f"files and ledgers {'are' if whole else 'are not'} as packed, results recomputed; "
        f"{'programs ran here' if works else 'its programs did not run here'}",
    )
    words = () if found.rerun is None else words_of(found.rerun)
    holding = sum(word in _HOLDING for word in words)
    outcome: Outcome = (
        "bad" if NOT_REPRODUCED in words else "good" if words and holding == len(words) else "open"
    )
    yield _badge(
        "Results Reproduced", outcome, f"{holding} of {counted(len(found.claims), 'claim')} on this machine"
    )


_MARKS: dict[Outcome, str] = {"good": "✓", "bad": "✗", "open": "?", "plain": "–"}


def _badge(name: str, outcome: Outcome, why: str) -> Text:
    return (f"{_MARKS[outcome]} {name}: {why}",)
