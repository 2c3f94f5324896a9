"""`trialwise simulate`."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from trialwise._core import simulation_controllers
from trialwise.cli.files import PRINTED, STANDARD, check_out, write_text
from trialwise.cli.output import print_json, stderr_console
from trialwise.cli.simulation_progress import SimulationProgress
from trialwise.cli.spinner import StatusLine
from trialwise.cli.text import print_data, say_document
from trialwise.errors import TrialError, TrialwiseError

if TYPE_CHECKING:
    from trialwise._core import Fabric
    from trialwise.experiment.simulation import Pairs, SimulationTrial, Workload
    from trialwise.trials.drawn_flows import Flows
    from trialwise.trials.simulated_document import SimulateDocument
    from trialwise.trials.simulating import Sampling, Simulated

_CONTROLLERS = (
    f"The congestion control of every flow: {', '.join(simulation_controllers())}, or a class in a module of this folder: "
    "python:MODULE:CLASS."
)
_FIRST_INTERVAL = 1e-9
_LOOKS = 2000
"""Number of samples of queues and rates in a picture: at most this, and at least half of it, however long the trial."""
_LINES = 4
_ENDINGS = PRINTED
_MAX_SEED = 2**64 - 1
_MAX_PATHS = 1_000_000


def simulate(
    *,
    topology: str,
    cc: Annotated[str, Parameter(help=_CONTROLLERS)],
    load: Annotated[str | None, Parameter(allow_leading_hyphen=True)] = None,
    load_of: Literal["host", "bottleneck"] | None = None,
    sizes: str | None = None,
    duration: Annotated[str | None, Parameter(allow_leading_hyphen=True)] = None,
    pattern: str | None = None,
    arrivals: str | None = None,
    beside: str | None = None,
    job: str | None = None,
    flows: Path | None = None,
    seed: int = 1,
    engine: Literal["trialwise", "ns3", "fluid", "paths", "links"] = "trialwise",
    rate_interval: Annotated[str | None, Parameter(allow_leading_hyphen=True)] = None,
    sampled_paths: Annotated[int | None, Parameter(allow_leading_hyphen=True)] = None,
    link_distance: Annotated[float | None, Parameter(allow_leading_hyphen=True)] = None,
    mode: Literal["clean", "compatible"] = "clean",
    routes: Path | None = None,
    set: Annotated[tuple[str, ...], Parameter(negative="", show_default=False)] = (),  # noqa: A002 the word for it
    csv: Annotated[Path | None, Parameter(allow_leading_hyphen=True)] = None,
    save_flows: Path | None = None,
    plot: Path | None = None,
    force: Annotated[bool, Parameter(negative="")] = False,
    json: Annotated[bool, Parameter(negative="")] = False,
) -> int:
    r"""Simulate flows over a data-centre network, packet by packet: one trial.

    The flows are drawn (--sizes, --load, --duration, --seed), those of a job (--job), or read (--flows); the trial goes on until the
    last one ends, or none that is left can get on.

    For example:

    ```text
    trialwise simulate --topology dumbbell:10x10,100Gbit/s,1us --cc hpcc \
        --load 30% --sizes websearch --duration 20ms
    trialwise simulate --topology fat-tree:4,100Gbit/s,1us --cc dctcp \
        --load 30% --sizes google_rpc --duration 1ms --json
    trialwise simulate --topology leaf-spine:4x4x8,100Gbit/s,1us --cc hpcc \
        --job ring-all-reduce:8MB
    trialwise simulate --topology topology.txt --cc dcqcn --flows flows.csv \
        --mode compatible --csv -
    trialwise simulate --topology dumbbell:8x1,10Gbit/s,1us --cc dctcp \
        --flows incast.csv --set kmin=30kB --plot queue.svg
    ```

    Exit codes: 0; 2 something that cannot be simulated, or a file that is there; 4 a congestion control in Python that fails; 5 a
    file that cannot be written; 130 interrupted.

    Parameters
    ----------
    topology
        dumbbell:10x10,100Gbit/s,1us (and the middle link's rate), fat-tree:4,100Gbit/s,1us, leaf-spine:4x2x8,100Gbit/s,1us
        (leaves, spines, hosts of a leaf; and the uplinks' rate), or a file in the format of the HPCC simulator, ns3-datacenter or
        SimAI.
    cc
        The congestion control of every flow.
    load
        Payload asked for, as a part of a capacity, such as 30%.
    load_of
        Of which: bottleneck (the default where all flows share it: one-way over a dumbbell; else of those that cross it) or host,
        the links of the hosts that send. More than a link carries is refused.
    sizes
        websearch, facebook_hadoop, alistorage, google_rpc, fixed:1000B, lognormal:mean=100kB,sigma=2,
        pareto:mean=100kB,shape=1.5, or a file with a size in bytes and the percentage of flows up to it on each line.
    duration
        Flows begin from 0 to this, such as 20ms.
    pattern
        one-way, all-to-all, permutation or incast:8; default one-way where all flows share a link, else all-to-all.
    arrivals
        poisson (the default), lognormal:sigma=2 or bursty:mean=10.
    beside
        More drawn flows: of each part the pattern, the sizes and the load of the hosts, such as "incast:60 fixed:500kB 2%;
        permutation websearch 10%".
    job
        Flows that wait for one another, such as ring-all-reduce:8MB, all-to-all:8MB or pipeline:1MB,microbatches=8
        (docs/reference/simulation.md), alone or beside drawn ones.
    flows
        The flows themselves: CSV with flow_id,src,dst,size_bytes,start_ns (and class, dst_port, after), the HPCC simulator's format,
        or a connection matrix of HTSIM (.cm).
    seed
        Of flows, marks and losses.
    engine
        ns3 has the same flows simulated by ns-3, on the same routes (docs/how-to/check-with-ns-3.md): dctcp, newreno, cubic or bbr.
        Estimates: fluid gives them max-min fair rates instead of packets, paths simulates packets of sampled paths with what crosses
        them, links those of each link by itself.
    rate_interval
        With --engine fluid: the least time between two searches for rates, such as 10us; without it, at every begin and end of a
        flow, which is exact.
    sampled_paths
        With --engine paths: how many paths are simulated, in the mean; 100 by default, and all where the flows take no more.
    link_distance
        With --engine links: links whose traffic differs by no more than this are simulated once for all of them, such as 0.1; without
        it, each by itself.
    mode
        compatible gives what the public HPCC simulator gives, to the nanosecond.
    routes
        With a topology file: the order of equal next hops, on each line a node, a host and the hops.
    set
        A parameter of the network or of the controller as KEY=VALUE; repeatable (docs/reference/simulation.md lists them).
    csv
        Write the flows and their completion times: flow_id,src,dst,size_bytes,start_ns,fct_ns (class and dst_port where the list
        has them); - for standard output.
    save_flows
        Write the flow list: as CSV where the name ends in .csv, else in the HPCC simulator's format.
    plot
        Write a picture of queues and rates over time: a file ending in .svg, .pdf or .png.
    force
        Overwrite files that are there.
    json
        Print the results as JSON (format trialwise.simulate/1, docs/reference/simulation.md).
    """
    _check_places(csv, save_flows, plot, force=force, json=json)
    drawn = {
        "sizes": sizes,
        "load": load,
        "load_of": load_of,
        "pattern": pattern,
        "arrivals": arrivals,
        "duration": duration,
        "beside": beside,
        "job": job,
    }
    if plot is not None and engine != "trialwise":
        raise TrialwiseError(
            f"--plot: engine {engine} does not say queues and rates over time", hint="leave --engine out"
        )
    trial = _trial(topology, cc, _workload(flows, drawn), set, mode, routes)
    options = {"rate_interval": rate_interval, "sampled_paths": sampled_paths, "link_distance": link_distance}
    trial = dataclasses.replace(trial, engine=engine, **_engine_options(options, engine))
    found = _simulated(trial, seed, with_series=plot is not None)
    _write_files(found, trial, csv, save_flows, plot)
    if csv == STANDARD:
        print_data(found.result.csv())
    if json:
        print_json(dataclasses.asdict(_document(trial, seed, found)))
    elif csv is None:
        from trialwise.report.documents.simulate import document

        say_document(document(_document(trial, seed, found)))
    return 0


def _engine_options(given: Mapping[str, str | float | None], engine: str) -> dict[str, Any]:
    """Return the keys of a trial that its engine alone has, as they were given."""
    from trialwise.experiment.engines import owner
    from trialwise.trials.drawn_flows import picoseconds

    found: dict[str, Any] = {}
    for name, value in given.items():
        if value is None:
            continue
        option = f"--{name.replace('_', '-')}"
        if engine != owner(name):
            raise TrialwiseError(f"{option} goes with --engine {owner(name)}", hint="leave it out")
        if name == "sampled_paths" and not 1 <= int(value) <= _MAX_PATHS:
            raise TrialwiseError(f"{option} {value}: must be from 1 to {_MAX_PATHS:,}")
        if name == "link_distance" and not 0 <= float(value) < 1:
            raise TrialwiseError(f"{option} {value}: must be from 0 to below 1; 0 simulates each link")
        found[name] = picoseconds(value) / 1e12 if isinstance(value, str) else value
    return found


def _check_places(
    csv: Path | None, save_flows: Path | None, plot: Path | None, *, force: bool, json: bool
) -> None:
    given = {"--csv": csv, "--save-flows": save_flows, "--plot": plot}
    places = {option: path for option, path in given.items() if path is not None}
    for path in places.values():
        check_out(path, force=force)
    _check_different(places)
    if plot is not None and plot.suffix.lower() not in _ENDINGS:
        raise TrialwiseError(f"--plot {plot}: the ending says the format; allowed: {', '.join(_ENDINGS)}")
    if json and csv == STANDARD:
        raise TrialwiseError(
            "--json and --csv - both write to standard output", hint="name a file: --csv flows.csv"
        )


def _check_different(places: Mapping[str, Path]) -> None:
    """Refuse a file that two options name, because one of them would be lost."""
    seen: dict[Path, str] = {}
    for option, path in places.items():
        other = seen.setdefault(path.resolve(), option)
        if other != option:
            raise TrialwiseError(f"{other} and {option} both name {path}", hint="name two files")


# What is simulated


def _workload(flows: Path | None, drawn: dict[str, str | None]) -> Workload:
    from trialwise.experiment.simulation import Workload

    given = {name: text for name, text in drawn.items() if text is not None}
    if flows is not None:
        if given:
            names = ", ".join(f"--{name.replace('_', '-')}" for name in given)
            raise TrialwiseError(f"{names}: --flows has the flows already", hint="leave one of them out")
        return Workload(flows=str(flows))
    if set(given) == {"job"}:
        return dataclasses.replace(Workload(), **given)
    if missing := [name for name in ("sizes", "load", "duration") if name not in given]:
        raise TrialwiseError(
            f"--{missing[0]} is missing",
            hint="write --sizes websearch --load 30% --duration 20ms, or name a file: --flows flows.csv",
        )
    return dataclasses.replace(Workload(), **given)


def _trial(
    topology: str, cc: str, workload: Workload, settings: Sequence[str], mode: str, routes: Path | None
) -> SimulationTrial:
    from trialwise.experiment.simulation import SimulationTrial

    network, controller = _parameters(settings, cc)
    return SimulationTrial(
        scheme=cc,
        topology=topology,
        workload=workload,
        network=network,
        controller=controller,
        mode=mode,
        routes="" if routes is None else str(routes),
    )


def _parameters(settings: Sequence[str], cc: str) -> tuple[Pairs, Pairs]:
    """Return the parameters of the network, and those of the controller."""
    from trialwise._core import network_parameters

    known = network_parameters()
    network: dict[str, str] = {}
    controller: dict[str, str] = {}
    for setting in settings:
        key, equals, text = setting.partition("=")
        if not equals or not key:
            raise TrialwiseError(f"--set {setting}: no value", hint="write --set kmin=400kB")
        if key not in known:
            _check_controller_key(key, cc, known)
        place = network if key in known else controller
        if key in place:
            raise TrialwiseError(
                f"--set {key} stands twice, with {place[key]} and {text}", hint="leave one of them out"
            )
        place[key] = text
    return tuple(network.items()), tuple(controller.items())


def _check_controller_key(key: str, cc: str, of_network: Sequence[str]) -> None:
    """Refuse a key that neither a named controller nor the network has; others are checked with the trial."""
    from trialwise._core import SimulationError, controller_parameters
    from trialwise.experiment.problems import nearest

    try:
        own = controller_parameters(cc)
    except SimulationError:  # a class, or what the trial refuses
        return
    if key in own:
        return
    meant = nearest(key, [*own, *of_network])
    raise TrialwiseError(
        f'{cc} has no parameter "{key}": it has {", ".join(own)}; nor has the network: it has {", ".join(of_network)}',
        hint=f"write --set {meant}=…, if you meant that" if meant else "take one of these",
    )


def _simulated(trial: SimulationTrial, seed: int, *, with_series: bool) -> Simulated:
    from trialwise.schemes.python_class import PREFIX
    from trialwise.trials import simulating
    from trialwise.trials.exceptions import reason_of, traceback_of

    if not 0 <= seed <= _MAX_SEED:
        raise TrialwiseError(f"--seed {seed}: seeds are whole numbers from 0 to 2^64 - 1")
    with StatusLine("simulating") as patience:
        try:
            return simulating.simulate(
                trial,
                Path(),
                flow_seed=seed,
                seed=seed,
                sampling=_looks if with_series else None,
                progress=SimulationProgress(patience.say),
                announce=lambda said: stderr_console().print(f"! {said}", markup=False),
            )
        except TrialwiseError:
            raise
        except Exception as error:  # whatever a congestion control in Python raises
            if not trial.scheme.startswith(PREFIX):
                raise
            stderr_console().print(traceback_of(error), markup=False, end="")
            raise TrialError(reason_of(error)) from error


def _looks(fabric: Fabric, flows: Flows) -> Sampling:
    """Sample every port of a switch, and the largest flows."""
    from trialwise.trials.fabrics import switch_ports
    from trialwise.trials.simulating import Sampling

    largest = flows["size_bytes"].argsort(kind="stable")[::-1][:_LINES]
    return Sampling(_FIRST_INTERVAL, switch_ports(fabric), largest.tolist(), most=_LOOKS)


# What is written


def _write_files(
    found: Simulated, trial: SimulationTrial, csv: Path | None, save_flows: Path | None, plot: Path | None
) -> None:
    if save_flows is not None:
        _write(save_flows, _flow_list(found, save_flows))
    if plot is not None and len(found.flows["start_ps"]):
        _draw(plot, trial, found)
    elif plot is not None:
        stderr_console().print(f"no picture in {plot}: there are no flows", markup=False)
    if csv is not None and csv != STANDARD:
        _write(csv, found.result.csv())


def _write(path: Path, text: str) -> None:
    write_text(path, text)
    stderr_console().print(f"wrote {path}", markup=False)


def _flow_list(found: Simulated, path: Path) -> str:
    from trialwise._core import format_flows

    return format_flows(
        found.flows if found.listed is None else found.listed, hpcc=path.suffix.lower() != ".csv"
    )


def _draw(path: Path, trial: SimulationTrial, found: Simulated) -> None:
    from trialwise.cli.plots import write_plot
    from trialwise.report.figures.simulation import write_simulation
    from trialwise.trials.simulated_series import fullest_queues, largest_rates

    queues, rates = fullest_queues(found, _LINES), largest_rates(found, _LINES)
    title = f"{trial.scheme} over {trial.topology}"
    write_plot(path, str, lambda to: write_simulation(to, queues, rates, title))


def _document(trial: SimulationTrial, seed: int, found: Simulated) -> SimulateDocument:
    from trialwise.trials.drawn_flows import offered_load
    from trialwise.trials.simulated_document import SimulateDocument, classes_of, jobs_of
    from trialwise.trials.simulating import cautions_of

    offered = offered_load(trial, found.fabric, Path(), [found.flows])
    overload = () if offered is None or offered.caution is None else (offered.caution,)
    return SimulateDocument(
        topology=trial.topology,
        controller=trial.scheme,
        engine=trial.engine,
        mode=trial.mode,
        seed=seed,
        offered=offered,
        cautions=(*cautions_of(trial, found.fabric, Path()), *overload),
        simulated=found.result.end_ps / 1e12,
        start_seconds=found.took.start,
        seconds=found.took.packets,
        hops_per_second=found.result.totals.get("hops", 0) / found.took.packets,
        totals=found.result.totals,
        classes=classes_of(found),
        jobs=jobs_of(found),
    )
