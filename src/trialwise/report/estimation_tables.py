"""Tables of estimates from simulated trials; both estimands share a row, so that they are not confused."""

from __future__ import annotations

from collections.abc import Mapping

from trialwise.analysis.estimation.results import (
    ChosenLevels,
    ControlledEstimate,
    EngineCheck,
    Estimate,
    Estimation,
)
from trialwise.analysis.estimation.transients import change_text
from trialwise.experiment.quantity import duration_text
from trialwise.report.document import Cell, Name, Table, table_of
from trialwise.report.numbers import ABSENT, Basis, Number, Rounding, percent, write
from trialwise.report.units import Scale, scale
from trialwise.statistics import MeanInterval

_SHORT = {"pooled": "pooled", "per_trial": "per trial", "model_based": "model-based"}


def estimation_tables(found: Estimation, names: Mapping[str, str]) -> list[Table]:
    """Return the tables of estimates, control variates, and slowdown by flow size; tables without rows are left out."""
    tables = [estimate_table(found, names), control_table(found, names), size_table(found, names)]
    return [table for table in tables if table.rows]


def estimate_table(found: Estimation, names: Mapping[str, str]) -> Table:
    """Return a row for each metric and treatment; `names` are the treatments' labels."""
    scales = estimate_scales(found)
    return table_of(
        key="estimates",
        caption="Estimates with two-sided intervals, each by itself; the other estimand is another number, not a check",
        titles=(
            "metric",
            "treatment",
            "estimand",
            "estimate",
            "low",
            "high",
            "level",
            "trials",
            "flows or samples",
            "design effect",
            "the other estimand",
            "convention",
            "method",
            "note",
        ),
        rows=tuple(_row(found, place, names, scales) for place in range(len(found.estimates))),
        numeric={3, 4, 5, 7, 8, 9},
        remarks={12, 13},
    )


def estimate_scales(found: Estimation) -> dict[str, Scale]:
    """Return the unit in which the estimates of each metric are listed, by the metric's name."""
    values: dict[str, list[float | None]] = {}
    units: dict[str, str] = {}
    for one in found.estimates:
        units[one.metric] = one.unit
        sides = [side for side in (one.own, one.other) if side is not None]
        values.setdefault(one.metric, []).extend(
            value for side in sides for value in (side.estimate, side.low, side.high)
        )
    return {name: scale(members, units[name]) for name, members in values.items()}


def _row(
    found: Estimation, place: int, names: Mapping[str, str], scales: Mapping[str, Scale]
) -> tuple[Cell, ...]:
    one, at = found.estimates[place], f"/estimation/estimates/{place}/own"
    own, shown = one.own, scales[one.metric]
    basis = Basis(own.trials, own.confidence, own.method)
    notes = [own.note, one.controls_note]
    return (
        one.metric + shown.heading,
        Name(names.get(one.treatment, one.treatment)),
        own.what,
        shown.number(own.estimate, f"{at}/estimate", basis=basis),
        shown.number(own.low, f"{at}/low", "down", basis),
        shown.number(own.high, f"{at}/high", "up", basis),
        percent(own.confidence),
        Number(own.trials, f"{at}/trials"),
        Number(own.samples, f"{at}/samples"),
        Number(own.design_effect, f"{at}/design_effect"),
        other_words(one.other, shown),
        own.convention.replace("_", " ") or ABSENT,
        own.method,
        "; ".join(note for note in notes if note),
    )


def interval_words(found: Estimate | MeanInterval, shown: Scale) -> str:
    """Write an estimate with its bounds, rounded outward; an unavailable bound is a dash."""
    return (
        f"{shown.write(found.estimate)} ({shown.write(found.low, 'down')} to {shown.write(found.high, 'up')})"
    )


def other_words(found: Estimate | None, shown: Scale) -> str:
    """Write the other estimand with its name, or that it is refused."""
    if found is None:
        return ABSENT
    if found.estimate is None:
        return f"{_SHORT[found.estimand]}: refused"
    return f"{_SHORT[found.estimand]}: {interval_words(found, shown)}"


def control_table(found: Estimation, names: Mapping[str, str]) -> Table:
    """Return both intervals of each estimate that has control variates, and what the controls gained."""
    scales = estimate_scales(found)
    rows = [
        _control_row(
            one.metric, names.get(one.treatment, one.treatment), one.controlled, scales[one.metric], place
        )
        for place, one in enumerate(found.estimates)
        if one.controlled is not None
    ]
    return table_of(
        key="controls",
        caption="Control variates: the same estimands with what is known of the workloads; gain: variance without over with",
        titles=(
            "metric",
            "treatment",
            "plain",
            "low",
            "high",
            "controlled",
            "low",
            "high",
            "gain",
            "gain in time",
            "engine alone",
            "to be used",
            "controls",
            "warnings",
        ),
        rows=tuple(rows),
        numeric=range(2, 10),
        remarks={12, 13},
        optional={9, 10},
    )


def _control_row(
    metric: str, treatment: str, controlled: ControlledEstimate, shown: Scale, place: int
) -> tuple[Cell, ...]:
    result, at = controlled.result, f"/estimation/estimates/{place}/controlled/result"
    ends: tuple[tuple[str, Rounding], ...] = (("estimate", "nearest"), ("low", "down"), ("high", "up"))
    cells = [
        shown.number(
            getattr(side, name), f"{at}/{key}/{name}", rounding, Basis(side.n, side.confidence, side.method)
        )
        for key, side in (("plain", result.plain), ("controlled", result.controlled))
        for name, rounding in ends
    ]
    return (
        metric + shown.heading,
        Name(treatment),
        *cells,
        Number(result.gain, f"{at}/gain"),
        *_engine_cells(controlled, at.removesuffix("/result")),
        controlled.used,
        _controls(controlled),
        "; ".join(result.warnings),
    )


def _engine_cells(controlled: ControlledEstimate, at: str) -> tuple[Cell, Cell]:
    """Return the gain in time, and what the engine alone would be wrong by; absent without an engine among the controls."""
    first = controlled.engine
    if first is None:
        return ABSENT, ABSENT
    in_time = first.gain_in_time
    return (
        ABSENT if in_time is None else Number(in_time, f"{at}/engine/gain_in_time"),
        "; ".join(f"{engine.engine}: {bias_words(engine)}" for engine in controlled.engines),
    )


def _controls(found: ControlledEstimate) -> str:
    """Name the controls, what their means are over, and what was left out."""
    means = f"(means of {found.generated:,} drawn workloads)"
    return f"{', '.join(found.features)} {means}{_dropped(found)}{_levels(found)}"


_SHOWN = 100
"""A pilot of some dozen lists does not show a larger gain: what it has of the dearest level's variance is from so few residuals."""


def expected_gain(gain: float | None) -> str:
    """Write the gain in time that a pilot expects."""
    return f"over {_SHOWN}" if gain is None or gain > _SHOWN else f"about {write(gain, digits=2)}"


def levels_words(found: ChosenLevels) -> str:
    """Write what a pilot chose: lists and seconds of each level, the gain in time that it expects, and what it left out."""
    levels = ", ".join(
        f"{level.name} {'all' if level.lists is None else f'{level.lists:,}'} × {duration_text(level.seconds)}"
        for level in found.levels
    )
    gain = f"; expected gain in time {expected_gain(found.gain)}"
    left = f"; left out, since they do not pay: {', '.join(found.dropped)}" if found.dropped else ""
    return f"levels by a pilot of {found.pilot} lists: {levels}{gain}{left}"


def _levels(found: ControlledEstimate) -> str:
    return f"; {levels_words(found.levels)}" if found.levels is not None else ""


def _dropped(found: ControlledEstimate) -> str:
    return (
        f"; left out, as others determine them or they do not vary: {', '.join(found.dropped)}"
        if found.dropped
        else ""
    )


def bias_words(found: EngineCheck) -> str:
    """Write what an engine alone would be wrong by."""
    bias = found.bias
    if not bias.bounded:
        return "unknown"
    return f"{change_text(bias.estimate)} ({change_text(bias.low)} to {change_text(bias.high)})"


def size_table(found: Estimation, names: Mapping[str, str]) -> Table:
    """Return the slowdown of the flows of each size class."""
    rows: list[tuple[Cell, ...]] = []
    for place, one in enumerate(found.sizes):
        numbers: list[Cell] = []
        for name, estimate in one.quantiles.items():
            at, basis = (
                f"/estimation/sizes/{place}/quantiles/{name}",
                Basis(estimate.trials, estimate.confidence, estimate.method),
            )
            numbers += [
                Number(estimate.estimate, f"{at}/estimate", basis=basis),
                Number(estimate.low, f"{at}/low", "", "down", basis),
                Number(estimate.high, f"{at}/high", "", "up", basis),
            ]
        count = Number(one.flows, f"/estimation/sizes/{place}/flows")
        rows.append(
            (Name(names.get(one.treatment, one.treatment)), str(one.low), str(one.high), count, *numbers)
        )
    levels = {percent(each.confidence) for one in found.sizes for each in one.quantiles.values()}
    return table_of(
        key="slowdowns",
        caption="Slowdown of all flows of a size (pooled, trials as clusters), in tenths of all sizes; "
        f"{' and '.join(sorted(levels))} intervals, each by itself",
        titles=("treatment", "from [B]", "to [B]", "flows", "p50", "low", "high", "p99", "low", "high"),
        rows=tuple(rows),
        numeric=range(1, 10),
    )
