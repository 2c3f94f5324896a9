"""Units of values in files, normalised once: s, B, bit/s, B/s, 1/s; what is not known here stays as the file has it."""

from __future__ import annotations

_SECONDS = {
    "s": 1.0,
    "sec": 1.0,
    "second": 1.0,
    "seconds": 1.0,
    "ms": 1e-3,
    "msec": 1e-3,
    "us": 1e-6,
    "µs": 1e-6,
    "μs": 1e-6,
    "usec": 1e-6,
    "ns": 1e-9,
    "nsec": 1e-9,
    "ps": 1e-12,
    "min": 60.0,
    "m": 60.0,
    "h": 3600.0,
}
_BYTES = {
    "byte": 1.0,
    "bytes": 1.0,
    "B": 1.0,
    "kB": 1e3,
    "KB": 1024.0,
    "KiB": 1024.0,
    "MB": 1e6,
    "MiB": 1048576.0,
    "GB": 1e9,
    "GiB": 1073741824.0,
    "TB": 1e12,
    "TiB": 1099511627776.0,
}
_BITS = {
    "bit/s": 1.0,
    "bits/s": 1.0,
    "bps": 1.0,
    "kbit/s": 1e3,
    "Kbit/s": 1e3,
    "kbps": 1e3,
    "Mbps": 1e6,
    "Gbps": 1e9,
    "Kbits/s": 1e3,
    "Kbits/sec": 1e3,
    "Mbit/s": 1e6,
    "Mbits/s": 1e6,
    "Mbits/sec": 1e6,
    "Gbit/s": 1e9,
    "Gbits/s": 1e9,
    "Gbits/sec": 1e9,
}

NORMAL: dict[str, tuple[float, str]] = (
    {name: (factor, "s") for name, factor in _SECONDS.items()}
    | {name: (factor, "byte") for name, factor in _BYTES.items()}
    | {name: (factor, "bit/s") for name, factor in _BITS.items()}
)
"""Factor and normal unit by the spelling in a file."""


def normalised(value: float, unit: str) -> tuple[float, str]:
    """Return a value in the normal unit, and that unit; both as they are if the unit is not known."""
    factor, normal = NORMAL.get(unit, (1.0, unit))
    return (value if factor == 1.0 else value * factor), normal


_SHORT = {"byte": "B", "byte/s": "B/s", "1": "", "unknown": ""}


def short_unit(unit: str) -> str:
    """Return our spelling of a unit; empty if there is none."""
    return _SHORT.get(unit, unit)
