"""Samples of many trials in one array, sorted once for all queries on them and on parts of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, SupportsIndex, cast, overload

import numpy as np

from trialwise.statistics.checks import Array, Indices, as_many_values
from trialwise.statistics.pooled.clusters import Clusters, ones, require_enough

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


class TrialSamples(Sequence[Array]):
    """The samples of trials, one trial after another; indexing returns the samples of one trial.

    Parts of it (`chosen`, `first`, `joined`, `with_samples`) reuse its order, so that nothing is sorted twice.
    """

    def __init__(self, values: Array, sizes: Indices, order: Callable[[], Indices] | None = None) -> None:
        """Take unchecked `values`; `sizes` are the numbers of samples per trial and sum to their length.

        `order` returns the indices that sort the values stably; by default they are sorted.
        """
        self.values = values
        self.sizes = sizes
        self._make_order = order

    @classmethod
    def of(cls, trials: Sequence[ArrayLike]) -> TrialSamples:
        """Build from one array per trial; a trial may be empty.

        Raises
        ------
        StatisticsError
            A trial is not one-dimensional or not numeric.
        """
        if isinstance(trials, cls):
            return trials
        plain = all(
            type(each) is np.ndarray and each.dtype == np.float64 and each.ndim == 1 for each in trials
        )
        arrays = cast("Sequence[Array]", trials) if plain else as_many_values(trials, minimum=0)
        sizes = np.fromiter(map(len, arrays), dtype=np.int64, count=len(arrays))
        return cls(np.concatenate(arrays) if len(arrays) else np.empty(0), sizes)

    def __len__(self) -> int:
        """Return the number of trials."""
        return self.sizes.size

    @overload
    def __getitem__(self, index: SupportsIndex) -> Array: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Array]: ...
    def __getitem__(self, index: SupportsIndex | slice) -> Array | Sequence[Array]:
        """Return the samples of a trial, or the trials of a slice."""
        if isinstance(index, slice):
            return [self[place] for place in range(*index.indices(len(self)))]
        place = range(len(self))[index]
        return self.values[self._starts[place] : self._starts[place] + self.sizes[place]]

    # Queries over all trials

    def checked(self, minimum: int = 0) -> TrialSamples:
        """Return itself if all samples are finite and each trial has at least `minimum`.

        Raises
        ------
        StatisticsError
            They are not; the message is that of `as_values` for the first such trial.
        """
        if not self._is_finite or (minimum and bool((self.sizes < minimum).any())):
            as_many_values(list(self), minimum=minimum)
        return self

    @cached_property
    def clusters(self) -> Clusters:
        """Return all samples in ascending order, each with its trial.

        Raises
        ------
        StatisticsError
            Fewer than two trials, no samples, or samples that are not finite.
        """
        require_enough(len(self.checked()), self.values.size)
        return self.in_order()

    def in_order(self) -> Clusters:
        """Return the clusters without checks."""
        order, sizes = self._order(), self.sizes.astype(np.float64)
        return Clusters(self.values[order], self._owners()[order], ones(order.size), sizes)

    def by_size(self) -> Iterator[tuple[Indices, Array]]:
        """Yield trials with equally many samples together: their indices, and their samples in the shape (trials, samples)."""
        by_size = np.argsort(self.sizes, kind="stable")
        sizes = self.sizes[by_size]
        begins = np.flatnonzero(np.diff(sizes, prepend=-1))
        for places in np.split(by_size, begins[1:]):
            if places.size:
                offsets = np.arange(int(self.sizes[int(places[0])]))
                yield places, self.values[self._starts[places][:, None] + offsets]

    # Parts

    def chosen(self, wanted: NDArray[np.bool_]) -> TrialSamples:
        """Return the selected samples, of the same trials; `wanted` has shape (samples,)."""
        if wanted.all():
            return self
        sizes = np.bincount(self._owners()[wanted], minlength=len(self))

        def order() -> Indices:
            own = self._order()
            return (np.cumsum(wanted) - 1)[own[wanted[own]]]

        return TrialSamples(self.values[wanted], sizes, order)

    def first(self, trials: int) -> TrialSamples:
        """Return the first trials."""
        sizes = self.sizes[:trials]
        count = int(sizes.sum())
        return TrialSamples(self.values[:count], sizes, lambda: self._order_of_first(count))

    def joined(self, number: int) -> TrialSamples:
        """Join each run of `number` trials; leftover trials at the end are dropped."""
        whole = len(self) // number * number
        part = self.first(whole)
        sizes = part.sizes.reshape(-1, number).sum(axis=1)
        return TrialSamples(part.values, sizes, lambda: self._order_of_first(part.values.size))

    def with_samples(self) -> TrialSamples:
        """Return the trials that have samples."""
        if self.sizes.all():
            return self
        return TrialSamples(self.values, self.sizes[self.sizes > 0], self._order)

    @cached_property
    def _starts(self) -> Indices:
        return np.cumsum(self.sizes) - self.sizes

    def _owners(self) -> Indices:
        """Return the trial of each sample; not cached, nor is the order of a part, because both are as large as the samples."""
        return np.repeat(np.arange(self.sizes.size), self.sizes)

    def _order(self) -> Indices:
        return self._sorted if self._make_order is None else self._make_order()

    def _order_of_first(self, count: int) -> Indices:
        own = self._order()
        return own if count == own.size else own[own < count]

    @cached_property
    def _sorted(self) -> Indices:
        return np.argsort(self.values, kind="stable")

    @cached_property
    def _is_finite(self) -> bool:
        return bool(np.isfinite(self.values).all())
