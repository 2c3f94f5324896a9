"""Checks of arguments: numbers, percentiles, confidences, options."""

from __future__ import annotations

from datetime import datetime
from fractions import Fraction
from functools import lru_cache
from operator import index
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trialwise.errors import StatisticsError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

Array: TypeAlias = NDArray[np.float64]
Indices: TypeAlias = NDArray[np.int64]
Method: TypeAlias = Literal["default", "paper"]
Bound: TypeAlias = Literal["lower", "upper", "both"]
Limits: TypeAlias = tuple[float, float] | None
Masked: TypeAlias = np.ma.MaskedArray[Any, Any]


def as_values(values: ArrayLike, name: str = "values", *, minimum: int = 1) -> Array:
    """Check for finite numbers in one dimension, and return them as an array of doubles; the input is never changed.

    Raises
    ------
    StatisticsError
        Fewer than `minimum` numbers, more than one dimension, masked entries, NaN, infinity, or non-numeric input.
    """
    if np.ma.is_masked(values):
        raise StatisticsError(f"{name} has masked entries; remove them first, for example with .compressed()")
    array = _as_doubles(values, name)
    if array.size < minimum:
        raise StatisticsError(f"{name} has {array.size} numbers; at least {minimum} are needed")
    finite = np.isfinite(array)
    if not finite.all():
        place = int(np.argmin(finite))
        kind = "NaN" if np.isnan(array[place]) else "infinite"
        raise StatisticsError(f"{name}[{place}] is {kind}; remove or replace such entries first")
    return array


def as_many_values(trials: Sequence[ArrayLike], name: str = "trials", *, minimum: int = 1) -> list[Array]:
    """Apply `as_values` to many short arrays, with a single check of all if they are arrays of doubles already."""
    ready = [cast("Array", trial) for trial in trials if _is_plain(trial, minimum)]
    if ready and len(ready) == len(trials) and bool(np.isfinite(np.concatenate(ready)).all()):
        return ready
    return [as_values(trial, f"{name}[{at}]", minimum=minimum) for at, trial in enumerate(trials)]


def _is_plain(values: ArrayLike, minimum: int) -> bool:
    """Return True for one-dimensional doubles without a mask."""
    if type(values) is not np.ndarray:
        return False
    return values.dtype == np.float64 and values.ndim == 1 and values.size >= minimum


def as_values_with_gaps(values: ArrayLike, name: str = "values") -> Array:
    """Check like `as_values`, but keep masked entries and NaN, as NaN; they stand for missing measurements.

    Raises
    ------
    StatisticsError
        More than one dimension, infinity, or non-numeric input.
    """
    array = _as_doubles(values, name)
    if np.ma.is_masked(values):
        array = np.where(np.ma.getmaskarray(cast("Masked", values)), np.nan, array)
    infinite = np.isinf(array)
    if infinite.any():
        raise StatisticsError(f"{name}[{int(np.argmax(infinite))}] is infinite; mark what is missing as NaN")
    return array


def _as_doubles(values: ArrayLike, name: str) -> Array:
    raw = np.asarray(values)
    if raw.dtype.kind not in "biufO":
        raise StatisticsError(f"{name} holds {raw.dtype}, not numbers")
    if raw.ndim != 1:
        raise StatisticsError(f"{name} has {raw.ndim} dimensions; expected one")
    try:
        with np.errstate(over="ignore"):
            return np.asarray(raw, dtype=np.float64, order="C")
    except (TypeError, ValueError, OverflowError) as error:
        raise StatisticsError(
            f"{name} has an entry that is not a number within the range of a double: {error}"
        ) from error


def seconds(times: ArrayLike | Iterable[datetime]) -> Array:
    """Read times as seconds since the first of them.

    Parameters
    ----------
    times
        Numbers (seconds), `numpy.datetime64`, or `datetime.datetime`, in one dimension.

    Raises
    ------
    StatisticsError
        If a time is NaN, infinite, NaT or masked, if there are none, or if they are not one-dimensional.
    """
    array = np.asarray(times)
    if array.dtype.kind == "M":
        return _seconds_of_dates(array)
    if array.dtype == object and all(isinstance(time, datetime) for time in array):
        return seconds([time.timestamp() for time in array])
    instants = as_values(cast("ArrayLike", times), "times")
    return np.asarray(instants - instants[0], dtype=np.float64)


def _seconds_of_dates(dates: NDArray[Any]) -> Array:
    if dates.ndim != 1 or dates.size == 0:
        raise StatisticsError(f"times have the shape {dates.shape}; expected at least one, in one dimension")
    if np.isnat(dates).any():
        raise StatisticsError(f"times[{int(np.argmax(np.isnat(dates)))}] is NaT; every value needs its time")
    # Take differences first: a datetime64 of 2026 in nanoseconds has more digits than a float.
    return np.asarray((dates - dates[0]) / np.timedelta64(1, "s"), dtype=np.float64)


def as_percent(value: float, name: str) -> Fraction:
    """Convert a percentage to a share, exactly by its decimal digits: 27.1 is 271/1000.

    Raises
    ------
    StatisticsError
        The percentage is not a number between 0 and 100, exclusive.
    """
    try:
        number = float(value)
    except (TypeError, ValueError) as error:
        raise StatisticsError(f"the {name} is {value!r}; expected a number between 0 and 100") from error
    if not 0.0 < number < 100.0:
        raise StatisticsError(f"the {name} is {value!r}; it must lie between 0 and 100, both excluded")
    return _share(number)


@lru_cache(maxsize=4096)
def _share(number: float) -> Fraction:
    return Fraction(repr(number)) / 100


def as_robustness(value: int) -> int:
    """Check the number of extreme values that a bound excludes, 0 or more.

    Raises
    ------
    StatisticsError
        It is negative or not an integer.
    """
    try:
        number = index(value)
    except TypeError:
        number = -1
    if number < 0:
        raise StatisticsError(f"robustness is {value!r}; expected an integer ≥ 0")
    return number


def as_limits(limits: Limits) -> Limits:
    """Check the expected extremes of a measure, lower before upper.

    Raises
    ------
    StatisticsError
        They are not two finite numbers in ascending order.
    """
    if limits is None:
        return None
    pair = as_values(limits, "limits").tolist()
    if len(pair) != 2 or not pair[0] < pair[1]:
        raise StatisticsError(f"limits are {limits!r}; expected two numbers, the lower first")
    return pair[0], pair[1]


def as_times(times: ArrayLike | None, count: int) -> Array | None:
    """Check that there is one time per value, non-decreasing; return None if none are given.

    Raises
    ------
    StatisticsError
        Their number differs from `count`, or one is earlier than the one before.
    """
    if times is None:
        return None
    array = as_values(times, "times")
    if array.size != count:
        raise StatisticsError(f"there are {array.size} times for {count} values")
    descending = np.flatnonzero(array[1:] < array[:-1])
    if descending.size:
        raise StatisticsError(
            f"times[{int(descending[0]) + 1}] is earlier than the time before it; sort by time first"
        )
    return array


def times_at(times: Array | None, places: Indices) -> Array:
    """Return the times of values at these indices; 0, 1, 2 … if none are given."""
    return places.astype(np.float64) if times is None else times[places]


def one_of(value: str, name: str, allowed: tuple[str, ...], others: str = "") -> str:
    """Check that a value is one of those allowed, and return it.

    Raises
    ------
    StatisticsError
        It is none of them.
    """
    if value not in allowed:
        raise StatisticsError(f"{name} is {value!r}; allowed: {', '.join(allowed)} {others}".rstrip())
    return value


def as_method(method: str) -> bool:
    """Return True if the paper's method is requested.

    Raises
    ------
    StatisticsError
        The method is neither "default" nor "paper".
    """
    return one_of(method, "method", ("default", "paper")) == "paper"


def known_keys(mapping: Mapping[str, object], name: str, allowed: tuple[str, ...]) -> None:
    """Refuse unknown keys.

    Raises
    ------
    StatisticsError
        A key is not among those allowed.
    """
    for key in mapping:
        one_of(key, f"a key of {name}", allowed)


def as_tolerance(tolerance: float) -> float:
    """Check a tolerance in percent, above 0, and return it as a share.

    Raises
    ------
    StatisticsError
        It is not a positive number.
    """
    try:
        share = float(tolerance) / 100
    except (TypeError, ValueError) as error:
        raise StatisticsError(f"the tolerance is {tolerance!r}; expected a number above 0") from error
    if not 0.0 < share < float("inf"):
        raise StatisticsError(f"the tolerance is {tolerance!r}; it must be above 0")
    return share


def percent(share: Fraction | float) -> str:
    """Write a share as a percentage: 0.95 is "95 %"."""
    return f"{float(share) * 100:.6g} %"
