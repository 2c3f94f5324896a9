"""Tables of an experiment over paths: results of flows, regions of the plane, the emulator, the paths."""

from __future__ import annotations

from collections.abc import Iterator

from trialwise.analysis.path.results import (
    AxisRange,
    FlowResult,
    Harm,
    HarmCell,
    PathAnalysis,
    PlaneRegion,
    Typical,
)
from trialwise.analysis.results import Analysis
from trialwise.report.document import Cell, Name, Table, table_of
from trialwise.report.numbers import ABSENT, Basis, Estimate, Number, percent

_QUANTITIES = {"throughput": "Mbit/s", "delay": "ms", "loss": "%"}


_MEANINGS = {"throughput": "throughput", "delay": "95th percentile of the one-way delay", "loss": "loss"}


def path_tables(analysis: Analysis) -> list[Table]:
    """Return all tables of an experiment over paths, in order of importance; none for other kinds."""
    path = analysis.path
    if path is None:
        return []
    made = [
        _flows(path),
        *harm_tables(path),
        _fairness(path),
        _shares(path),
        _regions(path),
        _emulator(path),
        _paths(path),
    ]
    return [table for table in made if table.rows]


def path_paper_tables(analysis: Analysis) -> list[Table]:
    """Return the tables for a paper: the results of flows, one table for each quantity, and of the plane."""
    path = analysis.path
    if path is None:
        return []
    flows = (_flows(path, quantity) for quantity in _QUANTITIES)
    made = [*flows, *harm_tables(path), _fairness(path), _shares(path), _regions(path)]
    return [table for table in made if table.rows]


# Flows


def _flows(path: PathAnalysis, *only: str) -> Table:
    shown = only or tuple(_QUANTITIES)
    heads = [
        heading for name in shown for heading in (f"{name} [{_QUANTITIES[name]}]", "low", "high", "mean")
    ]
    rows = tuple(
        _flow_row(found.treatment, flow, f"/path/treatments/{at}/flows/{place}", shown)
        for at, found in enumerate(path.treatments)
        for place, flow in enumerate(found.flows)
    )
    return table_of(
        key="-".join(("flows", *only)),
        caption=f"{_and([_MEANINGS[name] for name in shown])} of each flow: median over the trials, its two-sided 95 % interval "
        "(exact binomial ranks), and the mean",
        titles=("treatment", "flow", "direction", "trials", *heads),
        rows=rows,
        numeric=range(3, 4 + len(heads)),
    )


def _and(words: list[str]) -> str:
    text = " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
    return text[0].upper() + text[1:]


def path_overview(path: PathAnalysis) -> Table:
    """Return medians alone, narrow enough for a terminal."""
    rows = tuple(
        _overview_row(found.treatment, flow, f"/path/treatments/{at}/flows/{place}")
        for at, found in enumerate(path.treatments)
        for place, flow in enumerate(found.flows)
    )
    return table_of(
        key="flows-overview",
        caption="Flows: medians over the trials of throughput [Mbit/s], 95th percentile of one-way delay [ms] and loss [%]",
        titles=("treatment", "flow", "n", "throughput", "delay", "loss"),
        rows=rows,
        numeric=range(2, 6),
    )


def _overview_row(treatment: str, flow: FlowResult, at: str) -> tuple[Cell, ...]:
    typicals = {"throughput": flow.throughput, "delay": flow.delay, "loss": flow.loss}
    medians = (Number(found.median, f"{at}/{name}/median") for name, found in typicals.items())
    return (_named(treatment), _which(flow), Number(flow.throughput.n, f"{at}/throughput/n"), *medians)


def _which(flow: FlowResult) -> str:
    return "all" if flow.flow is None else f"{flow.flow}: {flow.scheme}"


def _flow_row(treatment: str, flow: FlowResult, at: str, shown: tuple[str, ...]) -> tuple[Cell, ...]:
    typicals = {"throughput": flow.throughput, "delay": flow.delay, "loss": flow.loss}
    cells = [cell for name in shown for cell in _typical(typicals[name], f"{at}/{name}")]
    return (
        _named(treatment),
        _which(flow),
        flow.direction,
        Number(flow.throughput.n, f"{at}/throughput/n"),
        *cells,
    )


def _typical(found: Typical, at: str) -> Iterator[Cell]:
    basis = Basis(found.n, found.confidence, found.method)
    yield Number(found.median, f"{at}/median")
    yield Number(found.low, f"{at}/low", rounding="down", basis=basis)
    yield Number(found.high, f"{at}/high", rounding="up", basis=basis)
    yield Number(found.mean, f"{at}/mean")


def _fairness(path: PathAnalysis) -> Table:
    rows = tuple(
        (
            _named(found.treatment),
            Number(found.fairness.n, f"/path/treatments/{at}/fairness/n"),
            *_typical(found.fairness, f"/path/treatments/{at}/fairness"),
        )
        for at, found in enumerate(path.treatments)
        if found.fairness is not None
    )
    return table_of(
        key="jain",
        caption="Jain's fairness index of the flows' throughputs: 1 where all have the same, 1/flows where one has all",
        titles=("treatment", "trials", "median", "low", "high", "mean"),
        rows=rows,
        numeric=range(1, 6),
    )


def _shares(path: PathAnalysis) -> Table:
    rows = tuple(
        _share_row(found.treatment, flow, flow.share, f"/path/treatments/{at}/flows/{place}")
        for at, found in enumerate(path.treatments)
        for place, flow in enumerate(found.flows)
        if flow.share is not None
    )
    shares = [flow.share for found in path.treatments for flow in found.flows if flow.share is not None]
    too_few = all(share.low is None and share.high is None for share in shares)
    return table_of(
        key="shares",
        caption="What each flow got of its fair share of what all flows of its direction got while it ran (1 is fair): "
        "median over the trials and, of six or more, its two-sided 95 % interval (exact binomial ranks). Then the trials in which it "
        "converged, and after how long: seconds from the last start of a flow until five seconds in a row lie within 25 % "
        "of the fair share; the other trials count as longer",
        titles=(
            "treatment",
            "flow",
            "trials",
            "share",
            "low",
            "high",
            "converged",
            "after [s]",
            "low",
            "high",
        ),
        rows=rows,
        numeric=range(2, 10),
        optional={4, 5, 8, 9} if too_few else (),
    )


def _share_row(treatment: str, flow: FlowResult, share: Typical, at: str) -> tuple[Cell, ...]:
    time = flow.convergence
    median, low, high, _ = _typical(share, f"{at}/share")
    begin = (_named(treatment), _which(flow), Number(share.n, f"{at}/share/n"), median, low, high)
    if time is None:
        return (*begin, *[ABSENT] * 4)
    basis = Basis(time.n, time.confidence, time.method)
    return (
        *begin,
        Number(time.converged, f"{at}/convergence/converged"),
        Number(time.median, f"{at}/convergence/median"),
        Number(time.low, f"{at}/convergence/low", rounding="down", basis=basis),
        Number(time.high, f"{at}/convergence/high", rounding="up", basis=basis),
    )


# Harm


def harm_tables(path: PathAnalysis) -> list[Table]:
    """Return one table of harm for each metric; none if no flow is alone and beside another."""
    harm = path.harm
    if harm is None:
        return []
    metrics = dict.fromkeys(cell.metric for cell in harm.cells)
    return [_harm(harm, metric) for metric in metrics]


def _harm(harm: Harm, metric: str) -> Table:
    rows = tuple(
        _harm_row(harm, cell, f"/path/harm/cells/{place}")
        for place, cell in enumerate(harm.cells)
        if cell.metric == metric
    )
    return table_of(
        key=f"harm-{metric}",
        caption=f"Harm to the {metric} of a flow beside another: the share of its performance that it loses, with its "
        f"{percent(harm.confidence)} interval, and whether that is more than by another flow of its own scheme; verdicts "
        f"hold at {percent(harm.confidence)} for all {harm.family} together (Holm)",
        titles=(
            "harm to", "beside", "harm", "verdict", "than by itself", "mean alone", "n", "mean beside", "n", "p", "more trials",
            "because",
        ),
        rows=rows,
        numeric=(2, *range(5, 11)),
        remarks=range(5, 12),
        optional={4},
    )  # fmt: skip


def _harm_row(harm: Harm, cell: HarmCell, at: str) -> tuple[Cell, ...]:
    basis = Basis(min(cell.n), harm.confidence, harm.method)
    return (
        Name(cell.name),
        Name(cell.other),
        Estimate(
            Number(cell.harm, f"{at}/harm"),
            Number(cell.low, f"{at}/low", rounding="down", basis=basis),
            Number(cell.high, f"{at}/high", rounding="up", basis=basis),
        ),
        cell.verdict,
        cell.than_itself or ABSENT,
        Number(cell.means[0], f"{at}/means/0"),
        Number(cell.n[0], f"{at}/n/0"),
        Number(cell.means[1], f"{at}/means/1"),
        Number(cell.n[1], f"{at}/n/1"),
        Number(cell.p_value, f"{at}/p_value", kind="p_value"),
        Number(cell.trials_needed, f"{at}/trials_needed", kind="count"),
        cell.reason,
    )


# The plane


def _regions(path: PathAnalysis) -> Table:
    rows = tuple(
        _region_row(region, f"/path/planes/{at}/regions/{place}")
        for at, plane in enumerate(path.planes)
        for place, region in enumerate(plane.regions)
    )
    kinds = {region.kind for plane in path.planes for region in plane.regions}
    what = "first KPI of each metric" if kinds == {"kpi"} else "medians and their rectangle"
    return table_of(
        key="plane",
        caption=f"Regions of the throughput–delay plane: {what}; together: the confidence of both at least (Bonferroni)",
        titles=(
            "treatment", "series", "n", "throughput", "low", "high", "delay", "low", "high", "each %", "together %",
            "standing", "because",
        ),
        rows=rows,
        numeric=range(2, 11),
        remarks={12},
    )  # fmt: skip


def _region_row(region: PlaneRegion, at: str) -> tuple[Cell, ...]:
    begin: tuple[Cell, ...] = (_named(region.treatment), region.series, Number(region.n, f"{at}/n"))
    if region.throughput is None or region.delay is None:
        short = f"{region.needed} trials are needed; there are {region.n}" if region.n < region.needed else ""
        return (*begin, *[ABSENT] * 8, "none", region.note or short)
    each = (
        Number(side.confidence, f"{at}/{name}/confidence")
        for name, side in (("throughput", region.throughput),)
    )
    return (
        *begin,
        *_side(region, region.throughput, f"{at}/throughput"),
        *_side(region, region.delay, f"{at}/delay"),
        *each,
        Number(region.joint, f"{at}/joint", rounding="down"),
        "descriptive" if region.descriptive else "holds",
        (region.note or "").replace("descriptive only: ", ""),
    )


def _side(region: PlaneRegion, side: AxisRange, at: str) -> Iterator[Cell]:
    basis = Basis(region.n, side.confidence, region.method)
    rounding = "nearest" if region.kind == "median" else "up" if side.low is None else "down"
    yield Number(side.point, f"{at}/point", "", rounding, basis)
    yield Number(side.low, f"{at}/low", "", "down", basis)
    yield Number(side.high, f"{at}/high", "", "up", basis)


# Emulator and paths


def _emulator(path: PathAnalysis) -> Table:
    names = ("lateness_uplink", "lateness_downlink", "lateness_largest", "unseen", "processor", "unlogged")
    rows = tuple(
        (
            _named(found.treatment),
            Number(found.trials, f"/path/treatments/{at}/trials"),
            Number(found.invalid, f"/path/treatments/{at}/invalid"),
            *(
                Number(getattr(found.emulator, name), f"/path/treatments/{at}/emulator/{name}", rounding="up")
                for name in names
            ),
        )
        for at, found in enumerate(path.treatments)
        if path.flows
    )
    return table_of(
        key="emulator",
        caption=f"The emulator, by its own account: the worst of all trials; a trial is not valid when one packet in a hundred was "
        f"late by more than {path.lateness:g} ms, or one was lost without a line in the log",
        titles=(
            "treatment", "valid trials", "not valid", "late uplink p99 [ms]", "late downlink p99 [ms]", "latest [ms]",
            "did not look p99 [ms]", "of a core [%]", "lost unlogged",
        ),
        rows=rows,
        numeric=range(1, 9),
    )  # fmt: skip


def _paths(path: PathAnalysis) -> Table:
    rows = tuple(
        (
            _named(found.treatment),
            found.uplink,
            found.downlink,
            Number(found.mtu, f"/path/paths/{at}/mtu"),
            found.source or ABSENT,
        )
        for at, found in enumerate(path.paths)
    )
    columns = ("treatment", "uplink", "downlink", "MTU [B]", "source")
    return table_of("paths", "Paths: what packets meet each way", columns, rows, {3})


def _named(name: str) -> Cell:
    return ABSENT if name == "-" else Name(name)
