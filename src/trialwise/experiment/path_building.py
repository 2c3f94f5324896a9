"""Checks of a path trial that involve several keys."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping

from trialwise import _core
from trialwise.experiment import trials
from trialwise.experiment.file import document as doc
from trialwise.experiment.file.positions import Key
from trialwise.experiment.file.sections import made_of
from trialwise.experiment.placeholders import names_in
from trialwise.experiment.problems import Problems
from trialwise.experiment.quantity import seconds

_MAX_FLOWS = 1000
_FROM_FILES = ("trace:", "series:", "pattern:", "recording:")
"""Links with files are checked when they run, so that an experiment can be read where its files are missing."""

_OF_PACKETS = {
    "lateness": "no program runs",
    "environment": "no program runs",
    "retry": "another attempt computes the same again",
}
"""Keys of trials with real packets, and why those of simulated ones lack them."""


def path_trial(table: trials.PathTrialTable, document: doc.Document, problems: Problems) -> trials.PathTrial:
    """Build the trial of a document with the kind path; problems are noted."""
    if table.engine == "simulated":
        for name, why in _OF_PACKETS.items():
            if problems.given(("trial", name)):
                problems.add(("trial", name), f'does not go with engine = "simulated": {why}')
    for key, settings in _tables(document).items():
        for way in ("uplink", "downlink"):
            where = (*key, way) if problems.given((*key, way)) else key
            _check_link(where, getattr(settings, way), problems)
    if table.warmup >= table.runtime:
        problems.add(("trial", "warmup"), "cuts off the whole trial", "make it shorter than trial.runtime")
    flows = tuple(_flows(table, problems))
    _check_flows(flows, table.runtime, problems)
    return dataclasses.replace(
        made_of(trials.PathTrial, table, flows=flows),
        named_paths=tuple(document.paths.items()),
        scheme_folders=document.schemes.folders,
    )


def path_texts(document: doc.Document, problems: Problems) -> Iterator[tuple[Key, str]]:
    """Yield the texts of the paths of a document in which placeholders are filled."""
    for key, settings in _tables(document).items():
        for way in ("uplink", "downlink"):
            for name, text in _pairs(getattr(settings, way)).items():
                place = (*key, way, name)
                yield (place if problems.given(place) else (*key, name)), text


def _tables(document: doc.Document) -> Mapping[Key, trials.PathSettings]:
    """Return the paths that the file defines."""
    found: dict[Key, trials.PathSettings] = {("paths", name): each for name, each in document.paths.items()}
    own = getattr(document.trial, "path", None)
    return found | ({("trial", "path"): own} if isinstance(own, trials.PathSettings) else {})


def _pairs(way: trials.Groups) -> dict[str, str]:
    return {name: text for group in way for name, text in group}


def _check_link(key: Key, way: trials.Groups, problems: Problems) -> None:
    """Note invalid links, as far as the check needs neither a factor nor a file."""
    if any(names_in(text) or text.startswith(_FROM_FILES) for text in _pairs(way).values()):
        return
    try:
        _core.check_link(way, ".")
    except ValueError as error:
        problems.add(key, str(error))


def _flows(table: trials.PathTrialTable, problems: Problems) -> Iterator[trials.PathFlow]:
    if isinstance(table.listed, list):
        for name in ("scheme", "interval"):
            if problems.given(("trial", name)):
                problems.add(
                    ("trial", name),
                    "only valid with flows as a number; here each flow of the list has its own",
                )
        for flow in table.listed:
            own = made_of(trials.PathFlow, flow, load=flow.load or table.load)
            yield from [own] * flow.count
        return
    if table.scheme is None:
        problems.add(("trial", "scheme"), "missing", 'name the scheme, as in scheme = "{scheme}"')
    for index in range(table.listed):
        yield trials.PathFlow(table.scheme or "", index * table.interval, load=table.load)


def _check_flows(flows: tuple[trials.PathFlow, ...], runtime: float, problems: Problems) -> None:
    for flow in flows:
        if flow.start >= (flow.stop or runtime) or (flow.stop or runtime) > runtime:
            problems.add(
                ("trial", "flows"),
                f"a flow would run from {flow.start:g} s to {flow.stop or runtime:g} s of a trial of {runtime:g} s",
                "start it earlier, or make trial.runtime longer",
            )
            break
    for flow in flows:
        if not names_in(flow.delay):
            try:
                seconds(flow.delay)
            except ValueError as error:
                problems.add(("trial", "flows"), f"delay: {error}", 'write a time, as in delay = "20ms"')
                break
    if len(flows) > _MAX_FLOWS:
        problems.add(("trial", "flows"), f"{len(flows)} flows; at most {_MAX_FLOWS} can be run")
