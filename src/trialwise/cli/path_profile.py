"""The part of `trialwise profile` that probes a real path of an experiment."""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from trialwise.cli.output import print_json, stderr_console
from trialwise.cli.spinner import StatusLine
from trialwise.cli.text import say_document
from trialwise.errors import TrialwiseError
from trialwise.experiment.quantity import duration_text, seconds

if TYPE_CHECKING:
    from trialwise.execution.ends.probing import Told
    from trialwise.study.path_profiling import RealPath

MOST = 31 * 86_400.0
"""Seconds that are probed at most."""


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class PathOptions:
    """Which path of an experiment is profiled, for how long, and for which margin."""

    path: Annotated[str | None, Parameter(help="The real path, where the experiment has several.")] = None
    length: Annotated[
        str | None,
        Parameter(name="--for", help="Probe for so long, as 10m or 2d; otherwise what is kept is profiled."),
    ] = None
    out: Annotated[
        Path | None,
        Parameter(
            name=["--out", "-o"],
            help="The file of rows, to which a run adds; default EXPERIMENT.PATH.conditions.csv.",
        ),
    ] = None
    rate: Annotated[
        str | None,
        Parameter(
            help="Fill the path for 5 s each way, and again after so long, as 30m; otherwise nothing but probes is sent."
        ),
    ] = None
    margin: Annotated[
        str | None,
        Parameter(
            help="The difference that would matter: in percent of the usual round trip or rate, or in ms and Mbit/s; default "
            "that of the experiment's metrics, else 5%."
        ),
    ] = None

    def refuse(self) -> None:
        """Refuse options of a path where data are profiled.

        Raises
        ------
        TrialwiseError
            One was given.
        """
        names = {"length": "for"}
        for field in fields(self):
            if getattr(self, field.name) is not None:
                raise TrialwiseError(
                    f"--{names.get(field.name, field.name)} is for the path of an experiment file (FILE.toml)",
                    hint="name the experiment file instead of data",
                )


def profile_path(experiment: Path, options: PathOptions, *, confidence: float, json: bool) -> int:
    """Probe a real path if it is asked for, and print the profile of what is kept; return the exit code."""
    from trialwise import study
    from trialwise.execution.ends.probing import RATE_LEAST
    from trialwise.experiment.option_words import extent_of
    from trialwise.study.path_profiling import real_path

    length = None if options.length is None else _time(options.length, "--for", 5.0)
    rate = None if options.rate is None else _time(options.rate, "--rate", RATE_LEAST)
    if rate is not None and length is None:
        raise TrialwiseError("--rate is for a path that is probed", hint="say for how long: --for 2h")
    margin = None if options.margin is None else extent_of(options.margin)
    path = real_path(study.load(experiment), options.path, options.out)
    if length is not None:
        _probe(path, length, rate)
    with StatusLine(f"profiling {path.name}"):
        found = path.profile(margin, confidence)
    if json:
        from trialwise.exchange.condition_json import condition_document

        print_json(condition_document(found))
    else:
        from trialwise.report.documents.path_profile import document

        say_document(document(found))
    return 0


def _time(text: str, option: str, least: float) -> float:
    try:
        found = seconds(text)
    except ValueError as error:
        raise TrialwiseError(
            f"{option} {text}: {error}", hint="write a time, as in 10min, 2h or 2d"
        ) from error
    if not least <= found <= MOST:
        raise TrialwiseError(
            f"{option} {text}: expected a time from {duration_text(least)} to {duration_text(MOST)}"
        )
    return found


def _probe(path: RealPath, length: float, rate: float | None) -> None:
    """Probe until the time is over or Ctrl-C, and say how far it has come; what there is stays in the file."""
    from trialwise.execution.interruption import Interruption

    reader, writer = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)

    def stop(_: bool) -> None:
        with contextlib.suppress(BlockingIOError):
            os.write(writer, b"x")

    end = (datetime.now() + timedelta(seconds=length)).strftime(
        "%Y-%m-%d %H:%M" if length > 43_200 else "%H:%M:%S"
    )
    console = stderr_console()
    console.print(
        f"probing {path.name} for {duration_text(length)}, until {end}: 40 probes of 64 bytes a second, no flows; "
        f"rows of {duration_text(path.every)} go to {path.file}",
        markup=False,
    )
    try:
        with Interruption(stop), StatusLine(f"probing {path.name} until {end}", console) as line:
            last = ""

            def tell(told: Told) -> None:
                nonlocal last
                if told.problem and told.problem != last:
                    console.print(f"{path.name}: {told.problem}; going on", markup=False)
                last = told.problem or ""
                line.say(f"probing {path.name} until {end}: {told.rows:,} rows")

            path.probe(length, rate, reader, tell)
    finally:
        os.close(reader)
        os.close(writer)


def is_experiment(data: Path) -> bool:
    """Whether a file is that of an experiment, by its name."""
    return data.suffix.lower() == ".toml"
