"""From the section of the design to the model: how many trials, in what order, and when to stop."""

from __future__ import annotations

from collections.abc import Sequence

from trialwise.experiment import document as doc
from trialwise.experiment import model, trials
from trialwise.experiment.placeholders import level_text
from trialwise.experiment.positions import Key
from trialwise.experiment.problems import Problems, nearest
from trialwise.experiment.stopping import default_looks, default_most

_BASE: Key = ("design", "base")


def build_design(
    document: doc.Document,
    trial: trials.Trial,
    metrics: Sequence[model.Metric],
    factors: Sequence[model.Factor],
    problems: Problems,
) -> model.Design:
    """Build the design of an experiment with such trials, metrics and factors."""
    section = document.design
    if section.stop == "verdict" and not any(metric.margin for metric in document.metrics.values()):
        hint = 'add margin = "3%" to a metric: the difference that would matter'
        problems.add(("design", "stop"), "a verdict is judged by a margin, and no metric has one", hint)
    return model.Design(
        order=section.order,
        series=None if section.series == "auto" else section.series,
        rounds=None if section.rounds == "auto" else section.rounds,
        span=section.span,
        robustness=section.robustness,
        warmup_trials=section.warmup_trials,
        stop=section.stop,
        looks=section.looks or default_looks(trial, section.stop, metrics),
        pilot=section.pilot,
        max_trials=section.max_trials or default_most(trial),
        budget=section.budget,
        base=None if section.base is None else _base(section.base, factors, problems),
        unseen=_unseen(section.unseen, factors, problems),
    )


def _unseen(names: Sequence[str], factors: Sequence[model.Factor], problems: Problems) -> tuple[str, ...]:
    known = [factor.name for factor in factors if isinstance(factor, model.FixedFactor)]
    for index, name in enumerate(names):
        if name not in known:
            problems.add(("design", "unseen", index), f"no factor {name!r} with levels", nearest(name, known))
    return tuple(dict.fromkeys(names))


def _base(text: str, factors: Sequence[model.Factor], problems: Problems) -> tuple[str, model.Level] | None:
    name, _, wanted = text.partition("=")
    fixed = {factor.name: factor for factor in factors if isinstance(factor, model.FixedFactor)}
    if name not in fixed:
        problems.add(_BASE, f"no factor {name!r} with levels", nearest(name, fixed))
        return None
    levels = {level_text(level): level for level in fixed[name].levels}
    if wanted not in levels:
        problems.add(_BASE, f"{name} has no level {wanted!r}", f"there are: {', '.join(levels)}")
        return None
    return name, levels[wanted]
