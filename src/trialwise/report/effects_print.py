"""Figures of effects for print: interactions, sizes of effects, and levels against their base."""

# pyright: reportUnknownMemberType=false
# matplotlib leaves the types of its keyword arguments open.

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from math import ceil, isfinite
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from trialwise.analysis.effects.paper_results import PaperEffects, PaperMetric
from trialwise.analysis.effects.results import CellMean, EffectsAnalysis, LevelComparison, MetricEffects
from trialwise.analysis.effects.sentences import at_text
from trialwise.report.figures.palette import COLOURS, DASHES, MARKERS, MOST
from trialwise.report.print_style import GREY, WIDTH, save_all

_DASHED = (0, (5, 4))
_LONGEST = 34
_PANELS = 12


def write_effects_figures(found: EffectsAnalysis | PaperEffects, folder: Path, kind: str) -> list[Path]:
    """Write every figure there is something for (as pdf, svg or png), and say which.

    Raises
    ------
    OSError
        The folder cannot be made or written.
    """
    return save_all(effects_drawings(found), folder, kind)


def effects_drawings(found: EffectsAnalysis | PaperEffects) -> Iterator[tuple[str, Figure]]:
    """Name and drawing of each figure, numbered as the results are."""
    for place, one in enumerate(found.results):
        if any(isfinite(cell.mean) for cell in one.cells):
            yield f"interaction-{place}", _interaction(one)
        if isinstance(one, MetricEffects) and one.terms:
            yield f"effects-{place}", _effects(one)
        if isinstance(one, MetricEffects) and any(row.verdict != "no inference" for row in one.comparisons):
            yield f"comparisons-{place}", _comparisons(one)


def _title(one: MetricEffects | PaperMetric) -> str:
    unit = f" ({one.unit})" if one.unit else ""
    held = f", {at_text(one.part)}" if one.part else ""
    return f"{one.metric}{unit}{held}"


def _short(text: str) -> str:
    half = _LONGEST // 2
    return text if len(text) <= _LONGEST else f"{text[: half - 1]}…{text[-half:]}"


# Interactions


def _levels(cells: Sequence[CellMean], factors: Sequence[str]) -> dict[str, list[str]]:
    return {
        name: list(dict.fromkeys(cell.levels[place] for cell in cells)) for place, name in enumerate(factors)
    }


def _interaction(one: MetricEffects | PaperMetric) -> Figure:
    """A factor of numbers, else that of most levels, along the axis, the next as lines, a panel for each treatment of the others."""
    levels = _levels(one.cells, one.factors)
    ranked = sorted(levels, key=lambda name: (not _are_numbers(levels[name]), -len(levels[name])))
    along, lines, others = ranked[0], ranked[1:2], ranked[2:]
    panels = list(product(*(levels[name] for name in others)))[:_PANELS]
    across = 1 if len(panels) == 1 else 2
    down = ceil(len(panels) / across)
    figure = Figure(figsize=(WIDTH, 0.5 + 1.6 * down), layout="constrained")
    for axes, held in zip(
        figure.subplots(down, across, sharex=True, sharey=True, squeeze=False).flat, panels, strict=False
    ):
        where = dict(zip(others, held, strict=True))
        _lines(axes, one, levels, along, lines, where)
        if where:
            axes.set_title(_short(at_text(where)), fontsize=6.5)
    for axes in list(figure.axes)[len(panels) :]:
        axes.set_visible(False)
    figure.supxlabel(along, fontsize=7)
    figure.supylabel(_title(one), fontsize=7)
    handles, labels = figure.axes[0].get_legend_handles_labels()
    if lines:
        figure.legend(
            handles,
            labels,
            loc="outside upper center",
            ncols=min(3, len(labels)),
            title=lines[0],
            title_fontsize=6.5,
        )
    return figure


def _are_numbers(levels: Sequence[str]) -> bool:
    try:
        return all(isfinite(float(level)) for level in levels)
    except ValueError:
        return False


def _lines(
    axes: Axes,
    one: MetricEffects | PaperMetric,
    levels: Mapping[str, list[str]],
    along: str,
    lines: Sequence[str],
    held: Mapping[str, str],
) -> None:
    cells = {cell.levels: cell for cell in one.cells}
    kinds = levels[lines[0]] if lines else [""]
    for number, kind in enumerate(kinds):
        where = {**held, **({lines[0]: kind} if lines else {})}
        known = [
            (place, cells[key])
            for place, level in enumerate(levels[along])
            if (key := tuple({**where, along: level}[name] for name in one.factors)) in cells
        ]
        away = 0.0 if len(kinds) == 1 else 0.24 * (number / (len(kinds) - 1) - 0.5)
        at = [place + away for place, _ in known]
        colour, means = COLOURS[number % MOST], [cell.mean for _, cell in known]
        solid, *dashes = DASHES[number % MOST]
        axes.plot(
            at, means, marker=MARKERS[number % MOST], color=colour, linewidth=0.8,
            linestyle=(0, (solid, *dashes)) if number else "-", label=_short(kind),
        )  # fmt: skip
        bounded = [(x, cell) for x, (_, cell) in zip(at, known, strict=True) if isfinite(cell.low)]
        axes.vlines(
            [x for x, _ in bounded],
            [cell.low for _, cell in bounded],
            [cell.high for _, cell in bounded],
            color=colour,
            linewidth=1.0,
        )
    names = [_short(level) for level in levels[along]]
    turned = sum(map(len, names)) > 34
    axes.set_xticks(
        range(len(names)), names, rotation=45 if turned else 0, ha="right" if turned else "center"
    )
    axes.set_xlim(-0.5, len(names) - 0.5)


# Sizes


def _rows(axes: Axes, names: Sequence[str]) -> None:
    axes.set_yticks(range(len(names)), [_short(name) for name in names])
    axes.set_ylim(len(names) - 0.5, -0.5)


def _effects(one: MetricEffects) -> Figure:
    terms = [term for term in one.terms if not term.reason]
    figure = Figure(figsize=(WIDTH, 0.75 + 0.2 * len(terms)), layout="constrained")
    axes = figure.add_subplot()
    for place, term in enumerate(terms):
        colour = COLOURS[1] if term.matters else COLOURS[0]
        axes.hlines(place, term.effect_low, term.effect_high, color=colour, linewidth=1.2)
        axes.plot(
            term.effect_size, place, "o" if term.matters else "s", color=colour, clip_on=False,
            markerfacecolor=colour if term.matters else "white", markeredgewidth=0.6,
        )  # fmt: skip
    axes.plot([], [], "o", color=COLOURS[1], label="matters")
    axes.plot([], [], "s", color=COLOURS[0], markerfacecolor="white", markeredgewidth=0.6, label="not shown")
    axes.set_xlim(-0.02, 1.02)
    _rows(axes, [term.term for term in terms])
    axes.set_xlabel("partial ω²")
    axes.set_title(_title(one), fontsize=7)
    figure.legend(loc="outside lower center", ncols=2)
    return figure


# Levels against their base

_MARKS = {"different": ("o", COLOURS[1]), "equivalent": ("s", COLOURS[2]), "undecided": ("D", COLOURS[4])}


def _comparisons(one: MetricEffects) -> Figure:
    """Axes of its own for each factor: what one does may be nothing beside what another does."""
    of: dict[str, list[LevelComparison]] = {}
    for row in one.comparisons:
        if row.verdict != "no inference":
            of.setdefault(row.factor, []).append(row)
    height = 0.5 + sum(0.35 + 0.18 * len(rows) for rows in of.values())
    figure = Figure(figsize=(WIDTH, height), layout="constrained")
    panels = figure.subplots(
        len(of), 1, squeeze=False, gridspec_kw={"height_ratios": [1.5 + len(rows) for rows in of.values()]}
    )
    there = [row for rows in of.values() for row in rows]
    relative = all(isfinite(value) for row in there for value in _bounds(row, relative=True))
    for axes, rows in zip(panels.flat, of.values(), strict=True):
        _against_base(axes, rows, relative=relative)
    for word in dict.fromkeys(row.verdict for row in there):
        panels.flat[0].plot([], [], _MARKS[word][0], color=_MARKS[word][1], label=word)
    axis = "difference from the base, %" if relative else f"difference from the base{_unit(one)}"
    panels.flat[-1].set_xlabel(axis)
    figure.suptitle(_title(one), fontsize=7)
    figure.legend(loc="outside lower center", ncols=3)
    return figure


def _against_base(axes: Axes, rows: Sequence[LevelComparison], *, relative: bool) -> None:
    axes.axvline(0, color=GREY, linestyle=_DASHED, linewidth=0.8)
    for place, row in enumerate(rows):
        marker, colour = _MARKS[row.verdict]
        estimate, low, high = _bounds(row, relative=relative)
        reach = _margin(row, relative=relative)
        if reach is not None:
            axes.fill_betweenx([place - 0.4, place + 0.4], -reach, reach, color=GREY, alpha=0.2, linewidth=0)
        axes.hlines(place, low, high, color=colour, linewidth=1.2)
        axes.plot(estimate, place, marker, color=colour)
    _rows(axes, [_name(row) for row in rows])
    axes.tick_params(axis="y", labelsize=5.5)


def _bounds(row: LevelComparison, *, relative: bool) -> tuple[float, float, float]:
    if relative:
        return row.percent, row.percent_low, row.percent_high
    return row.difference, row.low, row.high


def _name(row: LevelComparison) -> str:
    return f"{row.factor} {row.level}, {at_text(row.at)}" if row.at else f"{row.factor} {row.level}"


def _unit(one: MetricEffects) -> str:
    return f", {one.unit}" if one.unit else ""


def _margin(row: LevelComparison, *, relative: bool) -> float | None:
    if row.margin is None:
        return None
    return 100 * row.margin / abs(row.means[0]) if relative else row.margin
