"""The processor time that a hypervisor kept from this machine: what is measured meanwhile says little of the program."""

from __future__ import annotations

from pathlib import Path

MUCH = 0.02
"""A machine from which no more of what it wanted is kept goes on as if it were alone."""


class StolenTime:
    """Of all processors, since a beginning."""

    def __init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        """Count from now on."""
        self._used, self._stolen = _ticks()

    def is_much(self) -> bool:
        """Whether much of what was wanted since the beginning was kept from this machine."""
        used, stolen = _ticks()
        used, stolen = used - self._used, stolen - self._stolen
        return stolen > MUCH * (used + stolen)


def _ticks() -> tuple[int, int]:
    """Used and stolen since boot (`proc_stat(5)`, line `cpu`)."""
    words = Path("/proc/stat").read_text(encoding="ascii").split(None, 9)[1:9]
    user, nice, system, _idle, _waiting, interrupts, soft_interrupts, stolen = map(int, words)
    return user + nice + system + interrupts + soft_interrupts, stolen
