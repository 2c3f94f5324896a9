"""Sentences about effects of factors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from trialwise.analysis.effects.paper_results import PaperEffects, PaperMetric
from trialwise.analysis.effects.results import EffectsAnalysis, MetricEffects


def at_text(at: Mapping[str, str]) -> str:
    """Write the fixed levels: "load=high rate=10"."""
    return " ".join(f"{name}={level}" for name, level in at.items())


def part_text(one: MetricEffects | PaperMetric) -> str:
    """Name the metric, and the part of the data."""
    held = at_text(one.part)
    return f"{one.metric} at {held}" if held else one.metric


def sentence(found: EffectsAnalysis | PaperEffects) -> str:
    """Return the answer in one sentence, without a full stop."""
    return _of_paper(found) if isinstance(found, PaperEffects) else _of_effects(found)


def _of_effects(found: EffectsAnalysis) -> str:
    results = found.results
    there = [one for one in results if one.verdict == "factors matter"]
    if there:
        return "; ".join(f"{part_text(one)}: {_what_matters(one)}" for one in there[:4]) + (
            f"; and {len(there) - 4} more" if len(there) > 4 else ""
        )
    if found.verdict == "no factor matters":
        within = "no level differs from its base by more than the margin, averaged over the other factors"
        return f"No factor matters: {within}"
    refused = [one for one in results if one.refusal]
    if len(refused) == len(results):
        return f"No inference: {refused[0].refusal}"
    if found.margins:
        return _undecided_by_margin(results)
    return "Undecided: no factor is found to matter, which does not show that none does; a --margin would let that be judged"


def _of_paper(found: PaperEffects) -> str:
    results = found.results
    if found.verdict == "factors matter":
        there = [
            f"{part_text(one)}: {', '.join(term.term for term in one.terms if term.stars)}"
            for one in results
            if one.verdict == found.verdict
        ]
        more = f"; and {len(there) - 4} more" if len(there) > 4 else ""
        return f"Significant at 5 %, as the paper tests: {'; '.join(there[:4])}{more}"
    if any(not one.refusal for one in results):
        return (
            "Nothing is significant at 5 %, as the paper tests; that does not show that nothing has an effect"
        )
    refused = next((one.refusal for one in results if one.refusal), "")
    return f"No inference: {refused}"


def _undecided_by_margin(results: Sequence[MetricEffects]) -> str:
    unjudged = [one for one in results if all(row.verdict == "no inference" for row in one.comparisons)]
    terms = list(dict.fromkeys(term.term for one in unjudged for term in one.terms if term.matters))
    if terms and len(unjudged) == len(results):
        why = next(row.reason for one in unjudged for row in one.comparisons)
        return f"Undecided: {_list(terms)} {_matter(terms)}, but no level can be judged by the margin: {why}"
    return "Undecided: not every level is shown to differ from its base by more than the margin, or by less"


def _what_matters(one: MetricEffects) -> str:
    beyond = list(dict.fromkeys(row.factor for row in one.comparisons if row.verdict == "different"))
    if any(row.margin is not None for row in one.comparisons):
        return f"{_list(beyond)} {_matter(beyond)} beyond the margin"
    terms = [term.term for term in one.terms if term.matters]
    return f"{_list(terms)} {_matter(terms)}"


def _matter(names: Sequence[str]) -> str:
    return "matters" if len(names) == 1 else "matter"


def _list(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
