"""What figures are, and what those of one metric share: names, looks, the unit that is shown, data."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt

from trialwise.analysis.results import Analysis, MetricAnalysis
from trialwise.report import points
from trialwise.report.figures import marks
from trialwise.report.figures.looks import looks
from trialwise.report.figures.marks import Chart
from trialwise.report.figures.palette import COLOURS, MOST
from trialwise.report.figures.sheets import Sheet, packed
from trialwise.report.points import Row
from trialwise.report.tables import metric_scale


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure: `spec` is Vega-Lite, `caption` says what is seen, `alternative` is read to those who cannot see it.

    `whole`: it takes the whole width of the page; `least` is the width in pixels below which it is scrolled, 0 for none.
    """

    key: str
    title: str
    caption: str
    alternative: str
    spec: dict[str, Any]
    whole: bool = False
    least: int = 0


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

    def told_apart(self, lines: Chart) -> Chart:
        """Lines in the colours and dashes of up to six treatments; of more, the one that is chosen stands out."""
        if len(self.names) <= MOST:
            return lines.encode(color=marks.colour(self.looks), strokeDash=marks.dash(self.looks))
        here = marks.chosen(treatment=self.names)
        return lines.encode(
            detail="treatment:N",
            color=alt.condition(here, alt.value(COLOURS[1]), alt.value("#888")),
            opacity=alt.condition(here, alt.value(1), alt.value(0.3)),
        )


def charted(rows: Sequence[Row], sheets: dict[str, Sheet]) -> Chart:
    """A chart of rows, which are put among `sheets`."""
    sheet = packed(rows)
    name = hashlib.sha256(json.dumps(sheet).encode()).hexdigest()[:12]
    sheets[name] = sheet
    return alt.Chart(alt.NamedData(name=name))
