"""The reset before a round or a trial: a command that puts the machine back into a known state."""

from __future__ import annotations

import os

from trialwise.errors import TrialError
from trialwise.experiment.model import Experiment
from trialwise.experiment.placeholders import fill
from trialwise.store.records import TrialRow
from trialwise.trials.base import MARKER
from trialwise.trials.starting import ending, start


def run_reset(experiment: Experiment, row: TrialRow, *, marker: str, cancel: int) -> str | None:
    """Run the reset command of the experiment; return what went wrong, or None.

    Its processes carry `marker`, and it is ended when the descriptor `cancel` becomes readable.
    """
    reset = experiment.reset
    if reset is None:
        return None
    values = {
        **row.factors,
        "series": row.series,
        "round": row.round,
        "position": row.position,
        "trial": row.number,
        "seed": row.seed,
        "directory": str(experiment.folder),
    }
    words = [fill(word, values) for word in reset.command]
    try:
        run = start(
            words,
            environment={**os.environ, MARKER: marker},
            directory=experiment.folder,
            timeout=reset.timeout,
            cancel=cancel,
        )
    except TrialError as error:
        return f"reset: {error.message}"
    if run.timed_out:
        return f"reset {words[0]!r} took longer than {reset.timeout:g} s and was ended"
    return None if run.exit_code == 0 else f"reset {words[0]!r} {ending(run)}"
