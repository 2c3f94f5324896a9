"""Records of figures, and what the figures of one metric share: names, styles, displayed unit, data."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence

import altair as alt

from trialwise.analysis.results import Analysis, MetricAnalysis
from trialwise.report import plot_rows
from trialwise.report.document import Figure
from trialwise.report.figures import encodings
from trialwise.report.figures.encodings import Chart
from trialwise.report.figures.palette import COLOURS, MOST
from trialwise.report.figures.plot_data import ColumnData, packed
from trialwise.report.figures.styles import styles
from trialwise.report.plot_rows import Row
from trialwise.report.tables import metric_scale


class FigureContext:
    """The context in which the figures of one metric are drawn; `sheets` collects their data, each once for the whole report."""

    def __init__(self, analysis: Analysis, found: MetricAnalysis, sheets: dict[str, ColumnData]) -> None:
        self.analysis = analysis
        self.found = found
        self.labels = plot_rows.labels(analysis)
        there, known = plot_rows.treatments(analysis, found), styles(analysis)
        self.names = [self.labels[name] for name in there]
        self.styles = {self.labels[name]: known[name] for name in there}
        self.series = list(analysis.series)
        self.scale = metric_scale(found)
        self.title = found.metric.name + self.scale.heading
        self._sheets = sheets

    def chart(self, rows: Sequence[Row]) -> Chart:
        """Return a chart of rows, in the displayed unit, and add the rows to the report's data."""
        return charted(plot_rows.in_unit(plot_rows.labelled(rows, self.labels), self.scale), self._sheets)

    def values(self, rows: Sequence[Row], *fields: str) -> list[float]:
        """Return the numbers in some fields of rows, in the displayed unit."""
        return [self.scale.factor * value for value in encodings.numbers(rows, *fields)]

    def figure(
        self,
        name: str,
        title: str,
        caption: str,
        alternative: str,
        chart: Chart,
        height: int = encodings.HEIGHT,
    ) -> Figure:
        """Return a figure of the metric."""
        metric = self.found.metric.name
        spec = encodings.finished(chart, height)
        return Figure(
            f"{name}-{metric}", title, caption, alternative, spec, file=f"{file_name(metric)}-{name}"
        )

    def coloured(self, drawn: Chart, *, lines: bool = True, shaped: bool = False) -> Chart:
        """Colour marks by treatment for up to six treatments, points also by shape; with more, use one colour."""
        if len(self.names) > MOST:
            return drawn.encode(color=alt.value(COLOURS[1]))
        shapes = {"shape": encodings.shape(self.styles)} if shaped else {}
        return drawn.encode(color=encodings.colour(self.styles, lines=lines), **shapes)

    def styled_by_treatment(self, lines: Chart) -> Chart:
        """Draw lines in the colours and dashes of up to six treatments; with more, only the chosen one stands out."""
        if len(self.names) <= MOST:
            return lines.encode(
                color=encodings.colour(self.styles, lines=True), strokeDash=encodings.dash(self.styles)
            )
        here = encodings.chosen(treatment=self.names)
        return lines.encode(
            detail="treatment:N",
            color=alt.condition(here, alt.value(COLOURS[1]), alt.value("#888")),
            opacity=alt.condition(here, alt.value(1), alt.value(0.3)),
        )


def file_name(name: str) -> str:
    """Return a name in characters that file names may contain."""
    return "".join(letter if letter.isalnum() or letter in "-_." else "-" for letter in name)


def charted(rows: Sequence[Row], sheets: dict[str, ColumnData]) -> Chart:
    """Return a chart of rows, and add the rows to `sheets`."""
    sheet = packed(rows)
    name = hashlib.sha256(json.dumps(sheet).encode()).hexdigest()[:12]
    sheets[name] = sheet
    return alt.Chart(alt.NamedData(name=name))
