"""The parts of one trial over a path: its flows with their schemes, and its links."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from trialwise import _core, _linux
from trialwise.errors import PlanError, TrialError
from trialwise.experiment.model import Experiment, Level
from trialwise.experiment.named_paths import path_named
from trialwise.experiment.placeholders import fill
from trialwise.experiment.quantity import seconds
from trialwise.experiment.traits import assumed
from trialwise.experiment.trials import NO_FLOW, Groups, PathFlow, PathSettings, PathTrial, with_ways
from trialwise.schemes.library import scheme_named
from trialwise.schemes.python_class import PREFIX, python_scheme
from trialwise.schemes.scheme import Scheme
from trialwise.trials.flow_lists import Arrivals, FlowList, drawn, write_flows
from trialwise.trials.held_files import HeldFiles, files_named, with_frozen
from trialwise.trials.loads import Load, parse_load, require_known

FIRST_PORT = 5201
"""The port of the first flow; the others follow."""
NOWHERE: Mapping[str, Level] = {
    **dict.fromkeys(("seed", "series", "round", "position", "trial"), 0),
    "directory": ".",
}
"""Stand-ins for the built-in placeholders when no trial runs."""


@dataclass(frozen=True, slots=True)
class FlowPlan:
    """A flow ready to run: number (from 1), its definition, its scheme, its load, its stop time, and its own delay (seconds)."""

    number: int
    flow: PathFlow
    scheme: Scheme
    load: Load
    stop: float
    delay: float

    @property
    def port(self) -> int:
        """The port of the waiting side."""
        return FIRST_PORT + self.number - 1

    @property
    def lasts(self) -> bool:
        """Whether its load may be cut off when it is stopped."""
        return self.load.lasts


def trial_of(experiment: Experiment) -> PathTrial:
    """Return the trial of an experiment whose kind is path."""
    return assumed(experiment.trial, PathTrial)


def flow_plans(experiment: Experiment, values: Mapping[str, Level]) -> list[FlowPlan]:
    """Return the flows that run in a trial with these factors, with their numbers in the file.

    Raises
    ------
    PlanError
        A scheme is unknown, a load invalid, or no flow runs.
    """
    trial = trial_of(experiment)
    folders = [experiment.folder / folder for folder in trial.scheme_folders]
    filled = (
        dataclasses.replace(
            flow,
            scheme=fill(flow.scheme, values),
            load=fill(flow.load, values),
            delay=fill(flow.delay, values),
        )
        for flow in trial.flows
    )
    flows = {number: flow for number, flow in enumerate(filled, 1) if flow.scheme != NO_FLOW}
    if trial.flows and not flows:
        raise PlanError(
            f'no flow runs: the scheme of each is "{NO_FLOW}"', hint="exclude that combination of levels"
        )
    names = {flow.scheme for flow in flows.values()}
    schemes = {name: _scheme(name, experiment.folder, folders) for name in names}
    return [
        FlowPlan(
            number,
            flow,
            schemes[flow.scheme],
            parse_load(flow.load, experiment.folder),
            flow.stop or trial.runtime,
            _delay(number, flow),
        )
        for number, flow in flows.items()
    ]


def _delay(number: int, flow: PathFlow) -> float:
    try:
        return seconds(flow.delay)
    except ValueError as error:
        raise PlanError(
            f"flow {number}: delay {flow.delay!r}: {error}", hint="write a time, as in 20ms"
        ) from error


def _scheme(name: str, home: Path, folders: Sequence[Path]) -> Scheme:
    return python_scheme(name, home) if name.startswith(PREFIX) else scheme_named(name, folders)


def settings_of(experiment: Experiment, values: Mapping[str, Level]) -> PathSettings:
    """Return the path of a trial with these factors, with its texts filled in; raise PlanError if it has an unknown name."""
    trial = trial_of(experiment)
    settings = trial.path
    if not isinstance(settings, PathSettings):
        settings = path_named(fill(settings, values), dict(trial.named_paths), experiment.folder)
    folder = experiment.folder / settings.folder
    around = experiment.folder, Path(settings.named_in if settings.file else settings.folder)
    filled = dataclasses.replace(
        settings,
        uplink=with_frozen(_filled(settings.uplink, values), folder, *around),
        downlink=with_frozen(_filled(settings.downlink, values), folder, *around),
        folder=str(folder),
    )
    return with_ways(filled)


def open_path(
    settings: PathSettings,
    seed: int,
    log: Path | None,
    lateness: float,
    files: HeldFiles,
    plans: Sequence[FlowPlan] = (),
) -> _linux.Path:
    """Open a path whose files are those held in `files`; flows of `plans` with a delay of their own are further away.

    Raises
    ------
    PlanError
        A link or an MTU is invalid, or this machine does not permit paths; the message says what to do.
    """
    try:
        return _linux.Path(
            settings.uplink,
            settings.downlink,
            directory=settings.folder,
            seed=seed,
            mtu=settings.mtu,
            log=log,
            bound=lateness,
            flow_delays=[(plan.port, plan.delay) for plan in plans if plan.delay],
        )
    except ValueError as error:
        raise PlanError(f"trial.path: {files.in_own_words(str(error))}") from error
    except OSError as error:
        raise PlanError(f"no path can be made here: {error}") from error


def attachments_of(
    experiment: Experiment, factors: Sequence[Mapping[str, Level]]
) -> Iterator[tuple[str, Path]]:
    """Yield name and path of the files of the schemes, of what they and loads are read from, and of traces that paths name."""
    seen: set[Path] = set()
    for values in factors:
        filled = dict(NOWHERE) | dict(values)
        plans = flow_plans(experiment, filled)
        sources = [path for plan in plans for path in (plan.scheme.source, *plan.scheme.files)]
        schemes = [(f"schemes/{path.name}", path) for path in sources]
        for name, path in [*schemes, *files_of(settings_of(experiment, filled), plans, experiment.folder)]:
            if path not in seen:
                seen.add(path)
                yield name, path


def listed(plan: FlowPlan, settings: PathSettings, seed: int, file: Path) -> Load:
    """Return the load of a flow for one trial, with its list of flows in a file: its own, or `file`, sampled by seed and number.

    Raises
    ------
    TrialError
        No flow arrives, or too many would.
    """
    flows = plan.load.flows
    if isinstance(flows, FlowList):
        return dataclasses.replace(plan.load, amount=str(flows.file.resolve()))
    if not isinstance(flows, Arrivals):
        return plan.load.seeded(seed)
    rng = np.random.Generator(np.random.PCG64DXSM([seed, plan.number]))
    capacity = describe(settings, plan.flow.direction).capacity
    try:
        write_flows(file, *drawn(flows, plan.stop - plan.flow.start, capacity, rng))
    except ValueError as error:
        raise TrialError(f"flow {plan.number}: load {plan.load.text!r}: {error}") from error
    return dataclasses.replace(plan.load, amount=str(file))


def files_of(settings: PathSettings, plans: Sequence[FlowPlan], home: Path) -> list[tuple[str, Path]]:
    """Return the files that a path and loads name: the name of each relative to `home` if it is below, and its path."""
    names = (name for way in (settings.uplink, settings.downlink) for name in files_named(way))
    loads = [path for plan in plans for path in plan.load.files]
    own = [Path(settings.file)] if settings.file else []
    paths = dict.fromkeys([*own, *(Path(settings.folder) / name for name in names), *loads])
    return [(str(path.relative_to(home)) if path.is_relative_to(home) else str(path), path) for path in paths]


def check_load(plan: FlowPlan, settings: PathSettings) -> None:
    """Raise PlanError if the scheme does not support a flow's load, or the path has no rate to take a share of."""
    require_known(plan.scheme, plan.load)
    if isinstance(plan.load.flows, Arrivals):
        try:
            plan.load.flows.rate_on(describe(settings, plan.flow.direction).capacity)
        except ValueError as error:
            raise PlanError(f"load {plan.load.text!r}: {error}") from error


def describe(settings: PathSettings, direction: str) -> _core.LinkDescription:
    """Describe one direction of a path; raise PlanError if a link is invalid."""
    try:
        return _core.check_link(getattr(settings, direction), settings.folder)
    except ValueError as error:
        raise PlanError(f"trial.path: {error}") from error


def _filled(groups: Groups, values: Mapping[str, Level]) -> Groups:
    return tuple(tuple((key, fill(text, values)) for key, text in group) for group in groups)
