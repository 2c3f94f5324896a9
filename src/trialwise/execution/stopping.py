"""When to stop before the plan is used up: rules are objects that the caller passes to the runner."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Protocol

from trialwise.errors import PlanError
from trialwise.execution.events import RunEvent, StoppingOutlook, TreatmentsSkipped, TrialEnded, TrialRecalled
from trialwise.experiment.model import Experiment
from trialwise.measurement.samples import Samples
from trialwise.store.records import TrialRow


class StoppingRule(Protocol):
    """A rule that is asked before each round.

    A rule that decides by results is also an observer (`events.Observer`): it receives `TrialRecalled` for what earlier sessions
    finished, then `TrialEnded` for each trial.
    """

    def reason_to_stop(self, upcoming: TrialRow) -> str | None:
        """Return why the round of `upcoming` need not be run, or None."""
        ...


class RunThePlan:
    """The rule of fixed sizes: never stop before the plan is used up."""

    def reason_to_stop(self, upcoming: TrialRow) -> str | None:  # noqa: ARG002
        """Return None: the plan decides."""
        return None


def refuse_partial(experiment: Experiment, only: Sequence[str]) -> None:
    """Raise PlanError if only some treatments are requested: the stopping rule waits for results of all."""
    if only:
        raise PlanError(
            f"{experiment.name}: --only leaves treatments out, and the experiment ends when something is known of each",
            hint="run all of them, or leave `stop` out of the file",
        )


def refuse_several(workers: Sequence[str]) -> None:
    """Raise PlanError for several workers: each is a separate machine, and few machines decide nothing about others."""
    if len(workers) > 1:
        raise PlanError(
            f"an experiment that stops by itself runs on one worker; there are {len(workers)}",
            hint="name one with --workers, or leave `stop` out of the file and give rounds and series",
        )


class StoppingMonitor(Protocol):
    """Decides from results whether there are enough of them."""

    def add_time(self, row: TrialRow, started: float | None, finished: float | None) -> None:
        """Take in when a trial ran, whatever its outcome."""
        ...

    def add(self, row: TrialRow, samples: Mapping[str, Samples]) -> None:
        """Take in what a finished trial reported."""
        ...

    def skip(self, treatments: Collection[str]) -> None:
        """Wait for nothing about these treatments, which do not run, and for all else."""
        ...

    def outlook(self, upcoming: TrialRow) -> tuple[str | None, int | None, tuple[str, ...], bool]:
        """Return why to stop before the round of `upcoming`, the expected total of trials, what is open, and whether a pilot runs."""
        ...


class StopByResults:
    """The rule that passes every trial to a monitor, and asks it; `tell` receives the outlook before each round."""

    def __init__(self, judge: StoppingMonitor, tell: Callable[[RunEvent], None]) -> None:
        self._judge = judge
        self._tell = tell

    def notice(self, event: RunEvent) -> None:
        """Take in the trials of this session and earlier ones."""
        if isinstance(event, TrialRecalled):
            self._judge.add_time(event.row, event.row.started, event.row.finished)
            self._judge.add(event.row, event.samples())
        elif isinstance(event, TrialEnded):
            self._judge.add_time(event.row, event.outcome.started, event.outcome.finished)
            if event.outcome.status == "finished":
                self._judge.add(event.row, event.outcome.samples)
        elif isinstance(event, TreatmentsSkipped):
            self._judge.skip(event.treatments)

    def reason_to_stop(self, upcoming: TrialRow) -> str | None:
        """Ask the monitor."""
        reason, total, texts, pilot = self._judge.outlook(upcoming)
        self._tell(StoppingOutlook(total, texts, pilot))
        return reason
