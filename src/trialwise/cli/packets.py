"""`trialwise packets`."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from cyclopts import Parameter

from trialwise import _core
from trialwise.cli.files import check_out
from trialwise.cli.output import print_json, stderr_console
from trialwise.cli.text import say_document
from trialwise.errors import TrialwiseError
from trialwise.numbers import as_given

if TYPE_CHECKING:
    from trialwise.exchange.packet_files import PacketFile
    from trialwise.measurement.path_statistics import Capacity, PathStatistics

Direction = Literal["uplink", "downlink"]


def packets(
    log: Path,
    other: Path | None = None,
    /,
    *,
    host: str | None = None,
    port: tuple[int, ...] = (),
    direction: Direction | None = None,
    egress: Path | None = None,
    clock_error: str | None = None,
    max_asymmetry: str | None = None,
    start: str = "0s",
    stop: str | None = None,
    rate: str | None = None,
    propagation: str | None = None,
    to: Literal["parquet", "csv", "mahimahi", "pantheon"] | None = None,
    out: Annotated[Path | None, Parameter(name=["--out", "-o"])] = None,
    force: Annotated[bool, Parameter(negative="")] = False,
    json: Annotated[bool, Parameter(negative="")] = False,
) -> int:
    r"""Say what a log of packets says: throughput, one-way delay and loss of each flow; and write it in another format.

    Logs are packet logs of Trialwise, packets as Parquet, what both ends of a path wrote down (`trialwise capture`), captures
    (pcap, pcapng), logs of mahimahi's mm-link, and Pantheon's merged logs and tunnel logs. Captures of both ends of a path are
    joined packet by packet, through NAT too; one alone says only what passed. Metrics come twice: as Trialwise defines them, and as
    Pantheon does (docs/concepts/path-metrics.md).

    For example:

    ```text
    trialwise packets packets.log --port 5001 --port 5002 --rate 12Mbit/s
    trialwise packets uplink.log --json
    trialwise packets sender.pcap receiver.pcapng --port 5201
    trialwise packets sender.seen receiver.seen
    trialwise packets ingress.log egress.log --to pantheon \
        --out merged.log
    trialwise packets packets.log --rate trace:12mbps.trace --propagation 28ms \
        --to mahimahi --out uplink.log
    ```

    Exit codes: 0; 2 wrong options, or a file that is there; 5 a file cannot be written; 7 a file that is no log.

    Parameters
    ----------
    log
        The file of packets; of two ends, that of the sender's.
    other
        The file of the other end of the path or tunnel.
    host
        For captures: the address of the sender's end; default that which sent most.
    port
        For packet logs and captures: the port of a flow; repeatable, flows count from 1 in this order.
    direction
        Which way a log is that does not say so, that `--rate` is of, and that is written in a format that holds one; default
        uplink, or what the log says.
    egress
        For a tunnel's ingress log: the log of its other end.
    clock_error
        For two ends of a path: how much the times of day of both machines can differ, such as 2ms; of `chronyc tracking` at
        both, the sum of root dispersion and half the root delay. One-way delays then hold within it.
    max_asymmetry
        For two ends of a path: how much the path's own delays there and back can differ, such as 1ms, where you know it.
    start
        When the scheduled time begins, such as 5s, since the log began; default with it.
    stop
        When it ends; default with the log.
    rate
        What the link can carry, as in a path: 12Mbit/s, or trace:FILE. Logs with opportunities need none.
    propagation
        The path's own one-way delay, such as 28ms, for queueing delay.
    to
        Write the packets in this format.
    out
        Where to; wanted with `--to`.
    force
        Overwrite a file that is there.
    json
        Print the metrics as JSON (format trialwise.packets/1, docs/reference/path-json.md).
    """
    _check(to, out, port, force=force)
    from trialwise.exchange.packet_files import read_packet_file

    flows = {number: flow for flow, number in enumerate(port, start=1)}
    if other is not None and egress is not None:
        raise TrialwiseError(f"--egress {egress}: {other} is the other end", hint="leave --egress out")
    found = read_packet_file(
        log,
        flow_of_port=flows,
        egress=egress,
        other=other,
        host=host,
        direction=direction,
        clock_error=None if clock_error is None else _seconds(clock_error, "--clock-error"),
        asymmetry=None if max_asymmetry is None else _seconds(max_asymmetry, "--max-asymmetry"),
    )
    if host is not None and not found.kind.startswith("capture"):
        raise TrialwiseError(f"--host is for captures, and {log} is a {found.kind}", hint="leave it out")
    for option, given in (("--clock-error", clock_error), ("--max-asymmetry", max_asymmetry)):
        if given is not None and found.joined is None:
            raise TrialwiseError(
                f"{option} is for what both ends of a path saw, and {log} is a {found.kind}",
                hint="leave it out",
            )
    way: Direction = direction or ("downlink" if set(found.packets.direction.tolist()) == {1} else "uplink")
    begin = _seconds(start, "--start")
    end = _end(found) if stop is None else _seconds(stop, "--stop")
    if not end > begin:
        raise TrialwiseError(
            f"from {as_given(begin)} s to {as_given(end)} s there is no time",
            hint="choose --start and --stop",
        )
    found = _with_opportunities(found, rate, end)
    own_delay = math.nan if propagation is None else _seconds(propagation, "--propagation")
    statistics = _statistics(log, found, way, (begin, end), _constant(rate, way), own_delay * 1000)
    if json:
        from trialwise.exchange.path_json import packets_document

        print_json(packets_document(statistics))
    else:
        from trialwise.report.documents.packets import document

        say_document(document(statistics))
    if to is not None and out is not None:
        from trialwise.exchange.packet_files import write_packet_file

        write_packet_file(
            out, found, to, direction=way, propagation=0.0 if propagation is None else own_delay
        )
        stderr_console().print(f"wrote {out}", markup=False)
    return 0


def _check(to: str | None, out: Path | None, ports: tuple[int, ...], *, force: bool) -> None:
    if (to is None) != (out is None):
        raise TrialwiseError(
            "--to and --out belong together", hint="write --to parquet --out packets.parquet"
        )
    if out is not None:
        check_out(out, force=force)
    for number in ports:
        if not 0 < number < 65536:
            raise TrialwiseError(f"--port {number}: a port is a number from 1 to 65535")


def _seconds(text: str, option: str) -> float:
    from trialwise.experiment.quantity import seconds

    try:
        return seconds(text)
    except ValueError as error:
        raise TrialwiseError(f"{option} {text}: {error}") from error


def _end(found: PacketFile) -> float:
    """Return the time just after the last packet."""
    return float(np.nextafter(found.packets.time.max(initial=0.0), np.inf))


def _with_opportunities(found: PacketFile, rate: str | None, end: float) -> PacketFile:
    """Return the file with the opportunities of the given rate."""
    if rate is None:
        return found
    from dataclasses import replace

    from trialwise.exchange.trace_files import read_trace
    from trialwise.measurement import opportunities

    if rate.startswith("trace:"):
        trace = read_trace(Path(rate.removeprefix("trace:").partition(",")[0]))
        return replace(found, opportunities=opportunities.of_trace(trace, 0, end * 1000))
    return replace(found, opportunities=opportunities.of_rate(_bits_per_second(rate), 0, end * 1000))


def _bits_per_second(rate: str) -> int:
    try:
        return _core.check_link([[("rate", rate)]], ".").capacity or 0
    except ValueError as error:
        raise TrialwiseError(f"--rate: {error}") from error


def _constant(rate: str | None, way: Direction) -> dict[str, float]:
    if rate is None or rate.startswith("trace:"):
        return {}
    return {way: _bits_per_second(rate) / 1e6}


def _statistics(
    log: Path,
    found: PacketFile,
    way: Direction,
    span: tuple[float, float],
    constant: dict[str, float],
    propagation: float,
) -> PathStatistics:
    from trialwise.measurement.path_statistics import (
        Capacity,
        PathStatistics,
        capacity_of,
        flow_metrics,
        two_ends,
        without_delays,
        without_losses,
    )

    capacities: dict[str, Capacity] = {}
    if found.opportunities is not None and found.opportunities.size:
        capacities[way] = capacity_of(found.opportunities, *span)
    capacities |= {name: Capacity(rate, rate) for name, rate in constant.items()}
    metrics = flow_metrics(found.packets, *span, capacities=capacities, propagation=propagation)
    if not found.has_delays:
        metrics = without_delays(metrics)
    if not found.has_losses:
        metrics = without_losses(metrics)
    ends = None if found.joined is None else two_ends(found.joined)
    return PathStatistics(str(log), found.kind, *span, propagation, capacities, metrics, found.notes, ends)
