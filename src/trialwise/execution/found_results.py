"""Metrics that trials find must stay what they are: of one unit and one direction in all trials."""

from __future__ import annotations

from dataclasses import replace

from trialwise.experiment.sources import ResultSource
from trialwise.measurement.results import told
from trialwise.store.ledger import Ledger
from trialwise.trials.base import TrialOutcome


class FoundResults:
    """The metrics that earlier trials of a ledger found, by name."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._known: dict[str, ResultSource] = {}

    def checked(self, outcome: TrialOutcome) -> TrialOutcome:
        """Return the outcome of a trial; one that found a metric in another unit or direction has failed."""
        found = [source for key in outcome.samples if (source := ResultSource.from_key(key)) is not None]
        if any(self._known.get(source.name) != source for source in found):
            self._read()
        for source in found:
            known = self._known.get(source.name, source)
            if known != source:
                reason = f"{source.name} is {told(source)}, and in earlier trials {told(known)}: these are not one metric"
                return replace(outcome, status="failed", reason=reason, samples={})
        return outcome

    def _read(self) -> None:
        for key in self._ledger.found_sources():
            if (source := ResultSource.from_key(key)) is not None:
                self._known.setdefault(source.name, source)
