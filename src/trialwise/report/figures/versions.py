"""Figures of `trialwise ab`: the change of each version, with its interval and the margin."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from trialwise.analysis.versions.results import SuiteResult, VersionsResult
from trialwise.report.comparison_words import by_metric, direction_of
from trialwise.report.document import Figure
from trialwise.report.documents.commands import named
from trialwise.report.figures.comparison import differences
from trialwise.report.figures.plot_data import ColumnData
from trialwise.report.figures.verdicts import differences_figure

_CAPTION = "Change against {} with intervals; the grey band is the margin, and open marks are undecided."


def versions_figures(found: VersionsResult | SuiteResult, sheets: dict[str, ColumnData]) -> Iterator[Figure]:
    """Yield a figure of each metric of versions that has intervals, and add its data to `sheets`; a suite has none."""
    if found.comparison is None or isinstance(found, SuiteResult):
        return
    first, *others = named(found.commands) if found.commands else found.versions
    names = dict(zip(found.versions[1:], others, strict=True))
    for rows in by_metric(found.comparison):
        labels = {row.treatment: names.get(row.treatment, others[-1]) for row in rows}
        picture = differences(rows, labels, direction_of if found.commands else None)
        if picture is not None:
            axis = picture.axis.replace("B − A", f"change against {first}").replace("% of A", "%")
            yield differences_figure(replace(picture, axis=axis), _CAPTION.format(first), sheets)
