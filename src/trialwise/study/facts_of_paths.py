"""Facts about schemes and paths from outside an experiment directory."""

import contextlib

from trialwise.analysis.path.results import PathFacts, PathScheme, TreatmentPath
from trialwise.errors import PlanError
from trialwise.experiment.model import Experiment
from trialwise.experiment.trials import PathSettings, PathTrial, RealEnds, way_text
from trialwise.store.ledger import Ledger
from trialwise.trials.path_plan import NOWHERE, flow_plans, settings_of


def path_facts(experiment: Experiment, ledger: Ledger) -> PathFacts:
    """Return the schemes and paths of an experiment of kind path whose files exist; none for other kinds."""
    if not isinstance(experiment.trial, PathTrial):
        return PathFacts()
    schemes: dict[str, PathScheme] = {}
    paths: dict[str, TreatmentPath] = {}
    for row in ledger.present_trials():
        if row.treatment not in paths:
            values = dict(NOWHERE) | dict(row.factors)
            with contextlib.suppress(PlanError):
                paths[row.treatment] = _treatment_path(row.treatment, settings_of(experiment, values))
                found = (plan.scheme for plan in flow_plans(experiment, values))
                schemes |= {known.name: PathScheme(known.name, known.title, known.color) for known in found}
    return PathFacts(tuple(schemes.values()), tuple(paths.values()))


def _real_way(ends: RealEnds, one: str, other: str) -> str:
    known = "" if ends.clocks is not None else " (of the lowest round trip, half is taken for each way)"
    return f"real, {one} to {other}{known}"


def _treatment_path(treatment: str, settings: PathSettings) -> TreatmentPath:
    if (ends := settings.ends) is not None:
        ways = _real_way(ends, ends.sending, ends.receiving), _real_way(ends, ends.receiving, ends.sending)
    else:
        ways = way_text(settings.uplink), way_text(settings.downlink)
    return TreatmentPath(treatment, *ways, settings.mtu, settings.source)
