"""Real packets over an emulated path that a calibration considers: its treatments run on this machine, one trial after the other."""

from __future__ import annotations

import contextlib
import dataclasses
import os
from collections.abc import Generator, Mapping, Sequence

from trialwise.errors import TrialError
from trialwise.experiment.model import Experiment, Level
from trialwise.experiment.trials import PathSettings
from trialwise.measurement.packets import Packets, read_packets
from trialwise.temporary import vanishing_folder
from trialwise.trials.base import TrialRequest
from trialwise.trials.path import PathKind
from trialwise.trials.path_plan import trial_of

_ATTEMPTS = 3
"""Trials of which the machine was too slow are not valid, and are run again so often."""


class RealPackets:
    """The flows of an experiment with real packets over other paths than its own."""

    def __init__(self, experiment: Experiment) -> None:
        self._experiment = dataclasses.replace(experiment, metrics=())
        self._kind = PathKind()

    def check(self, settings: PathSettings, factors: Sequence[Mapping[str, Level]]) -> None:
        """Raise PlanError if a path cannot be emulated here, or a scheme has no program or lacks something."""
        self._kind.check(self._over(settings), factors)

    def packets(self, settings: PathSettings, factors: Mapping[str, Level], seed: int) -> Packets:
        """Run one trial and return its packets, with times in seconds since the first flow's start.

        Raises
        ------
        TrialError
            The trial failed, or this machine was too slow for it each time.
        """
        reason = ""
        for attempt in range(1, _ATTEMPTS + 1):
            with vanishing_folder("trialwise-calibrate-") as scratch, _never() as cancel:
                request = TrialRequest(
                    experiment=self._over(settings),
                    factors=factors,
                    number=1,
                    attempt=attempt,
                    series=1,
                    round=1,
                    position=1,
                    seed=seed,
                    scratch=scratch,
                    marker=f"calibrate:{os.getpid()}",
                    cancel=cancel,
                )
                outcome = self._kind.execute(request)
                if outcome.status == "finished" and outcome.record is not None:
                    return read_packets(scratch / f"packets-1-{attempt}.parquet")
                reason = outcome.reason or outcome.status
        raise TrialError(
            f"real packets over the fitted path: {reason}",
            hint="calibrate without --real, or on a machine with less to do",
        )

    def _over(self, settings: PathSettings) -> Experiment:
        trial = dataclasses.replace(
            trial_of(self._experiment), path=settings, engine="emulated", packets="keep"
        )
        return dataclasses.replace(self._experiment, trial=trial)


@contextlib.contextmanager
def _never() -> Generator[int]:
    """Yield a descriptor that is never readable: Ctrl-C ends the process itself."""
    reads, writes = os.pipe()
    try:
        yield reads
    finally:
        os.close(reads)
        os.close(writes)
