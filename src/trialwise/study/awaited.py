"""How far an experiment is, with what is known about the claims that it waits for, if there are any."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING

from trialwise.experiment.stopping import stops_by_itself
from trialwise.store.directory import ExperimentDirectory, latest
from trialwise.study.locating import frozen_experiment
from trialwise.study.standing import State
from trialwise.study.standing import state as state_of

if TYPE_CHECKING:
    from trialwise.analysis.progress import Progress
    from trialwise.study.documents import StoppingDocument
    from trialwise.trials.drawn_means import Watch


def state(path: Path, watch: Watch | None = None, told: Progress | None = None) -> State:
    """Report the progress of the experiment in a directory, while it runs or after. `watch` and `told` as in `analyse`."""
    return dataclasses.replace(state_of(path), stopping=awaited_claims(path, watch, told))


def awaited_claims(
    path: Path, watch: Watch | None = None, told: Progress | None = None
) -> StoppingDocument | None:
    """Report what is known about the claims an experiment waits for; None if the plan alone decides. Options as in `analyse`."""
    return awaited_in(ExperimentDirectory(latest(path)), watch, told)


def awaited_in(
    directory: ExperimentDirectory, watch: Watch | None = None, told: Progress | None = None
) -> StoppingDocument | None:
    """Report the same of the very directory."""
    ledger = directory.ledger()
    try:
        if not stops_by_itself(frozen_experiment(directory, ledger)):
            return None
    finally:
        ledger.close()
    from trialwise.study.stopping import stopping_document  # with it comes all that judges

    return stopping_document(directory, watch, told)
