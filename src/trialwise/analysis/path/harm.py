"""Harm: how much worse a flow does beside another than alone (Ware et al., HotNets 2019)."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from statistics import fmean

from trialwise import statistics as st
from trialwise.analysis.path.results import Harm, HarmCell
from trialwise.analysis.results import MetricAnalysis
from trialwise.experiment.model import Experiment, Level
from trialwise.experiment.placeholders import fill, level_text, names_in
from trialwise.experiment.sources import PathSource
from trialwise.experiment.trials import NO_FLOW, PathTrial
from trialwise.numbers import counted

CONFIDENCE = 95.0
"""Of each interval, and of all verdicts together, in percent."""


def harm_of(
    experiment: Experiment,
    trial: PathTrial,
    metrics: Sequence[MetricAnalysis],
    treatments: Mapping[str, Mapping[str, Level]],
) -> Harm | str | None:
    """Return the harm that the flows of a factor do to the others; a text says what is missing, None if no factor has the level none.

    Where more is better, harm is (alone - beside) / alone, where less is better (beside - alone) / beside. Both are 1 less a ratio of
    means, so that their intervals are Fieller's.

    Parameters
    ----------
    metrics
        Those of a single flow that the factor does not name are compared.
    treatments
        The levels of each treatment, by its name.
    """
    named = dict(_naming(experiment, trial))
    if not named:
        return None
    if len(named) > 1:
        return f"no harm: the factors {' and '.join(named)} have the level none; harm is told of one"
    ((factor, flows),) = named.items()
    told = [found for found in metrics if _is_told(found, flows)]
    if not told:
        return (
            "no harm: it needs a metric, with a better direction, of one flow that runs alone and beside others; "
            "add flow = 1 to [metrics.throughput]"
        )
    return _harm(factor, flows, [one for found in told for one in _pairs(found, factor, trial, treatments)])


def _naming(experiment: Experiment, trial: PathTrial) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Yield the factors that name the scheme of flows and have the level none, with the numbers of these flows."""
    for factor in experiment.fixed_factors:
        if NO_FLOW in map(level_text, factor.levels):
            wanted = f"{{{factor.name}}}"
            flows = tuple(number for number, flow in enumerate(trial.flows, 1) if flow.scheme == wanted)
            if flows:
                yield factor.name, flows


def _is_told(found: MetricAnalysis, flows: Sequence[int]) -> bool:
    source = found.metric.source
    is_of_one = isinstance(source, PathSource) and source.flow is not None and source.flow not in flows
    return is_of_one and found.metric.better is not None


@dataclass(frozen=True, slots=True)
class _Pair:
    """A treatment and the same one without the other flow, with the values of their trials."""

    found: MetricAnalysis
    name: str
    other: str
    treatments: tuple[str, str]
    alone: Sequence[float]
    beside: Sequence[float]
    itself: Sequence[float] | None
    """Beside another flow of the same scheme; None if that did not run, or is this pair."""

    @property
    def more_is_better(self) -> bool:
        return self.found.metric.better == "higher"

    @property
    def sides(self) -> tuple[Sequence[float], Sequence[float]]:
        """What the ratio is of: harm is 1 - second / first."""
        return (self.alone, self.beside) if self.more_is_better else (self.beside, self.alone)

    def is_worse(self, here: Sequence[float], there: Sequence[float]) -> bool:
        """Return True if the flow does worse in the first trials than in the second."""
        return (fmean(here) < fmean(there)) == self.more_is_better


def _pairs(
    found: MetricAnalysis, factor: str, trial: PathTrial, treatments: Mapping[str, Mapping[str, Level]]
) -> Iterator[_Pair]:
    values: dict[str, list[float]] = {}
    for one in found.trials:
        if one.value is not None:
            values.setdefault(one.treatment, []).append(one.value)
    alone = {
        _rest(levels, factor): name
        for name, levels in treatments.items()
        if level_text(levels[factor]) == NO_FLOW
    }
    itself = {
        _rest(levels, factor): name
        for name, levels in treatments.items()
        if level_text(levels[factor]) == _scheme(found, trial, levels)
    }
    for name, levels in treatments.items():
        rest, other = _rest(levels, factor), level_text(levels[factor])
        if other != NO_FLOW:
            without, same = alone.get(rest, ""), itself.get(rest, name)
            yield _Pair(
                found=found,
                name=" · ".join(text for _, text in rest) or _scheme(found, trial, levels),
                other=other,
                treatments=(without, name),
                alone=values.get(without, []),
                beside=values.get(name, []),
                itself=None if same == name else values.get(same, []),
            )


def _rest(levels: Mapping[str, Level], factor: str) -> tuple[tuple[str, str], ...]:
    return tuple((name, level_text(level)) for name, level in levels.items() if name != factor)


def _scheme(found: MetricAnalysis, trial: PathTrial, levels: Mapping[str, Level]) -> str:
    source = found.metric.source
    flow = source.flow if isinstance(source, PathSource) else None
    text = trial.flows[(flow or 1) - 1].scheme
    return fill(text, levels) if set(names_in(text)) <= levels.keys() else ""


def _harm(factor: str, flows: tuple[int, ...], pairs: Sequence[_Pair]) -> Harm:
    compared = [_difference(pair) for pair in pairs]
    judged: dict[Hashable, st.Difference] = {
        place: found for place, (found, _) in enumerate(compared) if found is not None
    }
    for place, pair in enumerate(pairs):
        if pair.itself is not None and min(len(pair.itself), len(pair.beside)) >= 2:
            judged["itself", place] = _judged(pair, pair.itself, pair.beside)
    family = st.difference_family(judged) if judged else None
    members: Mapping[Hashable, st.FamilyMember] = family.members if family else {}
    return Harm(
        factor=factor,
        flows=flows,
        confidence=CONFIDENCE,
        family=len(judged),
        method="Welch; Fieller, Satterthwaite's degrees of freedom; " + (family.method if family else "none"),
        cells=tuple(
            _cell(pair, found, reason, members.get(place), members.get(("itself", place)))
            for place, (pair, (found, reason)) in enumerate(zip(pairs, compared, strict=True))
        ),
    )


def _difference(pair: _Pair) -> tuple[st.Difference | None, str]:
    if not pair.treatments[0]:
        return None, "its flow did not run alone"
    fewest = min(len(pair.alone), len(pair.beside))
    if fewest < 2:
        counts = f"{counted(len(pair.alone), 'trial')} alone and {len(pair.beside)} beside"
        return None, f"no inference from {counts}: it takes two of each"
    return _judged(pair, *pair.sides), ""


def _judged(pair: _Pair, first: Sequence[float], second: Sequence[float]) -> st.Difference:
    margin = pair.found.metric.margin
    return st.difference(
        first,
        second,
        confidence=CONFIDENCE,
        margin=margin and margin.value,
        relative=margin is not None and margin.relative,
    )


def _cell(
    pair: _Pair,
    found: st.Difference | None,
    reason: str,
    member: st.FamilyMember | None,
    itself: st.FamilyMember | None,
) -> HarmCell:
    ratio = found.ratio if found else None
    estimate = _estimate(pair)
    is_bounded = ratio is not None and ratio.bounded and isfinite(ratio.estimate)
    return HarmCell(
        metric=pair.found.metric.name,
        name=pair.name,
        other=pair.other,
        alone=pair.treatments[0],
        beside=pair.treatments[1],
        n=(len(pair.alone), len(pair.beside)),
        means=(_mean(pair.alone), _mean(pair.beside)),
        harm=estimate,
        low=1 - ratio.high if ratio and is_bounded else None,
        high=1 - ratio.low if ratio and is_bounded else None,
        p_value=member.p_adjusted if member else None,
        verdict=_verdict(pair, member),
        trials_needed=member.bill if member else None,
        reason=_reason(pair, estimate, is_bounded=is_bounded, said=member.reason if member else reason),
        than_itself=_than_itself(pair, itself),
    )


def _mean(values: Sequence[float]) -> float | None:
    return fmean(values) if values else None


def _estimate(pair: _Pair) -> float | None:
    first, second = (_mean(side) for side in pair.sides)
    return None if first is None or second is None or first == 0 else 1 - second / first


def _verdict(pair: _Pair, member: st.FamilyMember | None) -> str:
    if member is None:
        return "no inference"
    if member.verdict != "different":
        return "harmless" if member.verdict == "equivalent" else "undecided"
    return "harms" if pair.is_worse(pair.beside, pair.alone) else "helps"


def _than_itself(pair: _Pair, member: st.FamilyMember | None) -> str:
    if member is None or pair.itself is None:
        return "" if pair.itself is None else "no inference"
    if member.verdict != "different":
        return "same" if member.verdict == "equivalent" else "undecided"
    return "more" if pair.is_worse(pair.beside, pair.itself) else "less"


def _reason(pair: _Pair, estimate: float | None, *, is_bounded: bool, said: str) -> str:
    if min(len(pair.alone), len(pair.beside)) < 2 or is_bounded:
        return said
    if len({*pair.alone}) == len({*pair.beside}) == 1 and estimate is not None:
        return f"{said}; no bounds: no trial differs from another, and there are too few to tell that they never do"
    side = "alone" if pair.more_is_better else "beside the other"
    if estimate is None:
        return f"{said}; no number: the mean {side} is 0, and harm is a share of it"
    return f"{said}; no bounds: the mean {side} may be 0; more or longer trials"
