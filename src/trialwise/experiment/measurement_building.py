"""What a checked document has measured and recorded beside each trial."""

from __future__ import annotations

from collections.abc import Sequence

from trialwise._core import counter_names
from trialwise.experiment import document as doc
from trialwise.experiment import model
from trialwise.experiment.instruments import (
    INTERRUPTS,
    RESOURCES,
    instruments_of,
    is_counter,
)
from trialwise.experiment.positions import Key
from trialwise.experiment.problems import Problems, nearest, shown


def build_measurement(document: doc.Document, problems: Problems) -> model.Measurement | None:
    """The collector beside each trial, which a metric's source asks for too."""
    sources = [name for name, metric in document.metrics.items() if metric.source is not None]
    section = document.measurement
    if document.trial.kind == "path":
        given: list[Key] = [("metrics", name, "source") for name in sources]
        given += [("measurement",)] if section is not None else []
        for key in given:
            problems.add(key, 'goes with kind = "command" or "python"; a path has its own metrics')
    if section is None:
        return model.Measurement() if sources else None
    return model.Measurement(section.config, section.listen, section.patience, section.losses)


def build_instrumentation(document: doc.Document, problems: Problems) -> model.Instrumentation:
    """What is recorded of every trial; unknown counters, and metrics of what is not switched on, are noted."""
    section = document.instrumentation
    key: Key = ("instrumentation",)
    if document.trial.kind == "path" and "instrumentation" in document.model_fields_set:
        problems.add(key, 'goes with kind = "command" or "python"; a path has its own metrics')
    for index, name in enumerate(section.perf):
        if not is_counter(name):
            meant = nearest(name, counter_names())
            hint = (
                f'did you mean "{meant}"?' if meant else f"known: {', '.join(counter_names())}, and raw rNNN"
            )
            problems.add((*key, "perf", index), f"there is no counter {shown(name)}", hint)
    found = model.Instrumentation(
        tuple(dict.fromkeys(section.perf)),
        tuple(dict.fromkeys(section.cpus)),
        section.resources,
        section.interrupts,
    )
    known = list(instruments_of(found))
    for name, metric in document.metrics.items():
        if metric.instrument is not None and metric.instrument not in known:
            meant = nearest(metric.instrument, known)
            hint = f'did you mean "{meant}"?' if meant else _switch_on(metric.instrument, known)
            problems.add(
                ("metrics", name, "instrument"), f"{shown(metric.instrument)} is not switched on", hint
            )
    return found


def _switch_on(name: str, known: Sequence[str]) -> str:
    if name in RESOURCES:
        return "write resources = true into [instrumentation]"
    if name in INTERRUPTS:
        pinned = " and cpus = [ … ]" if name.startswith("cpus_") else ""
        return f"write interrupts = true{pinned} into [instrumentation]"
    if is_counter(name):
        return f'write perf = ["{name}"] into [instrumentation]'
    return (
        f"known here: {', '.join(known)}" if known else "[instrumentation] switches on what can be recorded"
    )
