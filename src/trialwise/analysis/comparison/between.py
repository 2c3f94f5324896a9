"""Comparison of the treatments of one experiment with each other, all in one family."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from trialwise.analysis.comparison.comparing import CompareOptions, Pair, judged_together, pair_of, tails_of
from trialwise.analysis.comparison.ranking import Ranking, rank
from trialwise.analysis.comparison.results import Comparison
from trialwise.analysis.stopping.results import StoppingState
from trialwise.analysis.trial_set import TrialSet

Treatments = tuple[str, str]
"""Names of two treatments: a, and b that is compared with it."""


@dataclass(frozen=True, slots=True)
class VerdictSummary:
    """The verdicts of an experiment on its treatments, and on when to stop.

    `comparison` has a row for each pair and metric, named as in `pairs`. If it is None, `refusal` gives the reason and the remedy,
    or is empty if there is one treatment. `stopping` is None if the plan alone decides; `lifts` gives the remedy for undecided
    claims.
    """

    comparison: Comparison | None = None
    pairs: Mapping[str, Treatments] = field(default_factory=dict[str, Treatments])
    ranking: Ranking | None = None
    refusal: str = ""
    stopping: StoppingState | None = None
    lifts: str | None = None


def between_treatments(
    trials: TrialSet, pairs: Sequence[Treatments], options: CompareOptions | None = None
) -> VerdictSummary:
    """Compare pairs of treatments as `compare` does two sides, with all pairs and metrics as one family.

    Raises
    ------
    StatisticsError
        The confidence is not between 50 and 100.
    """
    options = options or CompareOptions()
    names = {f"{b} against {a}": (a, b) for a, b in pairs}
    rows, correction = judged_together(list(_pairs(trials, names, options)))
    comparison = Comparison(
        a=trials.name,
        b=trials.name,
        rows=rows,
        one_sided=(),
        confidence=options.confidence,
        correction=correction,
        notes={trials.name: (*trials.notes, *tails_of(trials))},
    )
    ranking = rank(trials, options.confidence, options.level)
    return VerdictSummary(comparison, names, ranking if ranking.metrics else None)


def _pairs(trials: TrialSet, names: Mapping[str, Treatments], options: CompareOptions) -> Iterator[Pair]:
    for metric, facts in trials.metrics.items():
        parts = {
            str(part["treatment"][0]): part
            for part in trials.of(metric).partition_by("treatment", maintain_order=True)
        }
        for name, (a, b) in names.items():
            if a in parts and b in parts:
                yield pair_of(name, (facts, facts), (parts[a], parts[b]), options)
