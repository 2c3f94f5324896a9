"""From a checked document to the model, with the checks that span several keys."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import cast

from trialwise._core import counter_names
from trialwise.errors import PlanError
from trialwise.experiment import document as doc
from trialwise.experiment import model
from trialwise.experiment.design_building import build_design
from trialwise.experiment.document_machines import FreshDirectory, ResetSection, WorkersSection
from trialwise.experiment.document_values import Level
from trialwise.experiment.instruments import (
    INTERRUPTS,
    RESOURCES,
    instruments_of,
    is_counter,
)
from trialwise.experiment.metric_building import build_metric
from trialwise.experiment.path_building import PATH_KEYS, path_texts, path_trial
from trialwise.experiment.placeholders import BUILT_IN, COLLECTOR, level_text, names_in
from trialwise.experiment.positions import Key
from trialwise.experiment.problems import Problems, nearest, shown
from trialwise.experiment.shared_process import check_shared_process
from trialwise.experiment.simulation_building import (
    SIMULATION_KEYS,
    SIMULATION_METRIC_KEYS,
    simulation_texts,
    simulation_trial,
)
from trialwise.experiment.stopping import check_stopping
from trialwise.experiment.text import frozen_name, read_text

_PLACES = {
    "command": "trial.command or trial.environment",
    "path": "trial.scheme, trial.path or trial.environment",
    "simulation": "trial.scheme, trial.topology, trial.workload, trial.network or trial.controller",
}
MOST_TREATMENTS = 100_000
"""More combinations of levels than this are a mistake in the file."""

_RESETS = ("command", "service", "directory", "drop_caches", "reboot", "namespace")
_SYSTEM = {"bin", "boot", "dev", "etc", "lib", "lib32", "lib64", "proc", "sbin", "sys", "usr"}

LARGEST_DRAWN = 2**53
"""Up to here doubles hold every whole number."""


def build(document: doc.Document, path: Path, problems: Problems) -> model.Experiment:
    """Turn a checked document into the model; `path` is where the file stands.

    Every problem is noted; the experiment is only of use where none was.
    """
    factors = tuple(_factor(name, section, path, problems) for name, section in document.factors.items())
    _check_treatments(factors, problems)
    _check_placeholders(document, path, problems)
    section, trial = document.trial, _trial(document, problems)
    metrics = tuple(
        build_metric(name, item, section.kind, problems) for name, item in document.metrics.items()
    )
    experiment = model.Experiment(
        name=document.experiment.name,
        folder=path.resolve().parent,
        trial=trial,
        metrics=metrics,
        seed=document.experiment.seed,
        description=document.experiment.description,
        factors=factors,
        design=build_design(document, trial, metrics, factors, problems),
        reset=_reset(document.reset, problems),
        workers=_workers(document.workers, problems),
        measurement=_measurement(document, problems),
        instrumentation=_instrumentation(document, problems),
        runtime=section.runtime,
        warmup=0.0 if section.kind == "simulation" else section.warmup,
    )
    check_stopping(experiment, problems)
    check_shared_process(document, factors, problems)
    return experiment


# Factors


def _factor(name: str, section: Sequence[Level] | doc.Draw, path: Path, problems: Problems) -> model.Factor:
    if name in BUILT_IN:
        taken = ", ".join(f"{{{word}}}" for word in BUILT_IN)
        problems.add(("factors", name), f"this name is taken; built in are {taken}")
    if isinstance(section, doc.Draw):
        return _drawn(name, section.draw, path, problems)
    _check_levels(name, section, problems)
    return model.FixedFactor(name, tuple(section))


def _check_levels(name: str, levels: Sequence[model.Level], problems: Problems) -> None:
    seen: dict[object, model.Level] = {}
    for index, level in enumerate(levels):
        same = seen.get(level, seen.get(level_text(level)))
        if same is not None:
            how = "" if shown(same) == shown(level) else f" as {shown(same)}, which is the same value"
            problems.add(
                ("factors", name, index),
                f"the level {shown(level)} stands there already{how}",
                "every level once",
            )
        seen.setdefault(level, level)
        seen.setdefault(level_text(level), level)


def _check_treatments(factors: Sequence[model.Factor], problems: Problems) -> None:
    number = math.prod(len(factor.levels) for factor in factors if isinstance(factor, model.FixedFactor))
    if number > MOST_TREATMENTS:
        problems.add(
            ("factors",),
            f"the levels combine to {number} treatments; at most {MOST_TREATMENTS} can be planned",
            "have fewer levels, or draw a factor at random for each round: { draw = [ … ] }",
        )


def _drawn(
    name: str, draw: str | Sequence[Level] | doc.Range, path: Path, problems: Problems
) -> model.DrawnFactor:
    if isinstance(draw, doc.Range):
        return _drawn_from_range(name, draw, problems)
    if not isinstance(draw, str):
        return model.DrawnFactor(name, values=tuple(draw), origin="list")
    return model.DrawnFactor(name, values=_lines(name, draw, path, problems), origin=draw)


def _lines(name: str, draw: str, path: Path, problems: Problems) -> tuple[str, ...]:
    key = ("factors", name, "draw")
    frozen = path.parent / frozen_name(draw)
    try:
        text = read_text(frozen if frozen.is_file() else path.parent / draw)
        lines = (line.strip(" \t\r") for line in text.split("\n"))
    except PlanError as error:
        problems.add(key, f"the file to draw from: {error.message}")
        return ()
    values = tuple(line for line in lines if line)
    if not values:
        problems.add(key, f"nothing to draw from in {draw}", "write one value on each line")
    return values


def _drawn_from_range(name: str, draw: doc.Range, problems: Problems) -> model.DrawnFactor:
    key = ("factors", name, "draw")
    if not draw.low < draw.high:
        problems.add(key, f"low must be less than high; given: {draw.low} and {draw.high}")
    if draw.scale == "log" and draw.low <= 0:
        problems.add((*key, "low"), f"must be above 0 on a log scale; given: {draw.low}")
    integer = isinstance(draw.low, int) and isinstance(draw.high, int)
    if integer and max(-draw.low, draw.high) > LARGEST_DRAWN:
        problems.add(
            key, f"whole numbers are drawn between -2^53 and 2^53; given: {draw.low} and {draw.high}"
        )
    return model.DrawnFactor(
        name,
        low=float(draw.low),
        high=float(draw.high),
        integer=integer,
        logarithmic=draw.scale == "log",
        origin=f"{draw.low} to {draw.high}",
    )


# Placeholders


def _check_placeholders(document: doc.Document, path: Path, problems: Problems) -> None:
    factors = list(document.factors)
    used: set[str] = set()
    known = [*factors, *BUILT_IN]
    unseen = set(document.design.unseen)
    for key, text, more in (
        *((key, text, ()) for key, text in _texts(document, problems)),
        *_stream_texts(document, path, problems),
    ):
        names = names_in(text)
        for unknown in sorted(names - set(known) - set(more)):
            _note_unknown(key, unknown, [*known, *more], problems)
        for name in sorted(names & unseen):
            problems.add(key, f"uses {{{name}}}, which design.unseen hides from what runs")
        used |= names
    if document.trial.kind != "python":
        for unused in (name for name in factors if name not in used | unseen and name not in BUILT_IN):
            problems.add(
                ("factors", unused),
                "no text of the trial uses this factor, so all of its levels would run the same program",
                f"put {{{unused}}} into {_PLACES[document.trial.kind]}, or name it in design.unseen",
            )


def _note_unknown(key: Key, unknown: str, known: Sequence[str], problems: Problems) -> None:
    meant = nearest(unknown, known)
    did = f" did you mean {{{meant}}}?" if meant else ""
    problems.add(
        key,
        f"{{{unknown}}} is neither a factor nor built in;{did} known here: {', '.join(known)}",
        f"write {{{{{unknown}}}}} for the literal text {{{unknown}}}",
    )


def _texts(document: doc.Document, problems: Problems) -> Iterator[tuple[Key, str]]:
    """Every text in which placeholders are filled, with its key."""
    trial = document.trial
    for name in ("command", "prepare", "conclude", "directory"):
        for text in _each(getattr(trial, name)):
            yield ("trial", name), text
    for name, text in trial.environment.items():
        yield ("trial", "environment", name), text
    yield from _texts_of_kind(document, problems)
    for name, metric in document.metrics.items():
        for text in _each(metric.file):
            yield ("metrics", name, "file"), text
    if document.reset is not None:
        for name in ("service", "command", "check"):
            for text in _each(getattr(document.reset, name)):
                yield ("reset", name), text


def _texts_of_kind(document: doc.Document, problems: Problems) -> Iterator[tuple[Key, str]]:
    if document.trial.kind == "path":
        yield from path_texts(document)
    elif document.trial.kind == "simulation":
        yield from simulation_texts(document, problems)


def _stream_texts(
    document: doc.Document, path: Path, problems: Problems
) -> Iterator[tuple[Key, str, Sequence[str]]]:
    """The file of streams, in which the collector's address is filled too."""
    if document.measurement is None or document.measurement.config is None:
        return
    key = ("measurement", "config")
    try:
        frozen = path.parent / frozen_name(document.measurement.config)
        there = frozen if frozen.is_file() else path.parent / document.measurement.config
        yield key, read_text(there), (COLLECTOR,)
    except PlanError as error:
        problems.add(key, f"the file of streams: {error.message}")


def _each(value: object) -> list[str]:
    return [value] if isinstance(value, str) else cast("list[str]", value or [])


# Trial


def _trial(document: doc.Document, problems: Problems) -> model.Trial:
    section = document.trial
    environment = tuple(sorted(section.environment.items()))
    for name in section.environment:
        if not name or "=" in name or "\0" in name:
            problems.add(("trial", "environment", name), "cannot be the name of a variable")
    if section.kind == "path":
        _refuse_simulation_keys(document, problems)
        return path_trial(document, problems)
    if section.kind == "simulation":
        return simulation_trial(document, problems)
    _refuse_path_keys(document, problems)
    _refuse_simulation_keys(document, problems)
    if section.kind == "python":
        return _python_trial(section, environment, problems)
    if section.call is not None:
        problems.add(("trial", "call"), 'goes with kind = "python"; a command stands in trial.command')
    if section.command is None:
        problems.add(
            ("trial", "command"), "missing", 'write the command line, as in command = "sleep {duration}"'
        )
    return model.CommandTrial(
        command=_words(("trial", "command"), section.command, problems) or (),
        environment=environment,
        directory=section.directory,
        prepare=_words(("trial", "prepare"), section.prepare, problems),
        conclude=_words(("trial", "conclude"), section.conclude, problems),
        timeout=section.timeout,
        exit_codes=tuple(section.exit_codes),
        output_limit=section.output_limit,
        leftovers=section.leftovers,
        isolate=tuple(dict.fromkeys(section.isolate)),
    )


def _refuse_path_keys(document: doc.Document, problems: Problems) -> None:
    given = [("trial", name) for name in PATH_KEYS if name in document.trial.model_fields_set]
    given += [(name,) for name in ("schemes", "paths") if name in document.model_fields_set]
    given += [
        ("metrics", metric, name)
        for metric, section in document.metrics.items()
        for name in ("quantity", "flow", "bin")
        if name in section.model_fields_set
    ]
    for key in given:
        problems.add(key, 'goes with kind = "path"')


def _refuse_simulation_keys(document: doc.Document, problems: Problems) -> None:
    given = [("trial", name) for name in SIMULATION_KEYS if name in document.trial.model_fields_set]
    given += [
        ("metrics", metric, name)
        for metric, section in document.metrics.items()
        for name in SIMULATION_METRIC_KEYS
        if name in section.model_fields_set
    ]
    for key in given:
        problems.add(key, 'goes with kind = "simulation"')


def _python_trial(
    section: doc.TrialSection, environment: tuple[tuple[str, str], ...], problems: Problems
) -> model.PythonTrial:
    for name in ("command", "prepare", "conclude", "exit_codes", "output_limit", "leftovers"):
        if name in section.model_fields_set:
            problems.add(("trial", name), 'goes with kind = "command"')
    if section.call is None:
        problems.add(("trial", "call"), "missing", 'write call = "module:function"')
    isolate = tuple(dict.fromkeys(section.isolate))
    return model.PythonTrial(
        section.call or "", environment, section.directory, section.timeout, isolate, section.process
    )


def _words(key: Key, command: str | Sequence[str] | None, problems: Problems) -> tuple[str, ...] | None:
    """Split a command line as a shell would."""
    if command is None:
        return None
    try:
        words = tuple(shlex.split(command) if isinstance(command, str) else command)
    except ValueError as error:
        reason = str(error)
        problems.add(key, f"cannot be split as a shell would: {reason[:1].lower()}{reason[1:]}")
        return ("",)
    if not words or not words[0]:
        problems.add(key, "names no program")
    return words


def _reset(section: ResetSection | None, problems: Problems) -> model.Reset | None:
    if section is None:
        return None
    if not any(getattr(section, name) for name in _RESETS):
        problems.add(("reset",), "resets nothing", f"give at least one of {', '.join(_RESETS)}")
    path, template = section.directory, None
    if isinstance(path, FreshDirectory):
        path, template = path.path, path.template
    if path is not None:
        check_directory(("reset", "directory"), path, problems)
    return model.Reset(
        _words(("reset", "command"), section.command, problems),
        section.every,
        section.timeout,
        section.settle,
        section.service,
        path,
        template,
        section.drop_caches,
        section.reboot,
        _words(("reset", "check"), section.check, problems),
        section.namespace,
    )


def check_directory(key: Key, path: str, problems: Problems) -> None:
    """Note a problem where a folder that is to be emptied is not plainly one of the experiment's own.

    Relative, it lies below the folder of the experiment; absolute, at least three names deep and in no folder of the
    system.
    """
    parts = PurePosixPath(path).parts
    hint = "name a folder below that of the experiment file, or a whole path to a folder for this alone"
    if names_in(path):
        problems.add(key, "takes no {placeholder}: what is emptied stands in the file")
    elif ".." in parts:
        problems.add(key, f"{path} leads out of where it begins", hint)
    elif not parts:
        problems.add(key, "is the folder of the experiment, which is not emptied", hint)
    elif parts[0] == "~":
        problems.add(key, "~ is not replaced by your home", hint)
    elif parts[0] == "/" and (len(parts) < 4 or parts[1] in _SYSTEM):
        problems.add(key, f"{path} is not emptied: too much may stand in it", hint)


# Measurement


def _measurement(document: doc.Document, problems: Problems) -> model.Measurement | None:
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


# Instrumentation


def _instrumentation(document: doc.Document, problems: Problems) -> model.Instrumentation:
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


def _workers(section: WorkersSection, problems: Problems) -> model.Workers:
    given = section.model_fields_set
    if section.git is not None:
        for name in ("files", "exclude"):
            if name in given:
                problems.add(("workers", name), "does not go with git", "leave one of them out")
    if section.allocate is not None and "use" in given:
        problems.add(("workers", "use"), "does not go with allocate, which names the workers")
    if section.release is not None and section.allocate is None:
        problems.add(("workers", "release"), "goes with allocate")
    return model.Workers(
        use=tuple(section.use),
        files=tuple(section.files),
        exclude=tuple(section.exclude),
        git=section.git and (section.git.url, section.git.commit),
        setup=_words(("workers", "setup"), section.setup, problems),
        setup_timeout=section.setup_timeout,
        allocate=_words(("workers", "allocate"), section.allocate, problems),
        release=_words(("workers", "release"), section.release, problems),
        python=section.python,
        folder=section.folder,
        reconnect=section.reconnect,
        heartbeat=section.heartbeat,
    )
