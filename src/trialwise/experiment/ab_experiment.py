"""An experiment that runs two versions of one program alternately."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from pathlib import Path
from shutil import which

from trialwise.experiment.environment import EVERYTHING_PASSED
from trialwise.experiment.model import Better, Design, Experiment, Extent, FixedFactor, Metric
from trialwise.experiment.placeholders import literal
from trialwise.experiment.results import Results
from trialwise.experiment.sources import Resource, ResourceSource, TextSource
from trialwise.experiment.trials import CommandTrial

VERSIONS = ("base", "head")
_RESOURCES: tuple[Resource, ...] = ("wall", "user", "system", "max_rss")
_METRIC = re.compile(r"(?P<name>[A-Za-z_][\w.\-]*)(?::(?P<better>higher|lower))?=(?P<source>.+)", re.DOTALL)
_PLAIN = re.compile(r"[\w@%+:,./\-][\w@%+:,./= \-]*")


def two_versions(
    name: str,
    folder: Path,
    trial: CommandTrial,
    metrics: Sequence[Metric],
    *,
    rounds: int,
    warmup: int,
    seed: int,
    description: str = "",
    results: Results | None = None,
    versions: tuple[str, ...] = VERSIONS,
) -> Experiment:
    """Build the experiment: each round runs each version once, in random order; `results` says what a suite prints."""
    return Experiment(
        name=name,
        folder=folder,
        trial=trial,
        metrics=tuple(metrics),
        seed=seed,
        description=description,
        results=results,
        factors=(FixedFactor("version", versions),),
        design=Design(series=1, rounds=rounds, warmup_trials=warmup),
    )


def versions_of(count: int) -> tuple[str, ...]:
    """Name so many versions: base and head, or base, v2, v3 and so on."""
    return VERSIONS if count == len(VERSIONS) else ("base", *(f"v{place}" for place in range(2, count + 1)))


def switch_command(*lines: str) -> tuple[str, ...]:
    """Return a command that runs one of the lines, as a shell would; the versions are named as in `versions_of`."""
    # A comment at the end of a line must not hide what follows.
    cases = (f"{name}) {_line(line)}\n;;" for name, line in zip(versions_of(len(lines)), lines, strict=True))
    return ("/bin/sh", "-c", f"case {{version}} in {' '.join(cases)} esac")


def worktree_command(command: str, below: str) -> CommandTrial:
    """Return the same command in a folder of each version, or in `below` within it.

    Raises
    ------
    ValueError
        The command cannot be split as a shell would, or is empty.
    """
    words = shlex.split(literal(command))
    if not words:
        raise ValueError("the command is empty")
    place = "{version}" if below in ("", ".") else f"{{version}}/{below}"
    return CommandTrial(tuple(words), directory=place, passed=EVERYTHING_PASSED)


def plain_program(line: str) -> str | None:
    """Return the program of a line that consists of nothing but a program and its arguments, None of any other."""
    first = line.split(" ", 1)[0]
    return first if _PLAIN.fullmatch(line) and "=" not in first else None


def _line(command: str) -> str:
    """Replace the shell by a plain command, so that the shell neither waits nor is counted."""
    first = plain_program(command)
    return literal(f"exec {command}" if first and which(first) else command)


def metric_of(text: str, margin: Extent | None = None) -> Metric:
    """Parse a metric from `NAME[:higher|:lower]=SOURCE`, such as `speed:higher=json:/speed`.

    A source is wall, user, system or max_rss; or stdout:PATTERN, json:POINTER or csv:COLUMN of the command's output.

    Raises
    ------
    ValueError
        The text is invalid; the message says why.
    """
    found = _METRIC.fullmatch(text)
    if found is None:
        raise ValueError('write NAME=SOURCE or NAME:higher=SOURCE, as "time=wall"')
    name, better, source = found["name"], found["better"], found["source"]
    known: Better | None = "higher" if better == "higher" else "lower" if better == "lower" else None
    for resource in _RESOURCES:
        if source == resource:
            return Metric(name, ResourceSource(resource), better=known or "lower", margin=margin)
    kind, colon, rest = source.partition(":")
    if not colon or not rest or kind not in ("stdout", "json", "csv"):
        raise ValueError(
            f"no source {source!r}; there are wall, user, system, max_rss, stdout:PATTERN, json:POINTER, csv:COLUMN"
        )
    if known is None:
        raise ValueError(f"say which direction is better: {name}:higher={source} or {name}:lower={source}")
    text_source = (
        TextSource(pattern=rest)
        if kind == "stdout"
        else TextSource(json=rest)
        if kind == "json"
        else TextSource(csv=rest)
    )
    return Metric(name, text_source, better=known, margin=margin)


def margin_of(text: str) -> Extent:
    """Parse a margin from "3%", or from a number in the unit of the metric.

    Raises
    ------
    ValueError
        It is neither.
    """
    try:
        value = float(text.removesuffix("%"))
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise ValueError('expected a percentage such as "3%", or a number above 0 in the unit of the metric')
    return Extent(value, relative=text.endswith("%"))
