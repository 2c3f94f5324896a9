"""What a checked document has measured and recorded beside each trial."""

from __future__ import annotations

from trialwise.experiment import document as doc
from trialwise.experiment import model
from trialwise.experiment.instruments import how_to_switch_on, instruments_of
from trialwise.experiment.problems import Problems, shown


def build_measurement(document: doc.Document) -> model.Measurement | None:
    """The collector beside each trial, which a metric's source asks for too."""
    sources = [name for name, metric in document.metrics.items() if metric.stream is not None]
    return document.measurement or (model.Measurement() if sources else None)


def check_instruments(document: doc.Document, problems: Problems) -> None:
    """Note metrics of what is not switched on."""
    known = list(instruments_of(document.instrumentation))
    for name, metric in document.metrics.items():
        if metric.instrument is not None and metric.instrument not in known:
            hint = how_to_switch_on(metric.instrument, known)
            problems.add(
                ("metrics", name, "instrument"), f"{shown(metric.instrument)} is not switched on", hint
            )
