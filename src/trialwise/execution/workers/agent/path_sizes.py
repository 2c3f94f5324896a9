"""Which sizes of packets pass from this end of a real path to the other. No I/O.

Packets that a router may not cut (DF) and that are too large for a link vanish; a router should say so (RFC 1191, RFC 8201), and some
do not: a black hole (RFC 2923). So one packet of each size is sent until the other end has told of it, before the flows begin.
"""

from __future__ import annotations

from trialwise.execution.workers.agent.meeting import SECOND

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

SIZES = (1280, 1400, 1472, 1500)
"""Bytes of IP packets: the least that IPv6 lets pass, what tunnels leave, Ethernet without the headers of IPv4 and UDP, Ethernet."""
ROUNDS = 10
PAUSE = SECOND // 10
PATIENCE = 2 * SECOND
"""For how long an answer to the last round is waited for."""


class PathSizes:
    """Says which sizes to try, and what came of it; sizes are bytes of IP packets, 0 where none of them has passed.

    `wanted` are sizes beside the usual ones.
    """

    def __init__(self, wanted: Sequence[int] = ()) -> None:
        self.sizes = sorted({*SIZES, *wanted})
        self.passes = 0
        self.rounds = 0
        self.next = 0
        self.refused: int | None = None

    def due(self, now: int) -> list[int]:
        """Return the sizes to send now: those above what has passed, until all have or the rounds are over."""
        if self.rounds >= ROUNDS or now < self.next:
            return []
        self.rounds += 1
        self.next = now + PAUSE
        return [size for size in self.sizes if self.passes < size < (self.refused or size + 1)]

    def refuse(self, size: int) -> None:
        """Take note that this machine lets no packet of this size leave: its device is smaller, which everybody here knows."""
        self.refused = min(size, self.refused or size)

    def confirm(self, size: int) -> None:
        """Take note that the other end has seen a packet of this size."""
        self.passes = max(self.passes, size)

    def is_known(self, now: int) -> bool:
        """Return True if nothing more is to be learned."""
        largest = max((size for size in self.sizes if size < (self.refused or size + 1)), default=0)
        return self.passes >= largest or (self.rounds >= ROUNDS and now >= self.next + PATIENCE)

    def problem(self, packets: int | None, device: int) -> tuple[str, str] | None:
        """Return what keeps packets from passing, and what to try; None if nothing does.

        Parameters
        ----------
        packets
            The size that a sender fills; None if it takes what the kernel says.
        device
            The largest packet towards the other end, by what the kernel knows of the device and from routers.
        """
        if packets is not None:
            if packets <= self.passes:
                return None
            return (
                f"packets of {packets} bytes do not pass to the other end: {self.told}",
                f"write mtu = {self.passes} beside from and to" if self.passes else "find what drops them",
            )
        lost = [size for size in self.sizes if self.passes < size <= device]
        if not lost:
            return None
        return (
            f"packets of {lost[0]} bytes vanish on the way to the other end, and no router says so: {self.told}",
            f"set the MTU of the device or of the route there to {self.passes or self.sizes[0]}, at both ends",
        )

    @property
    def told(self) -> str:
        if not self.passes:
            return f"not even those of {self.sizes[0]} bytes do"
        return f"the largest that passes has {self.passes} bytes"
