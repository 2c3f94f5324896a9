"""How much an end of a real path may send."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

SECOND = 10**9
ALLOWANCE = 0.5
"""Seconds' worth of the rate that may be sent at once."""


class Caps:
    """A rate (bit/s), of which half a second's worth may be sent at once, and a number of bytes in all."""

    def __init__(self, rate: float, most: float) -> None:
        self.rate = rate
        self.most = most
        self.ahead = 0.0
        """Bits sent beyond the rate since `since`."""
        self.since = 0
        self.seen = (0, 0)

    def exceeded(self, now: int, sent: int) -> str | None:
        """Return what is exceeded when `sent` bytes have left by `now` (ns); None if nothing is."""
        before, count = self.seen
        if not before:
            before = self.since = now
        self.seen = now, sent
        self.ahead += (sent - count) * 8 - self.rate * (now - before) / SECOND
        if self.ahead <= 0:
            self.ahead, self.since = 0.0, now
        return "; ".join(self.complaints(now, sent)) or None

    def complaints(self, now: int, sent: int) -> Iterator[str]:
        if self.ahead > self.rate * ALLOWANCE:
            seconds = (now - self.since) / SECOND
            average = (self.rate + self.ahead / max(seconds, 1e-3)) / 1e6
            told = f"{average:.0f}" if average >= 100 else f"{average:.3g}"
            sent_so = f"{told} Mbit/s sent for {seconds:.2g} s"
            yield f"{sent_so}, more than the cap of {self.rate / 1e6:g} Mbit/s (raise rate_cap, or send at a lower rate)"
        if sent > self.most:
            most = f"{self.most:.0f} bytes for a trial"
            yield f"{sent} bytes sent, more than the cap of {most} (raise bytes_cap, or take a shorter trial)"
