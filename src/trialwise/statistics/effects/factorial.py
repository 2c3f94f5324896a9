"""Factorial designs: cells, terms, their contrasts, and which of them are estimable from the trials."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import lru_cache, reduce
from itertools import combinations, product
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from trialwise.errors import StatisticsError
from trialwise.statistics.checks import Array, Indices
from trialwise.statistics.frames import Table, factor_names, labels, numbers
from trialwise.statistics.scaling import is_constant

MAX_FACTORS = 4
MAX_CELLS = 1024
_ROUNDING = 1e-9
_LEAST = 1e-140
Interactions: TypeAlias = int | Literal["all"]
Term: TypeAlias = tuple[int, ...]
"""The indices of its factors."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A treatment: one level of each factor."""

    levels: tuple[Hashable, ...]
    n: int
    mean: float
    """NaN without trials."""
    sd: float
    """Standard deviation, with n - 1; NaN below two trials."""


@dataclass(frozen=True, slots=True)
class Trials:
    """Responses by treatment."""

    factors: tuple[str, ...]
    levels: tuple[tuple[Hashable, ...], ...]
    """Of each factor, in the order of their first trial."""
    values: Array
    """Responses, cell by cell in the order of the full grid (the last factor changes fastest)."""
    counts: Indices
    """Number of trials in each cell of the full grid."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Return the number of levels of each factor."""
        return tuple(map(len, self.levels))

    @property
    def cells(self) -> tuple[Cell, ...]:
        """Return all cells of the grid, including those without trials."""
        means, variances = self.means(), self.variances()
        return tuple(
            Cell(levels, int(n), float(mean), float(variance) ** 0.5)
            for levels, n, mean, variance in zip(
                product(*self.levels), self.counts, means, variances, strict=True
            )
        )

    def means(self) -> Array:
        """Return the mean of each cell; NaN without trials."""
        filled = self.counts > 0
        means = np.full(self.counts.size, np.nan)
        means[filled] = (
            np.bincount(self._owners(), self.values, self.counts.size)[filled] / self.counts[filled]
        )
        return means

    def variances(self) -> Array:
        """Return the variance of each cell, with n - 1; NaN below two trials."""
        deviations = self.values - self.means()[self._owners()]
        several = self.counts > 1
        variances = np.full(self.counts.size, np.nan)
        sums = np.bincount(self._owners(), deviations**2, self.counts.size)
        variances[several] = sums[several] / (self.counts[several] - 1)
        # A cell of one repeated number has no spread, whatever rounding left in its mean.
        same = variances <= (_ROUNDING * np.abs(self.means())) ** 2
        variances[same & self._repeats()] = 0.0
        return variances

    def of_cell(self, place: int) -> Array:
        """Return the responses of one cell."""
        end = int(self.counts[: place + 1].sum())
        return self.values[end - int(self.counts[place]) : end]

    def _owners(self) -> Indices:
        return np.repeat(np.arange(self.counts.size), self.counts)

    def _repeats(self) -> NDArray[np.bool_]:
        repeats = np.zeros(self.counts.size, dtype=np.bool_)
        for place in np.flatnonzero(self.counts > 1):
            repeats[place] = is_constant(self.of_cell(int(place)))
        return repeats


def read_trials(table: Table, response: str, factors: Sequence[str] | str) -> Trials:
    """Sort the responses of a table into the cells of its factors.

    Raises
    ------
    StatisticsError
        A column is missing, a response is not a finite number, a level is missing, all responses are equal, a factor has one level,
        or there are more than four factors or too many cells.
    """
    names = factor_names(factors, MAX_FACTORS)
    if response in names:
        raise StatisticsError(f"{response!r} is the response and a factor at once")
    values = numbers(table, response)
    read = [labels(table, name, values.size) for name in names]
    for name, (_, levels) in zip(names, read, strict=True):
        if len(levels) == 1:
            raise StatisticsError(
                f"the factor {name!r} has one level, {levels[0]!r}: leave it out, or run trials at a second one"
            )
    shape = [len(levels) for _, levels in read]
    size = int(np.prod(shape))
    if size > MAX_CELLS:
        raise StatisticsError(f"the factors have {size} treatments; at most {MAX_CELLS} are analysed at once")
    if is_constant(values):
        raise StatisticsError(
            f"all {values.size} values of {response!r} are {values[0]:g}: there is nothing to explain"
        )
    reach = float(values.max() / 2 - values.min() / 2)
    if not _LEAST < reach < 1 / _LEAST:
        raise StatisticsError(
            f"the values of {response!r} span {2 * reach:g}: their squares exceed the range of doubles; use another unit"
        )
    cells = np.ravel_multi_index([codes for codes, _ in read], shape)
    order = np.argsort(cells, kind="stable")
    counts = np.bincount(cells, minlength=size).astype(np.int64)
    return Trials(names, tuple(levels for _, levels in read), values[order], counts)


def all_terms(factors: int, interactions: Interactions) -> list[Term]:
    """List main effects, then two-factor interactions, and so on.

    Raises
    ------
    StatisticsError
        `interactions` is neither "all" nor a number of factors from 1.
    """
    most = factors if interactions == "all" else interactions
    if type(most) is not int or most < 1:
        raise StatisticsError(
            f'interactions are {interactions!r}; expected "all", or the highest order of interactions (1: none)'
        )
    return [term for size in range(1, min(most, factors) + 1) for term in combinations(range(factors), size)]


@lru_cache(maxsize=512)
def term_columns(shape: tuple[int, ...], term: Term) -> Array:
    """Return orthonormal contrasts of a term over the full grid, one per column, spanning the space of sum coding."""
    parts = [
        _contrasts(levels) if place in term else np.full((levels, 1), levels**-0.5)
        for place, levels in enumerate(shape)
    ]
    columns = reduce(np.kron, parts)
    columns.flags.writeable = False
    return columns


@lru_cache(maxsize=64)
def _contrasts(levels: int) -> Array:
    """Return Helmert contrasts: orthonormal, each with sum 0."""
    columns = np.zeros((levels, levels - 1))
    for place in range(1, levels):
        columns[:place, place - 1] = 1
        columns[place, place - 1] = -place
        columns[:, place - 1] /= (place * (place + 1)) ** 0.5
    return columns


@dataclass(frozen=True, slots=True)
class Fitted:
    """A term in the model, fitted to the cells with trials."""

    term: Term
    basis: Array
    """Orthonormal basis of what the term explains adjusted for all others; cells are scaled by the root of their weight."""


@dataclass(frozen=True, slots=True)
class Model:
    """The terms that are estimable from the cells with trials."""

    fitted: tuple[Fitted, ...]
    refused: dict[Term, str]
    """Why a term cannot be estimated."""
    partial: dict[Term, str]
    """For interactions with empty cells, how many of their contrasts are estimable."""
    whole: Array
    """Orthonormal basis of the whole model, including the mean."""


def fit(trials: Trials, terms: Sequence[Term], weights: Array) -> Model:
    """Fit each term adjusted for all others (Type III), in cells with trials and these weights.

    An interaction with empty cells in its own table of levels keeps the contrasts that are estimable given all terms before it, as
    in R's `anova` of the full model. Nothing that they explain is left to the residuals, and the terms that it contains are tested
    adjusted for the terms that do not contain them. A term confounded with the rest of the model is refused.
    """
    filled = trials.counts > 0
    if filled.all() and is_constant(weights):
        whole = {term: term_columns(trials.shape, term) for term in [(), *terms]}
        fitted = tuple(Fitted(term, whole[term]) for term in terms)
        return Model(fitted, {}, {}, np.hstack(list(whole.values())))
    roots = np.sqrt(weights[filled])[:, None]
    columns = {term: term_columns(trials.shape, term)[filled] * roots for term in [(), *terms]}
    refused, partial = _without_what_is_empty(trials, terms, columns)
    directions = _of_full_rank if filled.all() else _directions
    estimated: list[Fitted] = []
    for term in (term for term in terms if term not in refused):
        others = directions(np.hstack([one for other, one in columns.items() if other != term]))
        rest = columns[term] - others @ (others.T @ columns[term])
        own = directions(rest, columns[term])
        if own.shape[1] < columns[term].shape[1]:
            refused[term] = (
                "the treatments with trials do not tell it from the other terms; run those that are missing"
            )
        else:
            estimated.append(Fitted(term, own))
    return Model(tuple(estimated), refused, partial, directions(np.hstack(list(columns.values()))))


def _without_what_is_empty(
    trials: Trials, terms: Sequence[Term], columns: dict[Term, Array]
) -> tuple[dict[Term, str], dict[Term, str]]:
    """Reduce each term with empty cells to the contrasts that are estimable given the terms before it.

    Return why terms are refused, and what is tested of partial terms.
    """
    refused: dict[Term, str] = {}
    partial: dict[Term, str] = {}
    for term, where in _with_empty_places(trials, terms).items():
        before = [one for other, one in columns.items() if other != term and len(other) <= len(term)]
        space = _directions(np.hstack(before))
        own = _directions(columns[term] - space @ (space.T @ columns[term]), columns[term])
        wanted = columns[term].shape[1]
        if own.shape[1] == 0:
            refused[term] = f"{where}; the other treatments show none of it"
            del columns[term]
            continue
        columns[term] = own
        partial[term] = f"{where}; {own.shape[1]} of {wanted} contrasts can be tested"
    return refused, partial


def _with_empty_places(trials: Trials, terms: Sequence[Term]) -> dict[Term, str]:
    """Say for each term, in the order of `terms`, which combinations of its levels have no trials."""
    grid = trials.counts.reshape(trials.shape)
    empty_at: dict[Term, str] = {}
    for term in terms:
        rest = tuple(place for place in range(grid.ndim) if place not in term)
        empty = np.argwhere(grid.sum(axis=rest) == 0)
        if empty.size:
            missing = [
                ", ".join(
                    f"{trials.factors[place]}={trials.levels[place][level]}"
                    for place, level in zip(term, one, strict=True)
                )
                for one in empty[:3].tolist()
            ]
            more = f" and {len(empty) - 3} more" if len(empty) > 3 else ""
            empty_at[term] = f"no trial at {' and '.join(missing)}{more}"
    return empty_at


def _of_full_rank(columns: Array, scale: Array | None = None) -> Array:  # noqa: ARG001
    return np.linalg.qr(columns)[0]


def _directions(columns: Array, scale: Array | None = None) -> Array:
    """Return an orthonormal basis of the columns' space; components small relative to `scale` are rounding."""
    left, sizes, _ = np.linalg.svd(columns, full_matrices=False)
    largest = float(np.linalg.norm(columns if scale is None else scale, 2))
    return left[:, sizes > _ROUNDING * largest]
