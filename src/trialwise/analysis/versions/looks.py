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

    With `fixed` there is no look: this number of trials of each version runs.
    """

    pilot: int
    most: int
    confidence: float
    margin: Extent
    fixed: int | None = None

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
        self._failed: dict[str, int] = {BASE: 0, HEAD: 0}
        self._finished: dict[str, int] = {BASE: 0, HEAD: 0}
        self._ended: dict[str, int] = {BASE: 0, HEAD: 0}
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
                return f"every trial of {version} failed"
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
        better: dict[Hashable, Better | None] = {metric.name: metric.better for metric in self._metrics}
        outcomes: list[Outcome] = [
            judged_outcome(member.verdict, member.difference, better[name])
            for name, member in family.members.items()
        ]
        self.decided = together(outcomes) != "undecided"
        bills = [
            member.trials_needed
            for member, outcome in zip(family.members.values(), outcomes, strict=True)
            if outcome == "undecided"
        ]
        known = [bill for bill in bills if bill is not None]
        self.fresh = max(known, default=0) if len(known) == len(bills) else None

    def _differences(self) -> dict[Hashable, st.Difference] | None:
        """Return the difference of every metric in the pilot; None if one has too few values for a verdict."""
        found: dict[Hashable, st.Difference] = {}
        for metric in self._metrics:
            sides = [self._pilot(metric.name, version) for version in (BASE, HEAD)]
            if min(len(side) for side in sides) < 2:
                return None
            margin = metric.margin or self.plan.margin
            found[metric.name] = st.difference(
                sides[0],
                sides[1],
                confidence=self.plan.each,
                margin=margin.value,
                relative=margin.relative,
            )
        return found

    def _pilot(self, metric: str, version: str) -> list[float]:
        values = self._values.get((metric, version), {})
        return [value for round_, value in sorted(values.items()) if round_ <= self.plan.pilot]
