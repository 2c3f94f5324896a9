"""A subset of a plan: the trials whose factors have certain levels; the others stay planned."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from trialwise.errors import PlanError
from trialwise.experiment.model import Level
from trialwise.experiment.placeholders import level_text
from trialwise.experiment.problems import nearest

Part = Mapping[str, Sequence[Level]]
"""The levels wanted of each factor; a factor not listed may have any."""
Subset = Sequence[Part]
"""Alternatives: what belongs to one of the parts belongs to the subset."""


def subset(
    texts: Sequence[str | Part], factors: Iterable[Mapping[str, Level]], option: str = "--only"
) -> Subset:
    """Parse a subset from texts such as ``scheme=cubic,bbr``; several levels of a factor are alternatives.

    Parameters
    ----------
    texts
        For each factor its levels; repeated factors are combined. Or the parts of a subset, as they are.
    factors
        The factors of the planned trials, from which to choose.
    option
        The option that the texts stand behind, for messages.

    Raises
    ------
    PlanError
        A factor or a level is unknown, or no trial has all that is wanted; the message lists the known ones.
    """
    rows = list(factors)
    if parts := [text for text in texts if not isinstance(text, str)]:
        return _some(parts, rows, f"{option}: no trial has the levels asked for")
    words = [text for text in texts if isinstance(text, str)]
    wanted: dict[str, list[Level]] = {}
    for text in words:
        name, equals, levels = text.partition("=")
        if not equals or not levels:
            raise PlanError(
                f"{option} {text}: is not of the form FACTOR=LEVEL[,LEVEL…]", hint="write scheme=cubic,bbr"
            )
        known = _levels(name, rows, option)
        wanted.setdefault(name, []).extend(_level(name, level, known, option) for level in levels.split(","))
    return _some([wanted], rows, f"{option} {' '.join(words)}: no trial has all of that")


def _some(wanted: Subset, rows: Sequence[Mapping[str, Level]], otherwise: str) -> Subset:
    if not any(matches(row, wanted) for row in rows):
        raise PlanError(otherwise)
    return wanted


def matches(factors: Mapping[str, Level], wanted: Subset) -> bool:
    """Return True if a trial with these factors belongs to the subset."""
    return any(all(factors.get(name) in levels for name, levels in part.items()) for part in wanted)


def _levels(name: str, rows: Sequence[Mapping[str, Level]], option: str) -> Mapping[str, Level]:
    """Return the levels of a factor by how users write them."""
    if found := {level_text(row[name]): row[name] for row in rows if name in row}:
        return found
    names = sorted({each for row in rows for each in row})
    if not names:
        raise PlanError(f"{option} {name}=…: this experiment has no factors")
    raise PlanError(
        f"{option} {name}=…: there is no such factor{_meant(name, names)}", hint=f"known: {', '.join(names)}"
    )


def _level(name: str, text: str, known: Mapping[str, Level], option: str) -> Level:
    if text not in known:
        hint = f"known: {', '.join(sorted(known))}"
        raise PlanError(
            f"{option} {name}={text}: there is no such level{_meant(text, list(known))}", hint=hint
        )
    return known[text]


def _meant(name: str, known: Sequence[str]) -> str:
    meant = nearest(name, known)
    return f"; did you mean {meant!r}?" if meant else ""
