"""What `trialwise tilt` says: the tilt of each scheme, how it was found, and what it gains."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from trialwise.report.document import (
    Block,
    Cell,
    Document,
    Heading,
    Items,
    Listing,
    Name,
    Note,
    Text,
    Verdict,
    table_of,
)
from trialwise.report.numbers import Number, counted, decimals, given

if TYPE_CHECKING:
    from trialwise.study.tilt_document import TiltChoice, TiltDocument


def document(found: TiltDocument, tables: tuple[str, ...] = ()) -> Document:
    """Return how many tilts there are, then each; `tables` are lines for the experiment file."""
    tilts = sum(choice.tilt is not None for choice in found.choices)
    of = counted(len(found.choices), "workload")
    verdict = Verdict(
        "good" if tilts else "open", (Name(found.experiment), f": {counted(tilts, 'tilt')} for {of}")
    )
    evidence = [block for choice in found.choices for block in _choice(found, choice)]
    if found.left_out:
        names = ", ".join(found.left_out)
        evidence.append(Note((f"left out, since they are no tail quantiles of completion times: {names}",)))
    return Document("tilt", verdict, (*evidence, *([Listing(tables, indent=0)] if tables else [])))


def _choice(found: TiltDocument, choice: TiltChoice) -> Iterator[Block]:
    flows = Number(choice.expected_flows, digits=3)
    rank = given(choice.percentile, "")
    yield Heading(
        (
            Name(choice.name),
            ": metric ",
            Name(found.metric),
            " (p",
            rank,
            "), ",
            flows,
            f" flows in a trial; {choice.method}",
        )
    )
    if choice.epochs:
        yield from _search(choice)
    gain = Number(choice.surrogate_gain, digits=3)
    none = () if choice.tilt else (("no tilt: sizes are drawn as they are",),)
    said: tuple[Text, ...] = (
        ("variance of a trial's tail without over with the tilt, on the fluid model: ", gain),
    )
    yield Items((*said, *none))
    begin = "warning: " if choice.tilt is not None else ""
    yield from (Note((f"{begin}{warning}",), "warning") for warning in choice.warnings)


def _search(choice: TiltChoice) -> Iterator[Block]:
    titles = ("family", "mean over true", "error (rms)", "largest error", "beyond the largest")
    rows = [
        (
            fit.family,
            *(Number(each, digits=3) for each in (fit.mean_ratio, fit.rmse, fit.largest_error)),
            Number(fit.beyond, digits=2),
        )
        for fit in choice.fits
    ]
    yield table_of("fits", "", titles, rows, range(1, 5))
    asked, offered = (Number(100 * each, unit="%", digits=3) for each in (choice.load, choice.true_load))
    yield Items((("arrivals set for ", asked, " offer ", offered, " with the fitted sizes"),))
    yield table_of(
        "epochs", "", ("epoch", "mean of ln S", "deviation", "threshold"), _epochs(choice), range(4)
    )


def _epochs(choice: TiltChoice) -> Iterator[tuple[Cell, ...]]:
    for number, each in enumerate(choice.epochs, 1):
        threshold = Number(each.threshold, unit="ms", power=-3)
        yield str(number), decimals(each.tilted_mu, 3), decimals(each.tilted_sigma, 3), threshold
