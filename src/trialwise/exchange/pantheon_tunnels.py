"""Logs of the ends of Pantheon's tunnels, as they lie in its folder `tmp` before it merges them.

The direction of the data has two logs for each flow (tunnel) of a run: `SCHEME_datalink_runN_flowF_uidU.log.egress`, what went in at
the sender's end, and `….log.ingress`, what came out at the receiver's. Merged, they are `….log.merged` with another U. The logs of
the way back (`acklink`) are not needed.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from trialwise.errors import AnalysisError
from trialwise.exchange.pantheon_log import (
    MergedLog,
    TunnelLog,
    log_began,
    merge_multiple,
    merge_single,
    read_merged_log,
    read_tunnel_log,
)

End = Literal["ingress", "egress"]
_LOG = re.compile(
    r"(.+)_datalink_run([0-9]{1,9})_flow([0-9]{1,9})_uid(.+)\.log\.(ingress|egress|merged)", re.DOTALL
)
Run = tuple[str, str]
"""The scheme of a run, and its number."""


@dataclass(frozen=True, slots=True)
class Tunnel:
    """The logs of one flow of a run: names of files, by attempt (U) and what they hold."""

    flow: int
    attempts: Mapping[str, Mapping[str, str]]


def is_tunnel_log(name: str) -> bool:
    """Return True if a file of this name is the log of one tunnel in the direction of the data."""
    return _LOG.fullmatch(name) is not None


def tunnels_of(names: Iterable[str]) -> dict[Run, list[Tunnel]]:
    """Return the tunnels of each run among the files of a folder, in order of their flows."""
    found: dict[Run, dict[int, dict[str, dict[str, str]]]] = defaultdict(
        lambda: defaultdict(lambda: defaultdict(dict))
    )
    for match in filter(None, map(_LOG.fullmatch, names)):
        scheme, run, flow, attempt, what = match.groups()
        found[scheme, run][int(flow)][attempt][what] = match[0]
    return {
        run: [Tunnel(flow, attempts) for flow, attempts in sorted(flows.items())]
        for run, flows in found.items()
    }


def merged_tunnels(folder: Path, tunnels: Iterable[Tunnel], offsets: Mapping[End, float]) -> MergedLog:
    """Merge the logs of a run's tunnels, as Pantheon does after the run; of several attempts at a run the last one counts.

    Parameters
    ----------
    folder
        Where the logs are; filled by others.
    tunnels
        All of the run.
    offsets
        Milliseconds by which the clock of each end is behind true time; empty if that is unknown.

    Raises
    ------
    AnalysisError
        A log cannot be read, the log of one end is missing, or a packet came out that never went in.
    """
    return merge_multiple([_merged(folder, tunnel, offsets) for tunnel in tunnels])


def _merged(folder: Path, tunnel: Tunnel, offsets: Mapping[End, float]) -> MergedLog:
    pairs = [names for names in tunnel.attempts.values() if {"ingress", "egress"} <= names.keys()]
    if pairs:
        names = _last(folder, pairs, "egress")
        ingress, egress = (_tunnel_log(folder, names[end]) for end in ("ingress", "egress"))
        return merge_single(
            ingress,
            egress,
            ingress_offset=offsets.get("ingress", 0.0),
            egress_offset=offsets.get("egress", 0.0),
        )
    merged = [names for names in tunnel.attempts.values() if "merged" in names]
    if merged:
        return read_merged_log(folder / _last(folder, merged, "merged")["merged"], within=folder)
    end, name = next(item for names in tunnel.attempts.values() for item in names.items())
    other = name.removesuffix(end) + ("egress" if end == "ingress" else "ingress")
    raise AnalysisError(
        f"{folder / name}: is what one end of a tunnel saw, and {other} is missing",
        hint="copy it from the other machine",
    )


def _tunnel_log(folder: Path, name: str) -> TunnelLog:
    return read_tunnel_log(folder / name, within=folder)


def _last(folder: Path, attempts: list[Mapping[str, str]], what: str) -> Mapping[str, str]:
    if len(attempts) == 1:
        return attempts[0]
    return max(attempts, key=lambda names: log_began(folder / names[what], within=folder))
