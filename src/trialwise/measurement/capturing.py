"""Write down what one end of a path sends and gets (crate ``capture``), for `measurement.joining`."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from trialwise._linux import PacketSightings
from trialwise.errors import PlanError, TrialError

STEP = 0.1
"""Seconds between checks for a request to stop."""


@dataclass(frozen=True, slots=True)
class SightingCounts:
    """What became of the packets.

    Attributes
    ----------
    packets, kernel_dropped
        Frames that the kernel saw, and those for which it had no room.
    written, merged
        Packets written down, and those of them that came in one piece with others.
    others
        Frames that were not asked for or not understood.
    steps
        How often the clock of the kernel's stamps was set.
    """

    packets: int
    kernel_dropped: int
    written: int
    merged: int
    others: int
    steps: int


@contextmanager
def capture_refusals(interface: str) -> Generator[None]:
    """Say for people why an interface cannot be captured.

    Raises
    ------
    PlanError
        The interface does not exist, its frames cannot be decoded, or permission is missing.
    """
    try:
        yield
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


def key_of(run: str) -> tuple[int, int]:
    """Return the key of the identities of a run, from words that both ends know."""
    digest = hashlib.blake2b(run.encode(), digest_size=16).digest()
    return int.from_bytes(digest[:8], "little"), int.from_bytes(digest[8:], "little")


def write_down(
    path: Path,
    interface: str,
    *,
    run: str,
    flows: Mapping[int, int],
    seconds: float | None = None,
    begun: Callable[[], None] = lambda: None,
    stopped: Callable[[], bool] = lambda: False,
) -> SightingCounts:
    """Write down the packets of an interface until `seconds` have passed or `stopped()` returns True.

    Parameters
    ----------
    path
        The file, which must not be there yet.
    interface
        Its name.
    run
        Words that both ends are given, from which the identities of packets are keyed.
    flows
        By port: the flow that it belongs to. Without any, all packets of IP are wanted, as flow 0.
    seconds
        How long; None for ever.
    begun
        Called once no further packet can be missed.
    stopped
        Asked ten times a second.

    Raises
    ------
    PlanError
        The interface does not exist, its frames cannot be decoded, permission is missing, or the file cannot be made.
    TrialError
        The interface went down or disappeared, or the disk is full; what was written before stays.
    """
    with capture_refusals(interface):
        sightings = PacketSightings(path, interface, key_of(run), list(flows.items()))
    begun()
    end = None if seconds is None else time.monotonic() + seconds
    try:
        while not stopped():
            rest = STEP if end is None else min(STEP, end - time.monotonic())
            if rest <= 0:
                break
            sightings.run(rest)
        return SightingCounts(*sightings.finish())
    except OSError as error:
        raise TrialError(
            f"capturing at {interface} ended: {error}", hint=f"what {path} has so far can be read"
        ) from error
