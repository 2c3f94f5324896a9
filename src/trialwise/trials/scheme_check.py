"""Run one scheme for a few seconds over a small path, to see whether it works here."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from trialwise import _linux
from trialwise.errors import PlanError
from trialwise.experiment.model import Experiment, Level, Metric
from trialwise.experiment.sources import PathSource
from trialwise.experiment.trials import Groups, PathFlow, PathSettings, PathTrial
from trialwise.schemes.library import scheme_named
from trialwise.schemes.needs import missing
from trialwise.schemes.scheme import End, Scheme
from trialwise.temporary import vanishing_folder
from trialwise.trials.base import TrialOutcome, TrialRequest
from trialwise.trials.commands import command_words
from trialwise.trials.flows import SPARE_SECONDS
from trialwise.trials.loads import parse_load
from trialwise.trials.path import PathKind
from trialwise.trials.path_plan import FIRST_PORT

SECONDS = 5.0
DEFAULT_PATH = "rate=12Mbit/s delay=20ms queue=droptail:packets=100"
_LOADS = {
    "bulk": "bulk",
    "rate": "rate:6Mbit/s",
    "bytes": "bytes:2MB",
    "requests": "requests:request=200B,response=10kB,think=20ms",
    "flows": "flows:poisson,load=50%,sizes=fixed:20kB",
    "media": "media:rate=150kbit/s..1.5Mbit/s",
}
_QUANTITIES = ("throughput", "delay", "loss")
_LAST_LINES = 6


@dataclass(frozen=True, slots=True)
class SchemeCheck:
    """The result of running a scheme: throughput in Mbit/s, 95th percentile of one-way delay in ms, loss in %.

    `reason` says why it does not work, or why the figures are not trustworthy; `said` has how its programs ended and
    their last output.
    """

    name: str
    works: bool
    load: str
    seconds: float
    throughput: float | None = None
    delay_p95: float | None = None
    loss: float | None = None
    reason: str | None = None
    said: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SchemeChecksDocument:
    """What `trialwise schemes check --json` prints."""

    checks: tuple[SchemeCheck, ...]
    path: str
    format: Literal["trialwise.scheme-checks/1"] = "trialwise.scheme-checks/1"


def path_of(text: str) -> PathSettings | str:
    """Parse a path such as ``rate=12Mbit/s delay=20ms``, the same both ways, or return the name of one.

    Raises
    ------
    PlanError
        It is neither.
    """
    if "=" not in text:
        return text
    parts = [word.partition("=") for word in shlex.split(text)]
    if lacking := [key for key, _, value in parts if not value]:
        raise PlanError(
            f"--path: {lacking[0]!r} has no value", hint=f"write it as in --path {DEFAULT_PATH!r}"
        )
    groups: Groups = (tuple((key, value) for key, _, value in parts),)
    return PathSettings(groups, groups, folder=str(Path.cwd()))


def check_scheme(
    name: str,
    *,
    folders: Sequence[Path],
    path: PathSettings | str,
    cancel: int,
    load: str | None = None,
    seconds: float = SECONDS,
) -> SchemeCheck:
    """Run a scheme over a path.

    Parameters
    ----------
    name, folders
        The scheme, and the folders with the user's schemes.
    path
        The path, or the name of one.
    cancel
        A file descriptor that becomes readable to abandon the check.
    load
        Its load; default the first kind that it supports.
    seconds
        Duration of the run.

    Raises
    ------
    PlanError
        The scheme does not exist, or the path or load is invalid.
    """
    scheme = scheme_named(name, folders)
    load = load or _LOADS[next(iter(scheme.loads))]
    if lacks := missing(scheme):
        return SchemeCheck(name, works=False, load=load, seconds=0.0, reason="; ".join(lacks))
    experiment = _experiment(scheme, folders, path, load, seconds)
    PathKind().check(experiment, [{}])
    with vanishing_folder("trialwise-check-") as scratch:
        outcome = PathKind().execute(_request(experiment, scratch, cancel))
    return _checked(name, load, seconds, outcome)


def _experiment(
    scheme: Scheme, folders: Sequence[Path], path: PathSettings | str, load: str, seconds: float
) -> Experiment:
    return Experiment(
        name="check",
        folder=Path.cwd(),
        trial=PathTrial(
            flows=(PathFlow(scheme.name, load=load),),
            path=path,
            runtime=seconds,
            scheme_folders=tuple(str(folder.resolve()) for folder in folders),
            packets="drop",
        ),
        metrics=tuple(Metric(quantity, PathSource(quantity)) for quantity in _QUANTITIES),
        runtime=seconds,
    )


def _request(experiment: Experiment, scratch: Path, cancel: int) -> TrialRequest:
    return TrialRequest(
        experiment=experiment,
        factors={},
        number=1,
        attempt=1,
        series=1,
        round=1,
        position=1,
        seed=1,
        scratch=scratch,
        marker=f"check:{os.getpid()}",
        cancel=cancel,
    )


def _checked(name: str, load: str, seconds: float, outcome: TrialOutcome) -> SchemeCheck:
    figures = [outcome.samples.get(PathSource(quantity).key) for quantity in _QUANTITIES]
    throughput, delays, loss = (None if found is None else found.values for found in figures)
    carried = None if throughput is None else float(throughput.mean())
    return SchemeCheck(
        name=name,
        works=outcome.status in ("finished", "invalid") and bool(carried),
        load=load,
        seconds=seconds,
        throughput=carried,
        delay_p95=None if delays is None else float(np.percentile(delays, 95)),
        loss=None if loss is None else float(loss[0]),
        reason=outcome.reason,
        said=_last_lines(outcome.output) + _last_lines(outcome.errors),
    )


def _last_lines(text: bytes) -> tuple[str, ...]:
    """Return the last lines of each program, below how it ended."""
    found: list[str] = []
    for part in text.decode(errors="replace").split("== ")[1:]:
        head, *lines = part.splitlines() or [""]
        found += [head, *(f"  {line}" for line in lines[-_LAST_LINES:])] if lines else []
    return tuple(found)


def example_words(scheme: Scheme, command: tuple[str, ...]) -> list[str]:
    """Return the words of a scheme's command in the first flow of a trial, with the first load that it supports."""
    load = parse_load(_LOADS[next(iter(scheme.loads))], Path())
    other: End = "receiver" if command == scheme.sender.command else "sender"
    values: dict[str, Level] = {
        "peer": _linux.Path.address(other),
        "host": _linux.Path.address(other),
        "port": FIRST_PORT,
        "time": f"{SECONDS + SPARE_SECONDS:g}",
        "report": "report.jsonl",
        "directory": ".",
        "folder": str(scheme.source.resolve().parent),
        "seed": 1,
        "mtu": 1500,
    }
    return command_words(command, scheme, load, values)
