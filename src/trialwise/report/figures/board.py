"""What figures are, and what those of one metric share: names, looks, the unit that is shown, data."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence

import altair as alt

from trialwise.analysis.results import Analysis, MetricAnalysis
from trialwise.report import points
from trialwise.report.document import Figure
from trialwise.report.figures import marks
from trialwise.report.figures.looks import looks
from trialwise.report.figures.marks import Chart
from trialwise.report.figures.palette import COLOURS, MOST
from trialwise.report.figures.sheets import Sheet, packed
from trialwise.report.points import Row
from trialwise.report.tables import metric_scale


class Board:
    """What the figures of one metric are drawn from; `sheets` collects their data, each once for the whole report."""

    def __init__(self, analysis: Analysis, found: MetricAnalysis, sheets: dict[str, Sheet]) -> None:
        self.analysis = analysis
        self.found = found
        self.labels = points.labels(analysis)
        there, known = points.treatments(analysis, found), looks(analysis)
        self.names = [self.labels[name] for name in there]
        self.looks = {self.labels[name]: known[name] for name in there}
        self.series = list(analysis.series)
        self.scale = metric_scale(found)
        self.title = found.metric.name + self.scale.heading
        self._sheets = sheets

    def chart(self, rows: Sequence[Row]) -> Chart:
        """A chart of rows, in the unit that is shown, which are put among the data of the report."""
        return charted(points.in_unit(points.labelled(rows, self.labels), self.scale), self._sheets)

    def values(self, rows: Sequence[Row], *fields: str) -> list[float]:
        """The numbers in some fields of rows, in the unit that is shown."""
        return [self.scale.factor * value for value in marks.numbers(rows, *fields)]

    def figure(
        self, name: str, title: str, caption: str, alternative: str, chart: Chart, height: int = marks.HEIGHT
    ) -> Figure:
        """A figure of the metric."""
        metric = self.found.metric.name
        spec = marks.finished(chart, height)
        return Figure(
            f"{name}-{metric}", title, caption, alternative, spec, file=f"{file_name(metric)}-{name}"
        )

    def coloured(self, drawn: Chart, *, lines: bool = True, shaped: bool = False) -> Chart:
        """Marks in the colours of up to six treatments, points with their shapes; of more, those that are chosen in one colour."""
        if len(self.names) > MOST:
            return drawn.encode(color=alt.value(COLOURS[1]))
        shapes = {"shape": marks.shape(self.looks)} if shaped else {}
        return drawn.encode(color=marks.colour(self.looks, lines=lines), **shapes)

    def told_apart(self, lines: Chart) -> Chart:
        """Lines in the colours and dashes of up to six treatments; of more, the one that is chosen stands out."""
        if len(self.names) <= MOST:
            return lines.encode(color=marks.colour(self.looks, lines=True), strokeDash=marks.dash(self.looks))
        here = marks.chosen(treatment=self.names)
        return lines.encode(
            detail="treatment:N",
            color=alt.condition(here, alt.value(COLOURS[1]), alt.value("#888")),
            opacity=alt.condition(here, alt.value(1), alt.value(0.3)),
        )


def file_name(name: str) -> str:
    """A name in letters that names of files may have."""
    return "".join(letter if letter.isalnum() or letter in "-_." else "-" for letter in name)


def charted(rows: Sequence[Row], sheets: dict[str, Sheet]) -> Chart:
    """A chart of rows, which are put among `sheets`."""
    sheet = packed(rows)
    name = hashlib.sha256(json.dumps(sheet).encode()).hexdigest()[:12]
    sheets[name] = sheet
    return alt.Chart(alt.NamedData(name=name))
