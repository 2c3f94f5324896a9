"""From the tables of a path trial to the model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import get_args

from trialwise import _core
from trialwise.experiment import document as doc
from trialwise.experiment import sources, trials
from trialwise.experiment.document_paths import FlowSection, LinkSection, PathSection
from trialwise.experiment.document_trial import TrialSection
from trialwise.experiment.engines import engine_of
from trialwise.experiment.metrics import MetricTable
from trialwise.experiment.placeholders import names_in
from trialwise.experiment.positions import Key
from trialwise.experiment.problems import Problems, nearest
from trialwise.experiment.quantities import QUANTITIES

COMMAND_KEYS = (
    "command",
    "call",
    "prepare",
    "conclude",
    "directory",
    "exit_codes",
    "output_limit",
    "keep",
    "leftovers",
    "isolate",
)
PATH_KEYS = ("scheme", "load", "flows", "interval", "path", "engine", "packets", "lateness")
_MOST_FLOWS = 1000
_FROM_FILES = ("trace:", "series:", "pattern:")
"""Links that name files are checked where they are run: an experiment can be read where its files are not."""


def path_settings(section: PathSection) -> trials.PathSettings:
    """The path of a table: its own keys both ways, each overridden by those of uplink or downlink."""
    both = _pairs(section)
    return trials.PathSettings(
        uplink=(_in_order(both | _pairs(section.uplink)),),
        downlink=(_in_order(both | _pairs(section.downlink)),),
        mtu=section.mtu,
        folder=section.folder,
    )


def check_paths(document: doc.Document, problems: Problems) -> None:
    """Note what no link can be, as far as it needs neither a factor nor a file."""
    tables: dict[Key, PathSection] = {("paths", name): table for name, table in document.paths.items()}
    if isinstance(document.trial.path, PathSection):
        tables[("trial", "path")] = document.trial.path
    for key, table in tables.items():
        both = _pairs(table)
        for own, place in ((table.uplink, "uplink"), (table.downlink, "downlink")):
            where = key if own is None else (*key, place)
            _check_link(where, both | _pairs(own), problems)


def path_trial(document: doc.Document, problems: Problems) -> trials.PathTrial:
    """The trial of a document whose kind is path; what is wrong is noted."""
    trial = document.trial
    for name in COMMAND_KEYS:
        if name in trial.model_fields_set:
            problems.add(("trial", name), 'does not go with kind = "path"')
    if trial.timeout is not None:
        problems.add(("trial", "timeout"), "a path trial ends at trial.runtime", "leave timeout out")
    engine = path_engine(trial.engine, problems)
    if engine == "simulated":
        for name in ("lateness", "environment"):
            if name in trial.model_fields_set:
                problems.add(("trial", name), 'does not go with engine = "simulated": no program runs')
    check_paths(document, problems)
    if trial.runtime is None:
        problems.add(("trial", "runtime"), "missing", 'say how long the flows run, as in runtime = "10s"')
    runtime = trial.runtime or 1.0
    if trial.warmup >= runtime:
        problems.add(("trial", "warmup"), "cuts off the whole trial", "make it shorter than trial.runtime")
    return trials.PathTrial(
        flows=_flows(trial, runtime, problems),
        path=_path(trial, problems),
        runtime=runtime,
        named_paths=tuple((name, path_settings(table)) for name, table in document.paths.items()),
        scheme_folders=tuple(document.schemes.folders),
        environment=tuple(sorted(trial.environment.items())),
        packets=trial.packets,
        lateness=trial.lateness,
        engine=engine,
    )


def path_engine(written: str | None, problems: Problems) -> trials.PathEngine:
    """The engine of a path trial; another one is noted, and so is one that a factor names."""
    allowed = get_args(trials.PathEngine)
    engine = engine_of(written, allowed, "path", problems)
    if names_in(engine):
        problems.add(
            ("trial", "engine"), 'is no factor of kind = "path"', f"write one of {', '.join(allowed)}"
        )
    return next((known for known in allowed if known == engine), allowed[0])


def path_source(key: Key, section: MetricTable, problems: Problems) -> sources.PathSource:
    """The source of a metric of a path trial: the quantity named, or the metric's own name."""
    for name in ("resource", "instrument", "stdout", "file", "json", "csv", "pattern", "time", "value"):
        if getattr(section, name) is not None:
            problems.add((*key, name), 'does not go with kind = "path"')
    name = section.quantity or str(key[-1])
    quantity = QUANTITIES.get(name)
    if quantity is None:
        meant = nearest(name, list(QUANTITIES))
        did = f'; did you mean "{meant}"?' if meant else ""
        where = (*key, "quantity") if section.quantity else key
        problems.add(
            where, f'"{name}" is nothing that a path trial measures{did}', f"known: {', '.join(QUANTITIES)}"
        )
    elif section.flow is not None and not quantity.per_flow:
        problems.add((*key, "flow"), f"{name} is of all flows together")
    if quantity is not None and section.unit not in ("", quantity.unit):
        problems.add((*key, "unit"), f'{name} is in "{quantity.unit}"', "leave unit out, or write this one")
    return sources.PathSource(name, section.flow, section.bin or sources.PathSource(name).bin)


def path_texts(document: doc.Document) -> Iterator[tuple[Key, str]]:
    """The texts of a path trial in which placeholders are filled."""
    trial = document.trial
    yield from ((("trial", name), text) for name in ("scheme", "load") if (text := getattr(trial, name)))
    if isinstance(trial.path, str):
        yield ("trial", "path"), trial.path
    elif trial.path is not None:
        yield from _path_texts(("trial", "path"), trial.path)
    for name, table in document.paths.items():
        yield from _path_texts(("paths", name), table)
    if isinstance(trial.flows, list):
        for index, flow in enumerate(trial.flows):
            yield ("trial", "flows", index, "scheme"), flow.scheme
            yield ("trial", "flows", index, "load"), flow.load


def _path_texts(key: Key, table: PathSection) -> Iterator[tuple[Key, str]]:
    parts: Mapping[Key, LinkSection | None] = {
        key: table,
        (*key, "uplink"): table.uplink,
        (*key, "downlink"): table.downlink,
    }
    for place, part in parts.items():
        yield from (((*place, name), text) for name, text in _pairs(part).items())


def _in_order(pairs: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    return tuple((name, pairs[name]) for name in LinkSection.model_fields if name in pairs)


def _pairs(section: LinkSection | None) -> dict[str, str]:
    """What a table says of a link, in the order of the keys."""
    if section is None:
        return {}
    values = {name: getattr(section, name) for name in LinkSection.model_fields}
    return {name: text for name, text in values.items() if text is not None}


def _check_link(key: Key, pairs: Mapping[str, str], problems: Problems) -> None:
    if any(names_in(text) or text.startswith(_FROM_FILES) for text in pairs.values()):
        return
    try:
        _core.check_link((tuple(pairs.items()),), ".")
    except ValueError as error:
        problems.add(key, str(error))


def _path(trial: TrialSection, problems: Problems) -> trials.PathSettings | str:
    if isinstance(trial.path, str):
        return trial.path
    if trial.path is None:
        problems.add(
            ("trial", "path"), "missing", 'describe it, as in path = { rate = "12Mbit/s", delay = "28ms" }'
        )
        return ""
    return path_settings(trial.path)


def _flows(trial: TrialSection, runtime: float, problems: Problems) -> tuple[trials.PathFlow, ...]:
    if isinstance(trial.flows, list):
        for name in ("scheme", "interval"):
            if name in trial.model_fields_set:
                problems.add(
                    ("trial", name), "goes with flows as a number; here each flow of the list has its own"
                )
        flows = [_flow(flow, trial) for flow in trial.flows for _ in range(flow.count)]
    else:
        if trial.scheme is None:
            problems.add(("trial", "scheme"), "missing", 'name the scheme, as in scheme = "{scheme}"')
        starts = (index * trial.interval for index in range(trial.flows or 1))
        flows = [trials.PathFlow(trial.scheme or "", start, load=trial.load) for start in starts]
    for flow in flows:
        if flow.start >= (flow.stop or runtime) or (flow.stop or runtime) > runtime:
            problems.add(
                ("trial", "flows"),
                f"a flow would run from {flow.start:g} s to {flow.stop or runtime:g} s of a trial of {runtime:g} s",
                "start it earlier, or make trial.runtime longer",
            )
            break
    if len(flows) > _MOST_FLOWS:
        problems.add(("trial", "flows"), f"{len(flows)} flows; at most {_MOST_FLOWS} can be run")
    return tuple(flows)


def _flow(flow: FlowSection, trial: TrialSection) -> trials.PathFlow:
    load = flow.load if "load" in flow.model_fields_set else trial.load
    return trials.PathFlow(flow.scheme, flow.start, flow.stop, flow.direction, load)
