"""Notes on trials that all gave one number, and on trials with a mean dominated by one of them."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence

import numpy as np

from trialwise import statistics as st
from trialwise.analysis.results import MetricAnalysis
from trialwise.numbers import as_given, counted, first_of, write

Values = Mapping[str, Sequence[float]]
"""Numbers of trials, by treatment."""

_CONFIDENCE = 95.0
_MAX_NAMED = 3
_MAX_ALIKE = 12
"""Metrics that each have a sentence of their own, though it says the same of all."""


def equal_words(n: int, *, repeats: bool) -> str:
    """Say what `n` equal trials show: a single trial if they repeat each other; otherwise a bound on the share of other values."""
    if repeats:
        return f"all {n} trials gave the same number and nothing in them is random: they say as much as one (n = 1 in effect)"
    unseen = st.proportion(0, n, confidence=100 - 2 * (100 - _CONFIDENCE)).high
    return (
        f"all {n} trials gave the same number: an interval of no width is none, and up to {write(unseen, 'up', digits=3)} % of trials "
        f"may give another number ({as_given(_CONFIDENCE)} %)"
    )


def repeating(metrics: Iterable[Values]) -> frozenset[str]:
    """Return the treatments with equal trials in every metric."""
    varying: set[str] = set()
    known: set[str] = set()
    for values in metrics:
        known |= values.keys()
        varying |= {treatment for treatment, each in values.items() if len(each) < 2 or np.ptp(each) > 0}
    return frozenset(known - varying)


def equal_notes(metric: str, values: Values, repeats: frozenset[str]) -> Iterator[str]:
    """Yield one sentence on all treatments with two or more trials that all gave the same number."""
    equal: dict[tuple[int, bool], list[str]] = {}
    for treatment, each in values.items():
        if len(each) > 1 and not np.ptp(each):
            equal.setdefault((len(each), treatment in repeats), []).append(treatment)
    for (n, repeated), treatments in equal.items():
        yield f"{metric}{_of(treatments)}: {equal_words(n, repeats=repeated)}"


def notes_of(
    metrics: Sequence[MetricAnalysis], told: Container[str] = (), *, may_repeat: bool = False
) -> Iterator[str]:
    """Yield the sentences of `equal_notes` on analysed metrics, except those told elsewhere; many that say the same are one."""
    values = {one.metric.name: one.trials.by_treatment() for one in metrics}
    repeats = repeating(values.values()) if may_repeat else frozenset[str]()
    notes = [
        (name, note.removeprefix(name))
        for name, each in values.items()
        if name not in told
        for note in equal_notes(name, each, repeats)
    ]
    alike: dict[str, list[str]] = {}
    for name, said in notes:
        alike.setdefault(said, []).append(name)
    for name, said in notes:
        names = alike[said]
        if len(names) <= _MAX_ALIKE:
            yield f"{name}{said}"
        elif name == names[0]:
            yield f"{', '.join(names[:_MAX_NAMED])} and {len(names) - _MAX_NAMED} more metrics{said}"


def tail_notes(metric: str, values: Values, *, what: str = "trial") -> Iterator[str]:
    """Yield a sentence for each of the first few treatments with heavy-tailed values; `what` names their unit."""
    found = {treatment: st.tail_note(each, what=what) for treatment, each in values.items() if len(each) > 1}
    heavy = [(treatment, note) for treatment, note in found.items() if note]
    yield from (f"{metric}{_of([treatment])}: {note}" for treatment, note in heavy[:_MAX_NAMED])
    if more := heavy[_MAX_NAMED:]:
        yield f"{metric}: so it is with {counted(len(more), 'more treatment')}"


def _of(treatments: Sequence[str]) -> str:
    named = [name for name in treatments if name != "-"]
    return f" of {first_of(named, _MAX_NAMED)}" if named else ""
