"""Read a metric's samples from its source."""

from __future__ import annotations

import numpy as np

from trialwise.errors import TrialError
from trialwise.experiment.sources import TextSource
from trialwise.measurement.csv_reader import read_csv
from trialwise.measurement.json_reader import read_json
from trialwise.measurement.pattern_reader import read_pattern, read_patterns
from trialwise.measurement.reported import Reported
from trialwise.measurement.samples import Samples


def read_source(source: TextSource, reported: Reported) -> Samples:
    """Read the samples that `source` names from what a program reported.

    Raises
    ------
    TrialError
        The numbers are missing, not numeric, or not finite; or rows of earlier trials are among them.
    """
    samples = _read(source, reported)
    if reported.before and (source.pattern is None or source.matches == "all"):
        _require_own(source, reported, samples)
    return samples


def _read(source: TextSource, reported: Reported) -> Samples:
    if source.pattern is not None:
        read = read_pattern if source.matches == "one" else read_patterns
        return read(reported, source.pattern)
    if source.json is not None:
        return read_json(reported, source.json, time=source.time)
    if source.csv is None:
        raise TypeError(source)
    return read_csv(reported, source.csv, time=source.time)


def _require_own(source: TextSource, reported: Reported, samples: Samples) -> None:
    try:
        earlier = _read(source, Reported(reported.before, reported.where))
    except TrialError:
        return
    require_own(reported.where, earlier, samples)


def require_own(where: str, earlier: Samples, samples: Samples) -> None:
    """Raise `TrialError` if a rewritten file holds all samples that it held before, and further ones."""
    old, new = len(earlier), len(samples)
    if old < new and (
        _equal(earlier, samples, slice(old)) or _equal(earlier, samples, slice(new - old, new))
    ):
        raise TrialError(
            f"{where} holds the {old:,} samples that stood there before this trial, and {new - old:,} more:"
            " whether this trial measured all of them, or only the new ones, cannot be told",
            hint="have prepare remove the file, so that each trial begins with none",
        )


def _equal(earlier: Samples, samples: Samples, part: slice) -> bool:
    if not np.array_equal(earlier.values, samples.values[part]):
        return False
    return (
        earlier.times is None or samples.times is None or np.array_equal(earlier.times, samples.times[part])
    )
