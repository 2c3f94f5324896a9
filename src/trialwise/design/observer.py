"""Make an experiment that asks whether measuring changes what is measured, from command lines of flavours."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path

from trialwise.design.orders import rounds_in_block
from trialwise.errors import PlanError
from trialwise.experiment.environment import EVERYTHING_PASSED
from trialwise.experiment.model import Design, Experiment, FixedFactor, Level, Metric, Order, Reset
from trialwise.experiment.placeholders import names_in
from trialwise.experiment.trials import CommandTrial
from trialwise.statistics import equivalence_size

FLAVOUR = "flavour"
_LONGEST = 1.5
"""Rounds are added to complete squares as long as there are at most this many times those needed."""
_PLACEHOLDER = re.compile(r"(\{\{[A-Za-z_][A-Za-z0-9_.\-]*\}\}|\{[A-Za-z_][A-Za-z0-9_.\-]*\})")


@dataclass(frozen=True, slots=True)
class Rounds:
    """The number of rounds, their order, and the reason."""

    number: int
    order: Order
    why: str


def observer_experiment(
    name: str,
    flavours: Mapping[str, str],
    loads: Mapping[str, Sequence[Level]],
    metrics: Sequence[Metric],
    *,
    trials: int | None = None,
    reset: str | None = None,
) -> tuple[Experiment, Rounds]:
    """Make the experiment, whose base is the first flavour.

    Parameters
    ----------
    flavours
        Names and command lines, with {factor} in place of a load's level.
    loads
        The other factors with their levels.
    trials
        Of each flavour at each load; default as many as equivalence takes if trials spread as far as the margin.
    reset
        A command that runs before each round.

    Raises
    ------
    PlanError
        There are fewer than two flavours, a load is called flavour, or a command line cannot be split or leaves a quote open.
    """
    if len(flavours) < 2:
        raise PlanError("one flavour has nothing to be compared with", hint="give --flavour NAME='CMD' twice")
    if FLAVOUR in loads:
        raise PlanError(f"--load {FLAVOUR}: flavours are given with --flavour")
    rounds = rounds_of(len(flavours) * prod(len(levels) for levels in loads.values()), trials)
    factors = (
        FixedFactor(FLAVOUR, tuple(flavours)),
        *(FixedFactor(load, tuple(levels)) for load, levels in loads.items()),
    )
    experiment = Experiment(
        name=name,
        folder=Path(),
        trial=CommandTrial(flavour_command(flavours, list(loads)), passed=EVERYTHING_PASSED),
        metrics=tuple(metrics),
        description="Does measuring change what is measured?",
        factors=factors,
        design=Design(
            order=rounds.order, series=1, rounds=rounds.number, base=(FLAVOUR, next(iter(flavours)))
        ),
        reset=Reset(command=tuple(_words(reset))) if reset else None,
    )
    return experiment, rounds


def rounds_of(treatments: int, trials: int | None) -> Rounds:
    """Choose the number of rounds: the given one, or whole squares of those that equivalence takes; random if squares are too long."""
    block = rounds_in_block("balanced", treatments)
    if trials is not None:
        order: Order = "balanced" if trials % block == 0 else "random"
        return Rounds(trials, order, "as told")
    needed = equivalence_size(1.0)
    why = f"equivalence takes {needed} trials of each where they spread as far as the margin"
    whole = -(-needed // block) * block
    if whole <= _LONGEST * needed:
        return Rounds(whole, "balanced", f"{why}, and balanced orders come in blocks of {block} rounds")
    return Rounds(needed + 1, "random", f"{why}; balanced orders would take {whole} rounds")


def flavour_command(flavours: Mapping[str, str], loads: Sequence[str]) -> tuple[str, ...]:
    """Return one command for all flavours: a shell that becomes the program of the flavour passed to it.

    Words are split as in a shell, and levels reach them as the shell's parameters, so that no level is read as code.
    """
    lines = {name: _words(command) for name, command in flavours.items()}
    found = {place for words in lines.values() for word in words for place in names_in(word)}
    unused = [load for load in loads if load not in found]
    if unused:
        raise PlanError(
            f"no flavour's command uses {{{unused[0]}}}",
            hint=f"put {{{unused[0]}}} where the load's level goes",
        )
    places = [FLAVOUR, *sorted(found - {FLAVOUR})]
    cases = " ".join(
        f"{shlex.quote(name)}) exec {' '.join(_shell_word(word, places) for word in words)} ;;"
        for name, words in lines.items()
    )
    return ("sh", "-c", f'case "$0" in {cases} esac', *(f"{{{place}}}" for place in places))


def _words(command: str) -> list[str]:
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise PlanError(f"{command!r}: cannot be split into words: {error}") from error
    if not words:
        raise PlanError("a command is empty")
    return words


def _shell_word(word: str, places: Sequence[str]) -> str:
    """Turn {name} in a word into a parameter of the shell; {{name}} stays for the file to turn into {name}."""
    parts: list[str] = []
    for part in _PLACEHOLDER.split(word):
        if part.startswith("{") and not part.startswith("{{") and part[1:-1] in places:
            parts.append(f'"${{{places.index(part[1:-1])}}}"')
        elif part:
            parts.append(shlex.quote(part))
    return "".join(parts) or "''"
