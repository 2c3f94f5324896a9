"""Metrics that trials find must stay what they are: of one unit and one direction in all trials of a treatment."""

from __future__ import annotations

from dataclasses import replace

from trialwise.experiment.sources import ResultSource
from trialwise.store.ledger import Ledger
from trialwise.trials.base import TrialOutcome


class FoundResults:
    """The metrics that earlier trials of a ledger found, by treatment and name."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._known: dict[tuple[str, str], ResultSource] = {}

    def checked(self, treatment: str, outcome: TrialOutcome) -> TrialOutcome:
        """Return the outcome of a trial; one that found a metric in another unit or direction than its treatment had has failed.

        Where treatments differ in it, analyses take the metric as the first trial found it.
        """
        found = [source for key in outcome.samples if (source := ResultSource.from_key(key)) is not None]
        if any(self._known.get((treatment, source.name)) != source for source in found):
            self._read(treatment)
        for source in found:
            known = self._known.get((treatment, source.name), source)
            if known != source:
                reason = f"{source.name} is {source.told}, and in earlier trials {known.told}: these are not one metric"
                return replace(outcome, status="failed", reason=reason, samples={})
        return outcome

    def _read(self, treatment: str) -> None:
        for key in self._ledger.found_sources(treatment):
            if (source := ResultSource.from_key(key)) is not None:
                self._known.setdefault((treatment, source.name), source)
