"""Many flows inside one load: lists of starts and sizes, read from a file or sampled from an arrival process.

Starts are nanoseconds after the start of the load, sizes bytes of payload.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from trialwise.experiment.quantity import seconds
from trialwise.experiment.text import frozen_or_named
from trialwise.numbers import about
from trialwise.trials.flow_sizes import Cdf, Sizes, size_distribution
from trialwise.trials.trial_counts import number, share

COLUMNS = ("start_ns", "size_bytes")
MAX_FLOWS = 1_000_000
_LARGEST = 2**63 - 1
Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class FlowList:
    """Flows of a file: CSV whose first line names `start_ns` and `size_bytes`, possibly among others."""

    file: Path

    @property
    def may_be_cut(self) -> bool:
        """Whether the load may be ended before all flows have ended."""
        return False

    @property
    def files(self) -> tuple[Path, ...]:
        """The files that it is read from."""
        return (self.file,)


@dataclass(frozen=True, slots=True)
class Arrivals:
    """A Poisson process of flows with independent sizes.

    Either `share` (of the path's rate; 1 is all of it) or `rate` (flows per second) is given. Flows arrive for `span` seconds,
    None for as long as the load lasts; flows still under way are then cut off at its end.
    """

    sizes: Sizes
    share: float | None = None
    rate: float | None = None
    span: float | None = None
    files: tuple[Path, ...] = ()

    @property
    def may_be_cut(self) -> bool:
        """Whether the load may be ended before all flows have ended."""
        return self.span is None

    def rate_on(self, capacity: float | None) -> float:
        """Return flows per second on a path of `capacity` bit/s: share · capacity / (8 · mean size).

        Raises
        ------
        ValueError
            The load is a share of the path's rate, and the path has no rate.
        """
        if self.rate is not None:
            return self.rate
        if capacity is None:
            raise ValueError(
                "load= is a share of the path's rate, which this path does not have: write rate=20/s"
            )
        return (self.share or 0.0) * capacity / (8 * self.sizes.mean)


def flow_source(text: str, folder: Path) -> FlowList | Arrivals:
    """Parse what follows ``flows:``, a file or ``poisson,load=50%,sizes=…``; files are looked up in `folder`.

    Raises
    ------
    ValueError
        It is neither, or a file cannot be read or is invalid.
    """
    kind, _, rest = text.partition(",")
    if kind == "poisson":
        return _arrivals(rest, folder)
    if not text:
        raise ValueError("a flow list or an arrival process is missing")
    flows = FlowList(frozen_or_named(folder, text))
    read_flows(flows.file)
    return flows


def drawn(
    arrivals: Arrivals, duration: float, capacity: float | None, rng: np.random.Generator
) -> tuple[Integers, Integers]:
    """Sample the starts (ns, in order) and sizes (bytes, at least 1) of the flows that arrive in `duration` seconds.

    Given their number, which is Poisson, the arrivals of a Poisson process are uniform (Kingman, Poisson Processes, 1993,
    section 2.4).

    Raises
    ------
    ValueError
        No flow arrives, too many would, or the load is a share of a rate that the path lacks.
    """
    span = min(duration, arrivals.span or duration)
    expected = arrivals.rate_on(capacity) * span
    if expected > MAX_FLOWS:
        raise ValueError(f"{about(expected)} flows would arrive in {span:g} s; at most {MAX_FLOWS} can")
    count = int(rng.poisson(expected))
    if count == 0:
        raise ValueError(
            f"no flow arrives in {span:g} s: {about(expected)} are expected; raise the rate or the runtime"
        )
    starts = np.sort(rng.uniform(0, span, count))
    sizes = np.maximum(1, np.rint(arrivals.sizes.draw(count, rng)))
    return (starts * 1e9).astype(np.int64), sizes.astype(np.int64)


def write_flows(path: Path, starts: Integers, sizes: Integers) -> None:
    """Write a flow list."""
    lines = (f"{start},{size}\n" for start, size in zip(starts.tolist(), sizes.tolist(), strict=True))
    path.write_text(",".join(COLUMNS) + "\n" + "".join(lines), encoding="utf-8")


def read_flows(path: Path) -> tuple[Integers, Integers]:
    """Read the starts and sizes of a flow list.

    Raises
    ------
    ValueError
        The file cannot be read or is not a flow list; the message names file and line.
    """
    rows = _rows(path)
    missing = [name for name in COLUMNS if name not in (rows[0] if rows else [])]
    if missing:
        raise ValueError(f"{path}: its first line names no column {', '.join(missing)}")
    places = [rows[0].index(name) for name in COLUMNS]
    values = [_flow(path, line, row, places) for line, row in enumerate(rows[1:], 2) if row]
    if not values:
        raise ValueError(f"{path}: it has no flows")
    starts, sizes = np.array(values, dtype=np.int64).T
    return starts, sizes


def _rows(path: Path) -> list[list[str]]:
    try:
        with path.open(newline="", encoding="utf-8") as file:
            return [[cell.strip() for cell in row] for row in csv.reader(file)]
    except OSError as error:
        raise ValueError(f"{path}: {error.strerror}") from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise ValueError(f"{path}: it is not CSV: {error}") from error


def _flow(path: Path, line: int, row: list[str], places: list[int]) -> tuple[int, int]:
    try:
        start, size = (int(row[place]) for place in places)
    except (ValueError, IndexError) as error:
        raise ValueError(
            f"{path}:{line}: {','.join(row)!r} has no whole numbers for {', '.join(COLUMNS)}"
        ) from error
    if start < 0 or size < 1:
        raise ValueError(f"{path}:{line}: a start must not be negative, and a size above 0")
    if max(start, size) > _LARGEST:
        raise ValueError(f"{path}:{line}: a start or a size is above {_LARGEST}")
    return start, size


# Arrival processes


def _arrivals(text: str, folder: Path) -> Arrivals:
    own, sizes = _pairs(text)
    if ("load" in own) == ("rate" in own):
        raise ValueError("write either load=50%, of the path's rate, or rate=20/s")
    if "sizes" not in own:
        raise ValueError(
            "sizes= is missing; write sizes=websearch, sizes=FILE.cdf or sizes=lognormal:mean=100kB,cv=2"
        )
    distribution = size_distribution(own["sizes"], sizes, folder)
    return Arrivals(
        sizes=distribution,
        share=share(own["load"]) if "load" in own else None,
        rate=number(own["rate"].removesuffix("/s")) if "rate" in own else None,
        span=seconds(own["for"]) if "for" in own else None,
        files=(distribution.file,) if isinstance(distribution, Cdf) and distribution.file else (),
    )


def _pairs(text: str) -> tuple[dict[str, str], dict[str, str]]:
    """Split the keys of the process from those that follow `sizes=` and belong to the distribution."""
    own: dict[str, str] = {}
    sizes: dict[str, str] = {}
    for part in text.split(","):
        key, equals, value = part.strip().partition("=")
        if not equals:
            raise ValueError(f"{part!r} is not of the form key=value")
        if key in ("load", "rate", "sizes", "for"):
            own[key] = value
            if key == "sizes" and "=" in value:
                own[key], _, first = value.partition(":")
                name, _, amount = first.partition("=")
                sizes[name] = amount
        elif "sizes" in own:
            sizes[key] = value
        else:
            raise ValueError(f"no key is called {key!r}; there are load, rate, sizes, for")
    return own, sizes
