"""Simulated trials that met the same flows: those of one round with the same topology and workload."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256

from trialwise.analysis.trial_set import TrialSet
from trialwise.experiment.model import Experiment, Level
from trialwise.experiment.placeholders import fill, names_in
from trialwise.late import pl


def flow_list_names(experiment: Experiment, levels: Mapping[str, Mapping[str, Level]]) -> Mapping[str, str]:
    """Name the source of each treatment's flow lists; treatments with the same name have the same flows in a round.

    `levels` are the levels of each treatment. The result is empty if topology or workload depends on anything else (a seed, a level
    sampled per trial), or if trials are not simulated.
    """
    texts = experiment.trial.workload_texts
    if not texts:
        return {}
    fixed = {factor.name for factor in experiment.fixed_factors}
    if not all(names_in(text) <= fixed for _, text in texts):
        return {}
    found: dict[str, str] = {}
    for treatment, own in levels.items():
        filled = repr([(key, fill(text, own)) for key, text in texts])
        found[treatment] = sha256(filled.encode()).hexdigest()[:12]
    return found


_FLOWS = "/flows "


def is_paired(trials: TrialSet) -> bool:
    """Return True if trials with the same flows have the same name; see `paired_by_round`."""
    return bool(trials.table["trial"].str.contains(_FLOWS, literal=True).any())


def paired_by_round(trials: TrialSet, names: Mapping[str, str]) -> TrialSet:
    """Give trials with the same flows the same name, so that treatments are compared in pairs (common random numbers).

    `names` come from `flow_list_names`. Nothing changes if no two treatments have the same flow lists.
    """
    several = {name for name in names.values() if list(names.values()).count(name) > 1}
    lists = {treatment: name for treatment, name in names.items() if name in several}
    if not lists:
        return trials
    workload = pl.col("treatment").replace_strict(lists, default=None, return_dtype=pl.String)
    origin = pl.col("trial").str.split("/").list.first()
    shared = pl.concat_str([origin, pl.lit(_FLOWS), workload, pl.lit("/"), pl.col("round")])
    unit = pl.coalesce(shared, pl.col("trial"))
    note = "trials of one round met the same flows: treatments are compared in pairs (--unpaired for the other way)"
    return trials.replaced(trials.table.with_columns(trial=unit, process=unit), note)
