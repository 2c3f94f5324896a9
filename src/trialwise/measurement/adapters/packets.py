"""Record an interface's packets as samples (crate ``capture``)."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from trialwise._linux import PacketCapture
from trialwise.errors import TrialError
from trialwise.measurement.capturing import STEP, capture_refusals
from trialwise.measurement.points import Client
from trialwise.numbers import counted

Protocol: TypeAlias = Literal["any", "ip", "tcp", "udp"]


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
            rest = STEP if end is None else min(STEP, end - time.monotonic())
            if rest <= 0 or packets.run(rest):
                break
    except OSError as error:
        failure = error
    counts = PacketCounts(*packets.finish())
    if failure is not None:
        raise TrialError(
            f"capturing at {interface} ended after {counted(counts.samples, 'packet')}: {failure}"
        )
    return counts


def _open(
    client: Client, interface: str, protocol: Protocol, ports: Sequence[int], count: int | None
) -> PacketCapture:
    with capture_refusals(interface):
        return client.capture(interface, protocol, ports, count)
