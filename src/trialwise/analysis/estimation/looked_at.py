"""Notes on estimates at which a rule looked to decide the number of trials."""

from __future__ import annotations

from trialwise.experiment.model import Experiment
from trialwise.experiment.stopping import goals, is_monitored
from trialwise.rules import RULES


def looks_harm(experiment: Experiment) -> bool:
    """Return True if the rule that looks does not hold its level; the others adjust for their looks."""
    return bool(RULES[experiment.design.looks].warning)


def looked_at_note(experiment: Experiment) -> str:
    """Say that intervals of all trials ignore the rule that ended the run, and which ones account for it; empty if none looked.

    It includes the simulated coverage of CCEval's rule.
    """
    looks = experiment.design.looks
    if not any(is_monitored(goal, experiment.design) for goal in goals(experiment)):
        return ""
    text = (
        f'looks at these estimates said when to stop (looks = "{looks}"): intervals of all trials, as here, are made for a number '
        "fixed before; those at the looks stand with the claims (`trialwise status`)"
    )
    rule = RULES[looks]
    return f"{text}. {rule.name}: {rule.warning}" if rule.warning else text
