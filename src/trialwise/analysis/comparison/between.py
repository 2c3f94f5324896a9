"""Comparison of the treatments of one experiment with each other, all in one family."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

from trialwise.analysis.comparison.comparing import CompareOptions, Pair, judged_together, pair_of, tails_of
from trialwise.analysis.comparison.ranking import Ranking, rank
from trialwise.analysis.comparison.results import Comparison
from trialwise.analysis.stopping.results import StoppingState
from trialwise.analysis.trial_set import TrialSet, by_subject
from trialwise.numbers import counted

MOST_COMPARISONS = 2000
"""Comparisons that are judged together unless somebody chooses them."""
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


def pairs_of(trials: TrialSet) -> list[Treatments]:
    """Return all pairs of treatments that measured the same."""
    return [
        pair
        for names in by_subject(trials.treatments, trials.subjects).values()
        for pair in combinations(names, 2)
    ]


def between_all(trials: TrialSet, options: CompareOptions | None = None) -> VerdictSummary:
    """Compare all pairs of treatments that measured the same; more than `MOST_COMPARISONS` are refused."""
    pairs = pairs_of(trials)
    if len(pairs) * len(trials.metrics) > MOST_COMPARISONS:
        return VerdictSummary(
            refusal=f"Treatments are not compared: {counted(len(pairs), 'pair')} in {counted(len(trials.metrics), 'metric')} are too "
            f"many to judge together (more than {MOST_COMPARISONS:,}). Choose two sides: `trialwise compare` with --a FACTOR=LEVEL "
            "and --b FACTOR=LEVEL, or rank them with --rank."
        )
    return between_treatments(trials, pairs, options) if pairs else VerdictSummary()


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
    is_one = len(by_subject(trials.treatments, trials.subjects)) == 1
    ranking = rank(trials, options.confidence, options.level) if is_one else None
    return VerdictSummary(comparison, names, ranking if ranking and ranking.metrics else None)


def _pairs(trials: TrialSet, names: Mapping[str, Treatments], options: CompareOptions) -> Iterator[Pair]:
    for metric, facts in trials.metrics.items():
        parts = {
            str(part["treatment"][0]): part
            for part in trials.of(metric).partition_by("treatment", maintain_order=True)
        }
        for name, (a, b) in names.items():
            if a in parts and b in parts:
                yield pair_of(name, (facts, facts), (parts[a], parts[b]), options)
