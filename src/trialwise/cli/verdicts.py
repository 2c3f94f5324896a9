"""Verdicts between the treatments of whatever `analyze` and `report` read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trialwise.cli.reading import ReadingOptions
from trialwise.cli.tables import TableOptions
from trialwise.errors import TrialwiseError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from trialwise.analysis.comparison.between import VerdictSummary
    from trialwise.analysis.comparison.comparing import CompareOptions
    from trialwise.analysis.results import Analysis
    from trialwise.cli.spinner import StatusLine
    from trialwise.study.sources import Source

_ONE_TRIAL = "Treatments are not compared: all rows of each are one trial. Name a column with --trial where they are several."


def verdicts_between(
    source: Source,
    analysis: Analysis,
    table: TableOptions,
    reading: ReadingOptions,
    patience: StatusLine,
    margin: Sequence[str] = (),
) -> VerdictSummary:
    """Compare the treatments that were analysed; each `margin` is as of `compare`.

    Raises
    ------
    TrialwiseError
        A margin is invalid, or of a metric that was not analysed.
    """
    from trialwise import study
    from trialwise.analysis.comparison.between import VerdictSummary
    from trialwise.cli.tables import table_results
    from trialwise.study.sources import Directory, TableFile, verdicts_of

    options = _options(analysis, margin)
    if isinstance(source, Directory):
        return study.verdict_view(source.path, patience.drawing, patience.going, options)
    found = table_results(source.path, table, reading) if isinstance(source, TableFile) else source
    if found is None:
        return VerdictSummary(refusal=_ONE_TRIAL)
    return verdicts_of(found, analysis, patience.going, options)


def _options(analysis: Analysis, margin: Sequence[str]) -> CompareOptions:
    from trialwise.analysis.comparison.comparing import CompareOptions
    from trialwise.cli.comparison_options import margins

    common, own = margins(margin)
    known = [found.metric.name for found in analysis.metrics]
    for name in own:
        if name not in known:
            raise TrialwiseError(
                f"--margin {name}=…: there is no such metric", hint=f"there are: {', '.join(known)}"
            )
    return CompareOptions(margin=common, margins=own)
