"""Distributions of flow sizes in bytes: by name, by parameters, or from a file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np

from trialwise._core import size_tables
from trialwise.arrays import Array
from trialwise.experiment.problems import nearest
from trialwise.experiment.simulation import names_file
from trialwise.experiment.text import frozen_or_named
from trialwise.trials.trial_counts import number, whole_bytes


class Sizes(Protocol):
    """A distribution of flow sizes, bytes."""

    @property
    def mean(self) -> float:
        """The mean of the distribution."""
        ...

    def draw(self, count: int, rng: np.random.Generator) -> Array:
        """Sample independent sizes."""
        ...


@dataclass(frozen=True, slots=True)
class Fixed:
    """Every flow has this size."""

    mean: float

    def draw(self, count: int, rng: np.random.Generator) -> Array:  # noqa: ARG002
        """Sample independent sizes."""
        return np.full(count, self.mean)


@dataclass(frozen=True, slots=True)
class Lognormal:
    """Lognormal sizes by mean and coefficient of variation: σ² = ln(1 + cv²), μ = ln(mean) − σ²/2."""

    mean: float
    cv: float

    def draw(self, count: int, rng: np.random.Generator) -> Array:
        """Sample independent sizes."""
        variance = np.log1p(self.cv**2)
        return rng.lognormal(np.log(self.mean) - variance / 2, np.sqrt(variance), count)


@dataclass(frozen=True, slots=True)
class Pareto:
    """Pareto sizes (type I) by mean and shape α > 1: the minimum is mean · (α − 1) / α."""

    mean: float
    shape: float

    def draw(self, count: int, rng: np.random.Generator) -> Array:
        """Sample independent sizes."""
        return self.mean * (self.shape - 1) / self.shape * (1 + rng.pareto(self.shape, count))


@dataclass(frozen=True, slots=True)
class Cdf:
    """Sizes by the knots of their distribution function, linear between them; `shares` go up to 1.

    The share at the first knot is a point mass at its size. `file` is None if the distribution is shipped with Trialwise.
    """

    file: Path | None
    sizes: tuple[float, ...]
    shares: tuple[float, ...]

    @property
    def mean(self) -> float:
        """The mean of the distribution."""
        sizes, shares = np.array(self.sizes), np.array(self.shares)
        return float(shares[0] * sizes[0] + np.sum((sizes[1:] + sizes[:-1]) / 2 * np.diff(shares)))

    def draw(self, count: int, rng: np.random.Generator) -> Array:
        """Sample independent sizes."""
        return np.interp(rng.uniform(size=count), self.shares, self.sizes)


def size_distribution(text: str, values: Mapping[str, str], folder: Path) -> Fixed | Lognormal | Pareto | Cdf:
    """Parse a distribution such as ``websearch``, ``fixed:10kB``, ``lognormal`` with its `values`, or a file in `folder`.

    Raises
    ------
    ValueError
        The distribution is unknown, keys are missing, or the file cannot be read.
    """
    kind, _, rest = text.partition(":")
    if kind == "fixed":
        _only(kind, values)
        return Fixed(whole_bytes(rest))
    if kind == "lognormal":
        _only(kind, values, "mean", "cv")
        return Lognormal(whole_bytes(values["mean"]), number(values["cv"]))
    if kind == "pareto":
        _only(kind, values, "mean", "shape")
        return Pareto(whole_bytes(values["mean"]), _shape(values["shape"]))
    tables = size_tables()
    if text in tables:
        _only(text, values)
        sizes, shares = zip(*tables[text], strict=True)
        return Cdf(None, sizes, shares)
    _only(f"the file {text}", values)
    file = frozen_or_named(folder, text)
    if not (names_file(text) or file.exists()):
        meant = nearest(text, list(tables))
        did = f"; did you mean {meant}?" if meant else ""
        raise ValueError(f"no sizes are called {text!r}{did}; known: {', '.join(sorted(tables))}, or a file")
    return read_cdf(file)


def _only(kind: str, values: Mapping[str, str], *names: str) -> None:
    if set(values) != set(names):
        takes = ", ".join(names) or "no keys"
        raise ValueError(f"sizes: {kind} takes {takes}; given: {', '.join(values) or 'none'}")


def _shape(text: str) -> float:
    shape = number(text)
    if shape <= 1:
        raise ValueError(f"shape={text}: at 1 and below there is no mean")
    return shape


def read_cdf(path: Path) -> Cdf:
    """Read a distribution of flow sizes: lines ``size_bytes cumulative_percent``, as in HPCC's traffic generator.

    A comma may separate the two, `#` begins a comment, and a line of names may come first, as in files for simulated trials.

    Raises
    ------
    ValueError
        The file cannot be read or is not such a distribution; the message names file and line.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"{path}: cannot be read as a distribution of sizes: {error}") from error
    knots: list[tuple[float, float]] = []
    for line, written in enumerate(text.splitlines(), 1):
        row = written.partition("#")[0].strip()
        if row and (knots or not row[0].isalpha()):
            knots.append(_knot(path, line, row, knots[-1] if knots else (0.0, 0.0)))
    if not knots or knots[-1][1] != 100:
        raise ValueError(f"{path}: the last line must have 100 percent")
    sizes, percents = zip(*knots, strict=True)
    if not sizes[-1] > 0:
        raise ValueError(f"{path}: all sizes are 0")
    return Cdf(path, sizes, tuple(percent / 100 for percent in percents))


def _knot(path: Path, line: int, row: str, before: tuple[float, float]) -> tuple[float, float]:
    try:
        size, percent = map(float, row.replace(",", " ").split())
    except ValueError as error:
        raise ValueError(
            f"{path}:{line}: {row!r} is not of the form size_bytes cumulative_percent"
        ) from error
    if not (before[0] <= size < np.inf and before[1] <= percent <= 100):
        raise ValueError(f"{path}:{line}: sizes and percents must not decrease, and percents end at 100")
    return size, percent
