"""The stopping rule of an experiment whose metrics are found while its trials run."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from trialwise.analysis.stopping.verdicts import StoppingMonitor
from trialwise.experiment.model import Experiment
from trialwise.experiment.results import with_found
from trialwise.measurement.samples import Samples
from trialwise.store.records import TrialRow


class FindingMonitor:
    """Asks a `StoppingMonitor`, and begins a new one with all trials so far when a trial has found further metrics.

    So the state is a function of the finished trials, as it is where all metrics are known from the beginning.
    """

    def __init__(self, experiment: Experiment) -> None:
        self._experiment = experiment
        self._monitor = StoppingMonitor(experiment)
        self._times: list[tuple[TrialRow, float | None, float | None]] = []
        self._trials: list[tuple[TrialRow, Mapping[str, Samples]]] = []
        self._skipped: Collection[str] = ()

    def skip(self, treatments: Collection[str]) -> None:
        """Do what `StoppingMonitor.skip` does."""
        self._skipped = treatments
        self._monitor.skip(treatments)

    def add_time(self, row: TrialRow, started: float | None, finished: float | None) -> None:
        """Add the time of a trial, whatever its outcome."""
        self._times.append((row, started, finished))
        self._monitor.add_time(row, started, finished)

    def add(self, row: TrialRow, samples: Mapping[str, Samples]) -> None:
        """Add the report of a finished trial."""
        self._trials.append((row, samples))
        found = with_found(self._experiment, samples)
        if found is self._experiment:
            self._monitor.add(row, samples)
        else:
            self._begin_again(found)

    def outlook(self, upcoming: TrialRow) -> tuple[str | None, int | None, tuple[str, ...], bool]:
        """Return what `StoppingMonitor.outlook` does."""
        return self._monitor.outlook(upcoming)

    def _begin_again(self, experiment: Experiment) -> None:
        self._experiment = experiment
        self._monitor = StoppingMonitor(experiment)
        self._monitor.skip(self._skipped)
        for each in self._times:
            self._monitor.add_time(*each)
        trials: Sequence[tuple[TrialRow, Mapping[str, Samples]]] = self._trials
        for row, samples in trials:
            self._monitor.add(row, samples)
