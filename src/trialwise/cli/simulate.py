"""`trialwise simulate`."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from trialwise.cli.files import STANDARD, check_out
from trialwise.cli.output import messages, print_json
from trialwise.cli.patience import Patience
from trialwise.cli.text import columns, say
from trialwise.errors import StoreError, TrialwiseError

if TYPE_CHECKING:
    from trialwise._core import Fabric
    from trialwise.experiment.simulation import Pairs, SimulationTrial, Workload
    from trialwise.trials.simulated_document import SimulateDocument
    from trialwise.trials.simulating import Flows, Sampling, Simulated

_LOOKS = 1000
"""A picture has about so many looks at queues and rates."""
_LINES = 4
_ENDINGS = (".svg", ".pdf", ".png")


def simulate(
    *,
    topology: str,
    cc: str,
    load: str | None = None,
    load_of: Literal["host", "bottleneck"] | None = None,
    sizes: str | None = None,
    duration: str | None = None,
    pattern: str | None = None,
    arrivals: str | None = None,
    flows: Path | None = None,
    seed: int = 1,
    mode: Literal["clean", "compatible"] = "clean",
    routes: Path | None = None,
    set: Annotated[tuple[str, ...], Parameter(negative="", show_default=False)] = (),  # noqa: A002 the word for it
    csv: Annotated[Path | None, Parameter(allow_leading_hyphen=True)] = None,
    save_flows: Path | None = None,
    plot: Path | None = None,
    force: Annotated[bool, Parameter(negative="")] = False,
    json: Annotated[bool, Parameter(negative="")] = False,
) -> int:
    """Simulate flows over a data-centre network, packet by packet: one trial.

    The flows are drawn (--sizes, --load, --duration, --seed) or read (--flows); the trial goes on until the last one ends.

    For example:

    ```text
    trialwise simulate --topology dumbbell:10x10,100Gbit/s,1us --cc hpcc --load 30% --sizes websearch --duration 20ms
    trialwise simulate --topology fat-tree:4,100Gbit/s,1us --cc dctcp --load 30% --sizes google_rpc --duration 1ms --json
    trialwise simulate --topology topology.txt --cc dcqcn --flows flows.csv --mode compatible --csv -
    trialwise simulate --topology dumbbell:8x1,10Gbit/s,1us --cc dctcp --flows incast.csv --set kmin=30kB --plot queue.svg
    ```

    Exit codes: 0; 2 something that cannot be simulated, or a file that is there; 5 a file that cannot be written; 130 interrupted.

    Parameters
    ----------
    topology
        dumbbell:10x10,100Gbit/s,1us (and the middle link's rate), fat-tree:4,100Gbit/s,1us, leaf-spine:4x2x8,100Gbit/s,1us
        (leaves, spines, hosts of a leaf; and the uplinks' rate), or a file in the HPCC simulator's format.
    cc
        The congestion control of every flow: dctcp, dcqcn, timely, timely_patched, hpcc, newreno, cubic, ledbat, copa, fixed_rate.
    load
        Payload asked for, as a part of a capacity, such as 30%.
    load_of
        Of which: bottleneck (the default where all flows share a link) or host, the links of the hosts that send.
    sizes
        websearch, facebook_hadoop, alistorage, google_rpc, fixed:1000B, lognormal:mean=100kB,sigma=2,
        pareto:mean=100kB,shape=1.5, or a file with a size in bytes and the percentage of flows up to it on each line.
    duration
        Flows begin from 0 to this, such as 20ms.
    pattern
        one-way, all-to-all, permutation or incast:8; default one-way where all flows share a link, else all-to-all.
    arrivals
        poisson (the default), lognormal:sigma=2 or bursty:mean=10.
    flows
        The flows themselves: CSV with flow_id,src,dst,size_bytes,start_ns, or the HPCC simulator's format.
    seed
        Of flows, marks and losses.
    mode
        compatible gives what the public HPCC simulator gives, to the nanosecond.
    routes
        With a topology file: the order of equal next hops, on each line a node, a host and the hops.
    set
        A parameter of the network or of the controller as KEY=VALUE; repeatable (docs/reference/simulation.md lists them).
    csv
        Write the flows and their completion times: flow_id,src,dst,size_bytes,start_ns,fct_ns; - for standard output.
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
    }
    trial = _trial(topology, cc, _workload(flows, drawn), set, mode, routes)
    found, seconds = _simulated(trial, seed, with_series=plot is not None)
    _write_files(found, trial, csv, save_flows, plot)
    if csv == STANDARD:
        print(found.result.csv(), end="")
    if json:
        print_json(dataclasses.asdict(_document(trial, seed, found, seconds)))
    elif csv is None:
        say(_lines(_document(trial, seed, found, seconds)))
    return 0


def _check_places(
    csv: Path | None, save_flows: Path | None, plot: Path | None, *, force: bool, json: bool
) -> None:
    for path in (csv, save_flows, plot):
        if path is not None:
            check_out(path, force=force)
    if plot is not None and plot.suffix.lower() not in _ENDINGS:
        raise TrialwiseError(f"--plot {plot}: the ending says the format; allowed: {', '.join(_ENDINGS)}")
    if json and csv == STANDARD:
        raise TrialwiseError(
            "--json and --csv - both write to standard output", hint="name a file: --csv flows.csv"
        )


# What is simulated


def _workload(flows: Path | None, drawn: dict[str, str | None]) -> Workload:
    from trialwise.experiment.simulation import Workload

    given = {name: text for name, text in drawn.items() if text is not None}
    if flows is not None:
        if given:
            names = ", ".join(f"--{name.replace('_', '-')}" for name in given)
            raise TrialwiseError(f"{names}: --flows has the flows already", hint="leave one of them out")
        return Workload(flows=str(flows))
    if missing := [name for name in ("sizes", "load", "duration") if name not in given]:
        raise TrialwiseError(
            f"--{missing[0]} is missing",
            hint="write --sizes websearch --load 30% --duration 20ms, or name a file: --flows flows.csv",
        )
    return Workload(**given)


def _trial(
    topology: str, cc: str, workload: Workload, settings: Sequence[str], mode: str, routes: Path | None
) -> SimulationTrial:
    from trialwise.experiment.simulation import SimulationTrial

    network, controller = _parameters(settings)
    return SimulationTrial(
        cc, topology, workload, network, controller, mode, "" if routes is None else str(routes)
    )


def _parameters(settings: Sequence[str]) -> tuple[Pairs, Pairs]:
    """The parameters of the network, and all others: those are the controller's."""
    from trialwise._core import network_parameters

    known = network_parameters()
    network: list[tuple[str, str]] = []
    controller: list[tuple[str, str]] = []
    for setting in settings:
        key, equals, text = setting.partition("=")
        if not equals or not key:
            raise TrialwiseError(f"--set {setting}: no value", hint="write --set kmin=400kB")
        (network if key in known else controller).append((key, text))
    return tuple(network), tuple(controller)


def _simulated(trial: SimulationTrial, seed: int, *, with_series: bool) -> tuple[Simulated, float]:
    """The trial, and how many seconds it took."""
    from trialwise.trials import simulating

    if seed < 0:
        raise TrialwiseError(f"--seed {seed}: seeds are 0 or more")
    with Patience(messages(), "simulating") as patience:

        def say_so(now: int, _events: int, unfinished: int) -> None:
            patience.say(f"simulating: {now / 1e9:.3g} ms, {unfinished} flows have not ended")

        started = time.perf_counter()
        found = simulating.simulate(
            trial,
            Path(),
            flow_seed=seed,
            seed=seed,
            sampling=(lambda fabric, flows: _looks(trial, fabric, flows)) if with_series else None,
            progress=say_so,
        )
        return found, time.perf_counter() - started


def _looks(trial: SimulationTrial, fabric: Fabric, flows: Flows) -> Sampling:
    """Every port of a switch, and the largest flows."""
    from trialwise.trials.simulating import Sampling, duration_of, switch_ports

    largest = flows["size_bytes"].argsort(kind="stable")[::-1][:_LINES]
    span = duration_of(trial.workload, flows) or 1e-3
    return Sampling(span / _LOOKS, switch_ports(fabric), largest.tolist())


# What is written


def _write_files(
    found: Simulated, trial: SimulationTrial, csv: Path | None, save_flows: Path | None, plot: Path | None
) -> None:
    if save_flows is not None:
        _write(save_flows, _flow_list(found, save_flows))
    if plot is not None:
        _draw(plot, trial, found)
    if csv is not None and csv != STANDARD:
        _write(csv, found.result.csv())


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise StoreError(
            f"{path}: cannot be written: {error.strerror}", hint="choose another place"
        ) from error
    messages().print(f"wrote {path}", markup=False)


def _flow_list(found: Simulated, path: Path) -> str:
    from trialwise._core import format_flows

    return format_flows(found.flows, hpcc=path.suffix.lower() != ".csv")


def _draw(path: Path, trial: SimulationTrial, found: Simulated) -> None:
    from trialwise.cli.plots import write_plot
    from trialwise.report.simulation_figure import write_simulation
    from trialwise.trials.simulated_series import fullest_queues, largest_rates

    times, queues = fullest_queues(found, _LINES)
    title = f"{trial.scheme} over {trial.topology}"
    write_plot(path, str, lambda to: write_simulation(to, times, queues, largest_rates(found, _LINES), title))


def _document(trial: SimulationTrial, seed: int, found: Simulated, seconds: float) -> SimulateDocument:
    from trialwise.trials.simulated_document import SimulateDocument, classes_of

    return SimulateDocument(
        topology=trial.topology,
        controller=trial.scheme,
        mode=trial.mode,
        seed=seed,
        simulated=found.result.end_ps / 1e12,
        seconds=seconds,
        hops_per_second=found.result.totals["hops"] / seconds,
        totals=found.result.totals,
        classes=classes_of(found),
    )


def _lines(document: SimulateDocument) -> Iterator[str]:
    totals = document.totals
    yield (
        f"{document.controller} over {document.topology}: {document.classes[-1].flows} flows, "
        f"{document.simulated * 1e3:.4g} ms"
    )
    yield ""
    percentiles = [f"{each.percentile:g}%" for each in document.classes[-1].quantiles]
    rows = [
        [
            "sizes",
            "flows",
            *(f"FCT {name}" for name in percentiles),
            *(f"slowdown {name}" for name in percentiles),
        ]
    ]
    for each in document.classes:
        fct = [f"{quantile.fct * 1e6:.4g} us" for quantile in each.quantiles]
        slowdown = [f"{quantile.slowdown:.4g}" for quantile in each.quantiles]
        missing = [""] * (2 * (len(percentiles) - len(each.quantiles)))
        rows.append([each.sizes, str(each.flows), *fct, *slowdown, *missing])
    yield from columns(rows)
    if unfinished := document.classes[-1].unfinished:
        yield f"  {unfinished} flows did not finish and are left out"
    yield ""
    dropped = totals["dropped_buffer"] + totals["dropped_link"] + totals["dropped_fault"]
    yield (
        f"{totals['data_sent']} data packets ({totals['data_resent']} sent again), {dropped} dropped, {totals['marks']} marked, "
        f"{totals['pauses']} pauses, at most {totals['peak_buffer'] / 1e3:.4g} kB in a switch"
    )
    yield (
        f"{totals['hops']} packet-hops, {totals['events']} events in {document.seconds:.3g} s "
        f"({document.hops_per_second / 1e6:.3g} million packet-hops/s)"
    )
