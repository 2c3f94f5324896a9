"""Record an interface's packets as samples (crate ``capture``)."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from trialwise._linux import PacketCapture
from trialwise.errors import PlanError, TrialError
from trialwise.measurement.points import Client

Protocol: TypeAlias = Literal["any", "ip", "tcp", "udp"]
_STEP = 0.1
"""Seconds between checks for a request to stop."""


@dataclass(frozen=True, slots=True)
class PacketCounts:
    """Packets that the kernel saw, dropped for lack of room, that became samples, and that were not asked for."""

    packets: int
    kernel_dropped: int
    samples: int
    others: int


def capture(
    client: Client,
    interface: str,
    *,
    protocol: Protocol = "any",
    ports: Sequence[int] = (),
    count: int | None = None,
    seconds: float | None = None,
    begun: Callable[[], None] = lambda: None,
    stopped: Callable[[], bool] = lambda: False,
) -> PacketCounts:
    """Capture until `count` packets have arrived, `seconds` have passed, or `stopped()` returns True.

    `begun` is called once no further packet can be missed.

    Raises
    ------
    PlanError
        The interface does not exist, its frames cannot be decoded, or permission is missing.
    TrialError
        The interface went down or disappeared; packets captured before that were sent.
    """
    packets = _open(client, interface, protocol, ports, count)
    begun()
    end = None if seconds is None else time.monotonic() + seconds
    failure: OSError | None = None
    try:
        while not stopped():
            rest = _STEP if end is None else min(_STEP, end - time.monotonic())
            if rest <= 0 or packets.run(rest):
                break
    except OSError as error:
        failure = error
    counts = PacketCounts(*packets.finish())
    if failure is not None:
        raise TrialError(f"capturing at {interface} ended after {counts.samples} packets: {failure}")
    return counts


def _open(
    client: Client, interface: str, protocol: Protocol, ports: Sequence[int], count: int | None
) -> PacketCapture:
    try:
        return client.capture(interface, protocol, ports, count)
    except PermissionError as error:
        raise PlanError(
            "this user may not capture packets",
            hint="run it as root, or with CAP_NET_RAW: setpriv --inh-caps +net_raw --ambient-caps +net_raw …; "
            "in a service AmbientCapabilities=CAP_NET_RAW",
        ) from error
    except ValueError as error:
        there = ", ".join(sorted(path.name for path in Path("/sys/class/net").iterdir() if path.is_symlink()))
        raise PlanError(str(error), hint=f"interfaces of this machine are {there}") from error
    except OSError as error:
        raise PlanError(f"packets cannot be captured at {interface}: {error}") from error
