"""Styles of treatments: one colour, shape and dash pattern in all figures of a report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from trialwise.analysis.path.results import PathAnalysis
from trialwise.analysis.results import Analysis
from trialwise.report.figures.palette import COLOURS, DASHES, MOST, SHAPES, legible


@dataclass(frozen=True, slots=True)
class Style:
    """A colour, and its equivalents in shape (of Vega) and dashes."""

    colour: str
    shape: str
    dash: tuple[int, ...]


def styles(analysis: Analysis) -> dict[str, Style]:
    """Return the style of each treatment by its name.

    Treatments that differ only in their path share one colour, that of their scheme's file if it gives one, made legible; the
    others get colours from the palette. Shapes and dashes tell apart what has the same colour.
    """
    names = analysis.treatments
    colours = _scheme_colours(analysis.path, names) if analysis.path else _cycled(names)
    return {name: _style(place, colours[name]) for place, name in enumerate(names)}


def style_of(place: int) -> Style:
    """Return the style of the treatment with this index, from 0, if no path determines one."""
    return _style(place, COLOURS[place % MOST])


def _style(place: int, colour: str) -> Style:
    second = (place + place // MOST) % MOST
    return Style(colour, SHAPES[second], DASHES[second])


def _cycled(names: Sequence[str]) -> dict[str, str]:
    return {name: COLOURS[place % MOST] for place, name in enumerate(names)}


def _scheme_colours(path: PathAnalysis, treatments: Sequence[str]) -> dict[str, str]:
    groups = _groups(path, treatments)
    given = {scheme.name: scheme.color for scheme in path.schemes}
    schemes = {known.treatment: known.schemes for known in path.treatments}
    chosen: dict[str, str] = {}
    for treatment, group in groups.items():
        alone = schemes.get(treatment, ())
        if len(alone) == 1 and (own := given.get(alone[0])):
            chosen.setdefault(group, legible(own))
    free = [colour for colour in COLOURS if colour not in chosen.values()] or list(COLOURS)
    rest = [group for group in dict.fromkeys(groups.values()) if group not in chosen]
    chosen |= {group: free[place % len(free)] for place, group in enumerate(rest)}
    return {treatment: chosen[group] for treatment, group in groups.items()}


def _groups(path: PathAnalysis, treatments: Sequence[str]) -> dict[str, str]:
    """Return each treatment's name within its plane; treatments of the same name differ only in their path."""
    named = {
        treatment: name
        for plane in path.planes
        for treatment, name in zip(plane.treatments, plane.names, strict=True)
    }
    return {treatment: named.get(treatment, treatment) for treatment in treatments}
