"""The reset before a round or a trial: a command that puts the machine back into a known state."""

from __future__ import annotations

import subprocess
import time

from trialwise.experiment.model import Experiment
from trialwise.experiment.placeholders import fill
from trialwise.store.records import TrialRow


def run_reset(experiment: Experiment, row: TrialRow) -> str | None:
    """Run the reset command of the experiment; return what went wrong, or None."""
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
    }
    command = [fill(word, {**values, "directory": str(experiment.folder)}) for word in reset.command]
    try:
        done = subprocess.run(
            command,
            cwd=experiment.folder,
            timeout=reset.timeout,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            start_new_session=True,
        )
    except subprocess.TimeoutExpired:
        return f"reset {command[0]!r} took longer than {reset.timeout:g} s"
    except OSError as error:
        return f"reset {command[0]!r} cannot be started: {error.strerror}"
    if done.returncode != 0:
        return f"reset {command[0]!r} ended with {done.returncode}: {done.stderr.decode(errors='replace').strip()[-500:]}"
    time.sleep(reset.settle)
    return None
