"""The rule for two versions: a pilot, its forecast, and as many fresh trials, each judged once."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

from trialwise import statistics as st
from trialwise.analysis.versions.gate import judged_outcome, together
from trialwise.analysis.versions.results import Outcome
from trialwise.experiment.model import Better, Extent, Metric
from trialwise.measurement.samples import Samples
from trialwise.store.records import TrialRow

VERSION = "version"
BASE, HEAD = "base", "head"
_HOPELESS = 3
"""Trials of a version that all fail after which the run stops."""


@dataclass(frozen=True, slots=True)
class AbPlan:
    """`pilot` trials of each version, at most `most` in total, and verdicts at `confidence` percent over both looks, by the margin.

    With `fixed` there is no look: this number of trials of each version runs. All `versions` are compared with the first, as one
    family; `commands` are what they run, where people know them by that.
    """

    pilot: int
    most: int
    confidence: float
    margin: Extent
    fixed: int | None = None
    versions: tuple[str, ...] = (BASE, HEAD)
    commands: tuple[str, ...] = ()

    def is_decided(self, outcomes: Sequence[Outcome]) -> bool:
        """Return True if no more trials are needed: of two versions one worse row is enough, of more all count."""
        if len(self.versions) > 2:
            return bool(outcomes) and "undecided" not in outcomes
        return together(outcomes) != "undecided"

    def name_of(self, version: str) -> str:
        """Return what people call a version: its command where that is given."""
        return dict(zip(self.versions, self.commands, strict=False)).get(version, version)

    @property
    def each(self) -> float:
        """The confidence of one look, in percent: both share the error probability (Bonferroni)."""
        return self.confidence if self.fixed else 100 - (100 - self.confidence) / 2


class PilotThenFresh:
    """Collects trials, judges the pilot once, and computes the number of trials needed."""

    def __init__(self, metrics: Sequence[Metric], plan: AbPlan) -> None:
        self._metrics = metrics
        self.plan = plan
        self._values: dict[tuple[str, str], dict[int, float]] = {}
        self._failed = dict.fromkeys(plan.versions, 0)
        self._finished = dict.fromkeys(plan.versions, 0)
        self._ended = dict.fromkeys(plan.versions, 0)
        self.looked = plan.fixed is not None
        self.decided = False
        self.fresh: int | None = None
        """Fresh trials required after the pilot; None before it, and if no feasible number would do."""

    def add(self, row: TrialRow, samples: Mapping[str, Samples] | None) -> None:
        """Add a trial that has ended, None if it failed; warm-ups do not count."""
        version = str(row.factors[VERSION])
        self._failed[version] += samples is None
        self._finished[version] += samples is not None
        if row.warmup:
            return
        self._ended[version] = max(self._ended[version], row.round)
        for metric in self._metrics:
            found = (samples or {}).get(metric.source.key)
            if found is not None and len(found.values):
                value = float(st.measure_of(found.values, metric.measure))
                self._values.setdefault((metric.name, version), {})[row.round] = value

    def wanted(self) -> int:
        """Number of rounds, including the pilot's, as far as known."""
        if self.plan.fixed is not None:
            return self.plan.fixed
        if not self.looked:
            return self.plan.pilot
        return self.plan.most if self.fresh is None else min(self.plan.pilot + self.fresh, self.plan.most)

    def reason_to_stop(self) -> str | None:
        """Judge the pilot when it is complete; return why no more trials are needed, or None."""
        for version, failed in self._failed.items():
            if failed >= _HOPELESS and not self._finished[version]:
                return f"every trial of {self.plan.name_of(version)} failed"
        done = min(self._ended.values())
        if not self.looked and done >= self.plan.pilot:
            self._look()
        if self.decided:
            return f"the pilot of {self.plan.pilot} trials of each version decides"
        if self.looked and done >= self.wanted():
            return f"all {self.wanted()} trials of each version have run"
        return None

    def _look(self) -> None:
        self.looked = True
        differences = self._differences()
        if differences is None:
            return
        family = st.difference_family(differences)
        better: list[Better | None] = [
            metric.better for metric in self._metrics for _ in self.plan.versions[1:]
        ]
        outcomes: list[Outcome] = [
            judged_outcome(member.verdict, member.difference, direction)
            for member, direction in zip(family.members.values(), better, strict=True)
        ]
        self.decided = self.plan.is_decided(outcomes)
        bills = [
            member.trials_needed
            for member, outcome in zip(family.members.values(), outcomes, strict=True)
            if outcome == "undecided"
        ]
        known = [bill for bill in bills if bill is not None]
        self.fresh = max(known, default=0) if len(known) == len(bills) else None

    def _differences(self) -> dict[Hashable, st.Difference] | None:
        """Return the difference of every metric and version from the first in the pilot; None if one has too few values."""
        found: dict[Hashable, st.Difference] = {}
        for metric in self._metrics:
            first, *others = ((version, self._pilot(metric.name, version)) for version in self.plan.versions)
            if min(len(values) for _, values in (first, *others)) < 2:
                return None
            margin = metric.margin or self.plan.margin
            for version, values in others:
                found[metric.name, version] = st.difference(
                    first[1],
                    values,
                    confidence=self.plan.each,
                    margin=margin.value,
                    relative=margin.relative,
                )
        return found

    def _pilot(self, metric: str, version: str) -> list[float]:
        values = self._values.get((metric, version), {})
        return [value for round_, value in sorted(values.items()) if round_ <= self.plan.pilot]
