"""From a metric's source to its samples."""

from __future__ import annotations

from trialwise.experiment.sources import TextSource
from trialwise.measurement.csv_reader import read_csv
from trialwise.measurement.json_reader import read_json
from trialwise.measurement.pattern_reader import read_pattern
from trialwise.measurement.reported import Reported
from trialwise.measurement.samples import Samples


def read_source(source: TextSource, reported: Reported) -> Samples:
    """Read the samples that `source` names in what a program reported.

    Raises
    ------
    TrialError
        The numbers are not there, are not numbers, or are not finite.
    """
    if source.pattern is not None:
        return read_pattern(reported, source.pattern)
    if source.json is not None:
        return read_json(reported, source.json, time=source.time)
    if source.csv is None:
        raise TypeError(source)
    return read_csv(reported, source.csv, time=source.time)
