"""What a report says and shows of what is estimated from simulated trials."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from trialwise.analysis.estimation.results import Estimation
from trialwise.report.document import Block, Document, Figure, Figures, Heading, Items, Note, Verdict
from trialwise.report.estimation_tables import estimation_tables
from trialwise.report.estimation_text import duration_lines
from trialwise.report.figures.estimation import estimation_figures
from trialwise.report.figures.plot_data import ColumnData
from trialwise.report.figures.styles import Style
from trialwise.report.numbers import counted

_ESTIMANDS = (
    "Pooled is of all flows of all trials, with trials as the unit of the interval; per trial is the mean over trials of each one's "
    "own number; with few flows a trial they differ by tens of percent, and neither is a check of the other"
)


def document(
    found: Estimation, styles: Mapping[str, Style], names: Mapping[str, str], sheets: dict[str, ColumnData]
) -> Document:
    """Return the document of estimates; figures put their data into `sheets`, `names` are what treatments are called."""
    refused = [one for one in found.estimates if one.own.estimate is None]
    told = counted(len(found.estimates) - len(refused), "estimate")
    answer = f"{told}, {len(refused)} refused." if refused else f"{told}."
    lines = tuple(
        f"{one.metric}, {names.get(one.treatment, one.treatment)}: {one.own.note}" for one in refused
    )
    return Document(
        "estimates",
        Verdict("open" if refused else "good", (answer,)),
        (
            *(Note((note,), "warning") for note in found.notes),
            *_listed("Refused", lines),
            *_figures(estimation_figures(found, styles, names, sheets)),
            *estimation_tables(found, names),
            *_listed("Duration of a trial", tuple(duration_lines(found.durations, names))),
        ),
        (Note((_ESTIMANDS,)), *(Note((remark,)) for remark in found.remarks)),
    )


def _listed(title: str, lines: Sequence[str]) -> Iterator[Block]:
    if lines:
        yield Heading((title,))
        yield Items(tuple((line,) for line in lines))


def _figures(drawn: Iterable[Figure]) -> Iterator[Figures]:
    figures = tuple(drawn)
    for title, kinds in (
        ("By treatment", ("estimates", "slowdowns")),
        ("Duration of a trial", ("duration", "phases")),
    ):
        chosen = tuple(one for one in figures if one.key.startswith(kinds))
        if chosen:
            yield Figures(title, chosen)
