"""What follows if a key of the experiment file is changed after the experiment has begun: the one table of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast

import tomlkit

from trialwise.experiment.model import Experiment
from trialwise.experiment.toml_writing import Value, toml_key, toml_value
from trialwise.experiment.writing import write_experiment

Effect = Literal["nothing", "claims", "rule", "reread", "trials", "epoch", "asked epoch", "apart", "refused"]
"""What follows, from the least to the most."""

WORDS: Mapping[Effect, str] = {
    "nothing": "changes nothing else",
    "claims": "no trial changes; the ledger says how many had finished when it was chosen",
    "rule": "when to stop changes, and the ledger says so",
    "reread": "read again from what finished trials have kept; --reread counts those that lack it",
    "trials": "trials are added or withdrawn; finished ones stay; --extend",
    "epoch": "trials run differently from now on: a new epoch, whose rounds are series of their own",
    "asked epoch": "trials run differently from now on: a new epoch, whose rounds are series of their own; --amend",
    "apart": "trials become others: the rounds are laid out anew in series of their own, and trials before are set apart; --amend",
    "refused": "another experiment: refused",
}
_SEVERAL_KINDS = (
    "computed, emulated and real trials, and those that share a process, are not of one experiment"
)
_REASONS: Mapping[str, str] = {
    "experiment.seed": "the order of the rounds and the seed of each trial come from it",
    "trial.kind": "trials of another kind have other metrics, and run otherwise from the start",
    "trial.process": _SEVERAL_KINDS,
    "trial.engine": _SEVERAL_KINDS,
}
"""Why a change of a key makes the directory another experiment altogether."""

_METRICS: Mapping[str, Effect] = {
    **dict.fromkeys(
        ("resource", "stdout", "file", "json", "csv", "pattern", "matches", "time", "value"), "reread"
    ),
    **dict.fromkeys(
        ("instrument", "source", "service", "quantity", "flow", "bin", "sizes", "phase"), "reread"
    ),
    **dict.fromkeys(("unit", "better"), "nothing"),
    **dict.fromkeys(("measure", "convergence", "kpi", "variability", "limits"), "claims"),
    **dict.fromkeys(("margin", "stop", "estimand", "convention", "few_samples"), "rule"),
}
_PROGRAM: Mapping[str, Effect] = {
    **dict.fromkeys(("kind", "process"), "refused"),
    **dict.fromkeys(("directory", "environment", "isolate", "runtime"), "asked epoch"),
    "retry": "nothing",
    "warmup": "claims",
}
_OTHERS: Mapping[str, Effect] = {"retry": "nothing"}
_TRIAL: Mapping[str, Mapping[str, Effect]] = {
    "command": {
        **_PROGRAM,
        **dict.fromkeys(("timeout", "pass", "secret"), "epoch"),
        **dict.fromkeys(
            ("command", "prepare", "conclude", "exit_codes", "output_limit", "leftovers"), "asked epoch"
        ),
        **dict.fromkeys(("keep", "keep_limit"), "nothing"),
    },
    "python": {**_PROGRAM, **dict.fromkeys(("timeout", "pass", "secret", "call"), "asked epoch")},
    "path": {
        **dict.fromkeys(("kind", "engine", "process"), "refused"),
        **dict.fromkeys(("path", "runtime", "scheme", "load", "flows", "interval", "warmup"), "apart"),
        **dict.fromkeys(("packets", "lateness", "environment"), "asked epoch"),
        "retry": "nothing",
    },
    "simulation": {
        **dict.fromkeys(("kind", "process"), "refused"),
        **dict.fromkeys(("scheme", "topology", "workload", "network", "controller", "mode"), "apart"),
        **dict.fromkeys(
            ("engine", "rate_interval", "sampled_paths", "link_distance", "routes", "warmup", "cooldown"),
            "apart",
        ),
        **dict.fromkeys(
            ("sampling", "records", "runtime"),
            "apart",
        ),
        "timeout": "asked epoch",
    },
}
"""Figures of paths and simulations are computed again from the keys: trials with other ones are set apart."""
SECTIONS: Mapping[str, Mapping[str, Effect] | Effect] = {
    "experiment": {"name": "nothing", "description": "nothing", "seed": "refused"},
    "factors": "trials",
    "metrics": _METRICS,
    "results": {**dict.fromkeys(("format", "from", "keep"), "asked epoch"), "metrics": "claims"},
    "design": {
        **dict.fromkeys(("order", "span", "robustness", "warmup_trials"), "apart"),
        **dict.fromkeys(("series", "rounds"), "trials"),
        **dict.fromkeys(("between", "unseen"), "nothing"),
        **dict.fromkeys(("stop", "looks", "pilot", "max_trials", "budget", "base"), "rule"),
    },
    "reset": "asked epoch",
    "service": "asked epoch",
    "workers": "nothing",
    "measurement": "asked epoch",
    "instrumentation": "asked epoch",
    **dict.fromkeys(("schemes", "paths", "tilts"), "apart"),
}


def effect_of(kind: str, *key: str) -> Effect:
    """Return what follows from a change of a key, as `"trial", "timeout"` or `"metrics", NAME, "unit"`, of a kind of trials."""
    section, *rest = key
    known = _TRIAL.get(kind, _OTHERS) if section == "trial" else SECTIONS.get(section, "refused")
    if isinstance(known, str):
        return known
    if (section, *rest[:1]) == ("results", "metrics") and len(rest) > 2:  # of a pattern
        return _METRICS.get(rest[2], "refused")
    name = rest[1] if section == "metrics" and len(rest) > 1 else rest[0] if rest else ""
    if section == "metrics" and len(rest) == 1:  # the metric itself comes or goes
        return "reread"
    return known.get(name, "refused")


def stated_keys(section: str, kind: str = "") -> set[str]:
    """Return the keys of a section, of [trial] of a kind, that have an effect of their own."""
    known = _TRIAL[kind] if section == "trial" else SECTIONS[section]
    return set() if isinstance(known, str) else set(known)


@dataclass(frozen=True, slots=True)
class KeyChange:
    """A key of the file, what it was and is as in the file (empty: not there), and what follows."""

    key: str
    then: str
    now: str
    effect: Effect

    @property
    def text(self) -> str:
        """The change in a line."""
        return f"{self.key}: {self.then or 'none'} → {self.now or 'none'}"


def differences(before: Experiment, now: Experiment) -> tuple[KeyChange, ...]:
    """Return the keys in which two experiments differ, defaults included, in the order of the file."""
    then, later = dict(_written(before)), dict(_written(now))
    return tuple(
        KeyChange(
            ".".join(map(toml_key, key)),
            then.get(key, ""),
            later.get(key, ""),
            effect_of(now.trial.kind, *key),
        )
        for key in {**then, **later}
        if then.get(key) != later.get(key)
    )


def refusals(before: Experiment, now: Experiment) -> tuple[str, ...]:
    """Say why two experiments cannot be in one directory, a line for each reason; nothing if they can."""
    found = [
        f"{each.key}: {_REASONS.get(each.key, 'what follows from it is not known')}"
        for each in differences(before, now)
        if each.effect == "refused"
    ]
    if [each.name for each in before.factors] != [each.name for each in now.factors]:
        found.append(
            "factors: finished trials have no level of a factor that comes, and are not told apart by one that goes"
        )
    if not found and before.trial.traits.runs != now.trial.traits.runs:
        found.append(f"trial: {_SEVERAL_KINDS}")
    return tuple(found)


def _written(experiment: Experiment) -> Iterator[tuple[tuple[str, ...], str]]:
    yield from _flat((), tomlkit.parse(write_experiment(experiment)).unwrap())


def _flat(place: tuple[str, ...], value: object) -> Iterator[tuple[tuple[str, ...], str]]:
    if isinstance(value, dict) and (value or not place):
        for name, each in cast("dict[str, Any]", value).items():
            yield from _flat((*place, name), each)
    else:
        yield place, toml_value(cast("Value", value))
