"""The flows of a workload, sampled or read, and the load they offer to a network."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple, TypeAlias, TypedDict

import numpy as np
import numpy.typing as npt

from trialwise import _core
from trialwise.errors import PlanError
from trialwise.experiment.simulation import OfferedLoad, SimulationTrial, Workload, names_file
from trialwise.experiment.text import frozen_or_named
from trialwise.trials.execution_traces import names_trace, trace_files, trace_graph
from trialwise.trials.parts import merged, part_seed, parts_of

Flows: TypeAlias = dict[str, npt.NDArray[np.int64]]
"""A flow list by columns, each of shape (flows,): flow_id, src, dst, size_bytes, start_ps; `class` (0 for that of the network) and
`dst_port` if a file has them, `job` (-1 for none) if flows make jobs.
"""
_PICOSECONDS = 1e12
_ROUNDING = 1e-6
"""By how much sums of loads may differ from 1."""
_PACKETS = {"segment": "1000B", "header": "48B"}
"""Packet sizes by default (crate `simulator`, `Settings::for_line_rate`)."""


class Drawing(TypedDict):
    """The arguments of a sampled flow list besides its topology and seed."""

    sizes: str
    size_table: str | None
    arrivals: str
    pattern: str
    load: float
    load_of: str
    duration_ps: int


def flow_list(
    workload: Workload,
    fabric: _core.Fabric,
    folder: Path,
    seed: int,
    coordinates: npt.NDArray[np.float64] | None = None,
) -> Flows:
    """Return the flows of a workload: sampled with `seed` (possibly none), or read from its file.

    Those that wait for others have their earliest possible starts.

    `coordinates` in [0, 1) replace the seed for the number of flows, and for the size and time of the first ones.

    Raises
    ------
    PlanError
        The workload is invalid; the message says what to write.
    """
    try:
        if workload.flows:
            return _listed(workload, fabric, folder).flows
        if (graph := flow_graph(workload, fabric, folder, seed)) is not None:
            return graph.flows()
        if coordinates is not None:
            return _core.generate_flows_from(
                fabric, coordinates, **drawing(workload, fabric, folder), seed=seed
            )
        return _drawn(workload, fabric, folder, seed)
    except ValueError as error:
        raise PlanError(f"workload: {error}") from error


def flow_graph(workload: Workload, fabric: _core.Fabric, folder: Path, seed: int) -> _core.FlowGraph | None:
    """Return the flows of a workload in which some wait for others or make a job; None if it is a plain list.

    Raises
    ------
    PlanError
        The workload is invalid; the message says what to write.
    """
    try:
        if workload.flows:
            return _listed(workload, fabric, folder).graph
        if not workload.job:
            return None
        graph = _core.FlowGraph.of_job(workload.job, fabric, seed=seed)
        if not workload.is_drawn:
            return graph
        others = _drawn(workload, fabric, folder, seed)
        others["flow_id"] += len(graph.flows()["flow_id"])
        return graph.with_flows(others)
    except ValueError as error:
        raise PlanError(f"workload: {error}") from error


def _drawn(workload: Workload, fabric: _core.Fabric, folder: Path, seed: int) -> Flows:
    """Return the flows of all parts of a workload, drawn with `seed`."""
    parts = enumerate(_drawings(workload, fabric, folder))
    return merged(
        [_core.generate_flows(fabric, **part, seed=part_seed(seed, place)) for place, part in parts]
    )


def _drawings(workload: Workload, fabric: _core.Fabric, folder: Path) -> list[Drawing]:
    """Return the arguments of each part of a workload; raise PlanError if several do not add up, or ask too much together."""
    parts = [drawing(part, fabric, folder) for part in parts_of(workload)]
    if len(parts) == 1:
        return parts
    if any(part["pattern"] == "one-way" or part["load_of"] == "bottleneck" for part in parts):
        raise PlanError(
            "workload: beside takes loads of the hosts, so that they add up on every link",
            hint='write load_of = "host" and another pattern than one-way',
        )
    fullest = sum(_core.fullest_link(fabric, **part)[2] for part in parts)
    if fullest > 1 + _ROUNDING:
        raise PlanError(
            f"workload: all parts together ask {fullest:.3g} of what the fullest link carries",
            hint="lower the load of one of them",
        )
    return parts


def expected_flows(workload: Workload, fabric: _core.Fabric, folder: Path) -> float:
    """Return the mean number of flows of a trial; raise PlanError if the workload is invalid."""
    try:
        if workload.flows:
            return float(len(_listed(workload, fabric, folder).flows["start_ps"]))
        of_job = 0
        if workload.job:
            of_job = len(_core.FlowGraph.of_job(workload.job, fabric, seed=0).flows()["start_ps"])
        if not workload.is_drawn:
            return float(of_job)
        parts = _drawings(workload, fabric, folder)
        return of_job + sum(_core.expected_flows(fabric, **part) for part in parts)
    except ValueError as error:
        raise PlanError(f"workload: {error}") from error


def offered_load(
    trial: SimulationTrial, fabric: _core.Fabric, folder: Path, lists: Sequence[Flows]
) -> OfferedLoad | None:
    """Return the load that sampled flows offer, None if there are none; raise PlanError if the workload is invalid.

    `lists` are some of its flow lists, which show how much headers add.
    """
    if not trial.workload.is_drawn:
        return None
    try:
        drawn = _drawings(trial.workload, fabric, folder)
        links = [_core.fullest_link(fabric, **part) for part in drawn]
    except ValueError as error:
        raise PlanError(f"workload: {error}") from error
    fullest = sum(
        share for *_, share in links
    )  # of all parts the same link: each draws every pair of hosts equally often
    with_headers = fullest * (1 + _headers(trial, lists))
    load = sum(part["load"] for part in drawn)
    return OfferedLoad(load, drawn[0]["load_of"], links[0][:2], fullest, with_headers)


def _headers(trial: SimulationTrial, lists: Sequence[Flows]) -> float:
    """Return the bytes of headers per byte of payload."""
    network = {**_PACKETS, **dict(trial.network)}
    segment, header = (_core.parse_size(network[key]) for key in _PACKETS)
    sizes = np.concatenate([flows["size_bytes"][of_jobs(flows) < 0] for flows in lists])
    return header * float((-(-sizes // segment)).sum()) / max(float(sizes.sum()), 1.0)


def list_cautions(workload: Workload, fabric: _core.Fabric, folder: Path) -> list[str]:
    """Describe how the workload's flow list was interpreted, one sentence per liberty; raise PlanError if it cannot be read."""
    return _listed(workload, fabric, folder).cautions if workload.flows else []


def of_jobs(flows: Flows) -> npt.NDArray[np.int64]:
    """Return the job of each flow, -1 for none, shape (flows,)."""
    return flows.get("job", np.full(len(flows["start_ps"]), -1))


class _Listed(NamedTuple):
    """The flows of a file, what they wait for if some do, and the liberties taken with the text."""

    flows: Flows
    graph: _core.FlowGraph | None
    cautions: list[str]


def _listed(workload: Workload, fabric: _core.Fabric, folder: Path) -> _Listed:
    """Read the flows of a file, at least one, or those of the files of a trace."""
    path = frozen_or_named(folder, workload.flows)
    try:
        if names_trace(workload.flows):
            found = _traced(workload.flows, fabric, folder)
        else:
            found = _Listed(*_core.read_flow_list(_read(path)))
    except ValueError as error:
        raise PlanError(f"{path}: {error}") from error
    if not len(found.flows["start_ps"]):
        raise PlanError(f"{path}: it has no flows")
    return found


def _traced(text: str, fabric: _core.Fabric, folder: Path) -> _Listed:
    """Read the flows of an execution trace; raise ValueError or PlanError if it is none."""
    try:
        files = [path.read_bytes() for path in trace_files(folder, text)]
    except OSError as error:
        raise PlanError(f"{error.filename}: cannot be read: {error.strerror}") from error
    graph = trace_graph(files, fabric.hosts.tolist())
    return _Listed(graph.flows(), graph, [])


def duration_of(workload: Workload, flows: Flows) -> float:
    """Return the time span in seconds in which flows begin: that of the workload, or up to the last flow of a file or a job."""
    if not workload.is_drawn:
        return float(flows["start_ps"].max(initial=0) / _PICOSECONDS)
    return picoseconds(workload.duration) / _PICOSECONDS


def picoseconds(text: str) -> int:
    """Parse a duration to picoseconds; raise PlanError if it is invalid."""
    try:
        return _core.parse_picoseconds(text)
    except ValueError as error:
        raise PlanError(str(error)) from error


def drawing(workload: Workload, fabric: _core.Fabric, folder: Path) -> Drawing:
    """Return the arguments of a sampled flow list; the topology provides the defaults."""
    pattern = workload.pattern or ("all-to-all" if fabric.bottleneck is None else "one-way")
    shared = fabric.bottleneck is not None and pattern == "one-way"
    return {
        "sizes": workload.sizes,
        "size_table": _read(frozen_or_named(folder, workload.sizes)) if names_file(workload.sizes) else None,
        "arrivals": workload.arrivals,
        "pattern": pattern,
        "load": _core.parse_fraction(workload.load),
        "load_of": workload.load_of or ("bottleneck" if shared else "host"),
        "duration_ps": _core.parse_picoseconds(workload.duration),
    }


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8-sig")  # spreadsheets write a byte order mark first


_text_of_pipe = lru_cache(maxsize=2)(_text)
"""Cached, because a pipe, such as <(…), can be read only once."""


def _read(path: Path) -> str:
    try:
        return _text(path) if path.is_file() else _text_of_pipe(path)
    except (OSError, UnicodeDecodeError) as error:
        said = error.strerror if isinstance(error, OSError) else "it is not text"
        raise PlanError(f"{path}: cannot be read: {said}") from error
