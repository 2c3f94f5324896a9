"""Continue with an experiment file whose changes do not affect finished trials."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace

from trialwise.design.plan import plan_digest
from trialwise.execution.rereading import Found, found_text, is_kept
from trialwise.experiment.amendable import Effect, differences, effect_of, refusals
from trialwise.experiment.file.sections import keys_of
from trialwise.experiment.model import (
    Convergence,
    Experiment,
    Factor,
    FixedFactor,
    Kpi,
    Level,
    Metric,
    Variability,
)
from trialwise.experiment.placeholders import level_text
from trialwise.experiment.quantity import duration_text, size_text
from trialwise.experiment.results import Results
from trialwise.experiment.retrying import Retry
from trialwise.experiment.stopping import stops_by_itself
from trialwise.experiment.traits import Trial
from trialwise.store.ledger import Ledger
from trialwise.store.records import Event

AMENDED = "amended"
"""Kind of event: the file now says something else about finished trials, or about what is read from them."""
AMENDED_TRIALS = "amended trials"
"""Kind of event: trials run differently from now on, so their rounds form new series."""
HINT = (
    "put the file back, or start a new experiment with --directory; `trialwise plan` says of every key that differs what would "
    "follow: --amend lets trials run differently from now on, in a new epoch, and --reread reads a metric otherwise"
)


@dataclass(frozen=True, slots=True)
class Changes:
    """The changes as text, the metrics to read of finished trials, and whether trials run differently from now on.

    `is_of_claims`: claims were chosen with data at hand. `lays_out`: rounds have other treatments than before, so
    they are laid out anew, in new series. `sets_apart`: trials before are of another kind than those that follow, and count no longer.
    """

    words: tuple[str, ...]
    metrics: tuple[Metric, ...]
    is_of_trials: bool
    changes_treatments: bool = False
    is_of_claims: bool = False
    lays_out: bool = False
    sets_apart: bool = False

    @property
    def text(self) -> str:
        """The changes in one line."""
        return "; ".join(self.words)


def amendment(
    before: Experiment, now: Experiment, *, partly: bool = False, otherwise: bool = False
) -> Changes | None:
    """Describe how a file differs from the one before; None if that is refused, or has to be asked for.

    `partly`: metrics may be new, or be read otherwise, of which finished trials have nothing. `otherwise`: trials may run differently
    from now on, or become others altogether, which sets finished ones apart.
    """
    known = {metric.name: metric for metric in before.metrics}
    sources = {metric.source.key for metric in before.metrics}
    to_read = tuple(metric for metric in now.metrics if metric.source.key not in sources)
    if plan_digest(_with_what_may_change(before, now, otherwise=otherwise)) != plan_digest(before):
        return _apart(before, now) if otherwise and not why_refused(before, now) else None
    if not all(_may_come(metric, known.get(metric.name), before, partly=partly) for metric in to_read):
        return None
    came, went = _levels(now, before), _levels(before, now)
    if (came or went) and stops_by_itself(now):
        return None
    of_trials = [*_trial_words(before, now, {"epoch"}), *(_conditions(before, now) if otherwise else ())]
    of_trials += [f"factors.{name}: {level} is new" for name, level in came]
    of_trials += [f"factors.{name}: {level} is dropped" for name, level in went]
    kept = [metric for metric in now.metrics if metric.name in known]
    words = [text for metric in kept for text in _metric_words(known[metric.name], metric)]
    claims = [text for metric in kept for text in _claim_words(known[metric.name], metric)]
    if before.warmup != now.warmup:
        claims.append(f"trial.warmup: {duration_text(before.warmup)} → {duration_text(now.warmup)}")
    claims += _result_words(before, now)
    words += claims
    words += _trial_words(before, now, {"nothing"})
    if before.design.between != now.design.between:
        words.append(f"design.between: {_between(before)} → {_between(now)}")
    words += [f"experiment.{name}: {text}" for name, text in _label_words(before, now)]
    words += _metrics_words(before, now)
    lays_out = bool(came) or (bool(went) and now.design.order == "balanced")
    return Changes((*of_trials, *words), to_read, bool(of_trials), bool(came or went), bool(claims), lays_out)


def why_refused(before: Experiment, now: Experiment) -> tuple[str, ...]:
    """Say why no option lets a directory go on with a file whose treatments or trials are others; nothing if one does."""
    found = refusals(before, now)
    lays_out = (
        any(each.effect == "apart" for each in differences(before, now)) or before.factors != now.factors
    )
    if lays_out and (stops_by_itself(before) or stops_by_itself(now)):
        return (
            *found,
            "a rule has looked at these trials to stop by them: take stop out of [design] and of metrics first",
        )
    return found


def _apart(before: Experiment, now: Experiment) -> Changes:
    """Describe a file by which trials become others."""
    found = differences(before, now)
    is_of_claims = any(each.effect == "claims" for each in found)
    words = tuple(each.text for each in found) or ("factors: another file to draw from",)
    return Changes(words, (), True, True, is_of_claims, lays_out=True, sets_apart=True)


def event_of(change: Changes, found: Sequence[Found], finished: int, further: str = "") -> Event:
    """Describe the change for the ledger, with what `read_again` found and the effect on the plan.

    If claims were changed, say how many trials had `finished` by then, since their numbers may have been seen.
    """
    told = change.text
    if change.is_of_claims:
        told += f" (chosen when {finished} trial{'' if finished == 1 else 's'} had finished)"
    if found:
        told += f" ({found_text(found)})"
    if further:
        told += f"; {further}"
    return Event(time.time(), AMENDED_TRIALS if change.is_of_trials else AMENDED, told)


def line_of(change: Changes, event: Event) -> str:
    """Say in one line what was changed."""
    return (
        f"the experiment file was changed: {event.text}"
        + ("; the rounds that follow are series of their own" if change.is_of_trials else "")
        + (", and what was measured before is set apart" if change.sets_apart else "")
    )


def amended_since(ledger: Ledger, moment: float) -> str | None:
    """Return the changes since a moment that make trials run differently, as text; None if there are none."""
    words = [event.text for event in ledger.events() if event.kind == AMENDED_TRIALS and event.time >= moment]
    return "; ".join(words) or None


_EPOCHS: AbstractSet[Effect] = {"epoch", "asked epoch"}
_BESIDE_TRIALS = ("reset", "services", "instrumentation", "measurement", "results")
"""Fields of an experiment, beside its trial, that make trials run, or be read, differently."""


def _with_what_may_change(before: Experiment, now: Experiment, *, otherwise: bool) -> Experiment:
    """Return the new file with the old values wherever changes are allowed."""
    trial, beside = now.trial, dict[str, object]()
    if trial.kind == before.trial.kind:
        effects: AbstractSet[Effect] = {"nothing", *(_EPOCHS if otherwise else {"epoch"})}
        trial = replace(trial, **{name: getattr(before.trial, name) for name in _fields(trial, effects)})
        if effect_of(trial.kind, "trial", "warmup") == "claims":
            beside["warmup"] = before.warmup
        beside["results"] = _results(before, now)
        if otherwise:
            beside |= {name: getattr(before, name) for name in _BESIDE_TRIALS}
        if otherwise and effect_of(trial.kind, "trial", "runtime") in _EPOCHS:
            beside["runtime"] = before.runtime
    return replace(
        now,
        trial=trial,
        metrics=before.metrics,
        factors=_factors(before, now),
        design=replace(now.design, between=before.design.between),
        name=before.name,
        description=before.description,
        **beside,  # pyright: ignore[reportArgumentType]
    )


def _results(before: Experiment, now: Experiment) -> Results | None:
    """Return [results] as it is now, with what was claimed before."""
    if before.results is None or now.results is None:
        return now.results
    return replace(now.results, claims=before.results.claims, metrics=before.results.metrics)


def _result_words(before: Experiment, now: Experiment) -> Iterator[str]:
    """Describe changed claims about what a harness prints."""
    if before.results is not None and now.results is not None:
        found = (each for each in differences(before, now) if each.key.startswith("results.metrics"))
        yield from (each.text for each in found)


def _fields(trial: Trial, effects: AbstractSet[Effect]) -> list[str]:
    """Return the fields of a trial whose keys have one of these effects."""
    keys = keys_of(type(trial))
    return [field for field, each in keys.items() if effect_of(trial.kind, "trial", each.name) in effects]


def _conditions(before: Experiment, now: Experiment) -> Iterator[str]:
    """Describe changed keys that only --amend lets change: they make trials run differently."""
    yield from (each.text for each in differences(before, now) if each.effect == "asked epoch")


def _factors(before: Experiment, now: Experiment) -> tuple[Factor, ...]:
    """Return the new factors, with the old levels where levels were added or removed and the rest kept their order."""
    if [each.name for each in before.factors] != [each.name for each in now.factors]:
        return now.factors
    pairs = zip(before.factors, now.factors, strict=True)
    return tuple(then if _keeps_its_order(then, later) else later for then, later in pairs)


def _keeps_its_order(then: Factor, later: Factor) -> bool:
    if not (isinstance(then, FixedFactor) and isinstance(later, FixedFactor)):
        return False
    levels, others = ([_key(level) for level in each.levels] for each in (then, later))
    common = [level for level in levels if level in others]
    return bool(common) and common == [level for level in others if level in levels]


def _levels(some: Experiment, other: Experiment) -> list[tuple[str, str]]:
    """Return the levels of fixed factors, by factor, that the other file lacks."""
    known = {(factor.name, _key(level)) for factor in other.fixed_factors for level in factor.levels}
    return [
        (factor.name, level_text(level))
        for factor in some.fixed_factors
        for level in factor.levels
        if (factor.name, _key(level)) not in known
    ]


def _key(level: Level) -> tuple[type, Level]:
    return type(level), level


def _may_come(metric: Metric, before: Metric | None, experiment: Experiment, *, partly: bool) -> bool:
    """Return True if finished trials do not keep a metric from being read, by this name, from now on."""
    return partly or (before is None and is_kept(metric, experiment))


def _metrics_words(before: Experiment, now: Experiment) -> Iterator[str]:
    """Describe metrics that came, went, have another name, or are read otherwise."""
    known = {metric.name: metric for metric in before.metrics}
    names = {metric.name for metric in now.metrics}
    gone = {metric.source.key: metric.name for metric in before.metrics if metric.name not in names}
    for metric in now.metrics:
        then, key = known.get(metric.name), metric.source.key
        if then is None:
            was = gone.pop(key, None)
            yield f"metrics.{metric.name}: new" if was is None else f"metrics.{was}: now called {metric.name}"
        elif then.source.key != key:
            yield f"metrics.{metric.name}: read otherwise, {then.source.key} → {key}"
    yield from (f"metrics.{name}: dropped" for name in gone.values())


def _trial_words(before: Experiment, now: Experiment, effects: AbstractSet[Effect]) -> Iterator[str]:
    """Describe the changed keys of the trial with one of these effects."""
    keys = keys_of(type(now.trial))
    for name in _fields(now.trial, effects):
        then, later = getattr(before.trial, name), getattr(now.trial, name)
        if then != later:
            yield f"trial.{keys[name].name}: {_setting(name, then)} → {_setting(name, later)}"


def _setting(name: str, value: float | str | tuple[str, ...] | Retry | None) -> str:
    """Write the value of a key of the trial: a size, a duration, or texts."""
    match value:
        case tuple():
            return ", ".join(value) or "none"
        case str():
            return value
        case Retry():
            return value.text
        case int() if name == "keep_limit":
            return size_text(value)
        case _:
            return _duration(value)


def _duration(seconds: float | None) -> str:
    return "none" if seconds is None else duration_text(seconds)


def _metric_words(before: Metric, now: Metric) -> Iterator[str]:
    if before.better != now.better:
        yield f"metrics.{now.name}.better: {before.better or 'none'} → {now.better or 'none'}"
    if before.unit != now.unit:
        yield f"metrics.{now.name}.unit: {before.unit or 'none'} → {now.unit or 'none'}"


def _claim_words(before: Metric, now: Metric) -> Iterator[str]:
    """Describe changed claims about a metric."""
    for (name, then), (_, later) in zip(_claims(before), _claims(now), strict=True):
        if then != later:
            yield f"metrics.{now.name}.{name}: {then or 'none'} → {later or 'none'}"


def _claims(metric: Metric) -> tuple[tuple[str, str], ...]:
    return (
        ("measure", metric.measure if isinstance(metric.measure, str) else f"p{metric.measure:g}"),
        ("kpi", _kpis(metric.kpis)),
        ("variability", _claim(metric.variability)),
        ("convergence", _convergence(metric.convergence)),
        ("limits", _limits(metric.limits)),
    )


def _kpis(kpis: tuple[Kpi, ...]) -> str:
    return ", ".join(f"{_claim(each)} ({each.bound})" for each in kpis)


def _claim(claim: Kpi | Variability | None) -> str:
    return "" if claim is None else f"p{claim.percentile:g} at {claim.confidence:g} %"


def _convergence(asked: Convergence | None) -> str:
    return "" if asked is None else f"{asked.confidence:g} %, tolerance {asked.tolerance:g} %"


def _limits(limits: tuple[float, float] | None) -> str:
    return "" if limits is None else f"{limits[0]:g} to {limits[1]:g}"


def _between(experiment: Experiment) -> str:
    return experiment.design.between.text if experiment.design.between else "none"


def _label_words(before: Experiment, now: Experiment) -> Iterator[tuple[str, str]]:
    if before.name != now.name:
        yield "name", f"{before.name} → {now.name}"
    if before.description != now.description:
        yield "description", "another"
