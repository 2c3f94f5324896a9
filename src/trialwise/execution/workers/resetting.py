"""Reset a worker: the same steps as here, and a reboot, which is confirmed by a new boot id."""

from __future__ import annotations

import select
import time
from collections.abc import Sequence
from pathlib import Path

from trialwise.errors import TrialError
from trialwise.execution.reset import CHECK_PAUSE, NO_NAMESPACE_THERE, reset_steps, wait_for_another_boot
from trialwise.execution.services.lifecycle import Services
from trialwise.execution.workers.remote import Remote
from trialwise.execution.workers.tasks import RemoteRun, Tasks
from trialwise.experiment.model import Experiment, Level, Reset
from trialwise.experiment.placeholders import fill
from trialwise.measurement.masking import Masks
from trialwise.store.records import TrialRow
from trialwise.trials.starting import ending
from trialwise.trials.surroundings import masked_run, secrets_of

REBOOT = ("sh", "-c", "reboot || sudo -n reboot")
ORDER_SECONDS = 10.0
"""Time in which the reboot command may report failure; after that, only the boot id counts."""


class RemoteReset:
    """One reset before one trial."""

    def __init__(
        self,
        remote: Remote,
        tasks: Tasks,
        experiment: Experiment,
        row: TrialRow,
        marker: str,
        cancel: int,
        services: Services,
    ) -> None:
        self._remote = remote
        self._tasks = tasks
        self._reset = experiment.reset or Reset()
        self._own = experiment.service_names
        self._services = services
        self._masks = Masks(secrets_of(experiment.trial))
        self._row = row
        self._marker = marker
        self._cancel = cancel
        self._key = f"reset-{row.number}.{row.attempt}"
        self._number = 0
        self._began = time.monotonic()
        self._values: dict[str, Level] = {
            **row.factors,
            "series": row.series,
            "round": row.round,
            "position": row.position,
            "trial": row.number,
            "seed": row.seed,
            "directory": remote.files,
        }

    def run(self) -> str | None:
        """Carry out the steps, the reboot and the check; return what went wrong, or None."""
        if self._reset.namespace:
            return NO_NAMESPACE_THERE
        for step in reset_steps(self._reset, Path(self._remote.files), self._values, self._own):
            if step.verb:
                problem = self._services.perform(step.verb, step.words[0], self._row, self._cancel)
            else:
                problem = self._problem(step.words)
            if problem:
                return f"{step.key}: {problem}; try: {step.hint}"
        if self._reset.reboot and (problem := self._reboot()):
            return problem
        return None if self._reset.check is None else self._await(self._reset.check)

    @property
    def _left(self) -> float:
        return max(self._began + self._reset.timeout - time.monotonic(), 0.0)

    def _command(self, words: Sequence[str], patience: float | None = None) -> RemoteRun | str:
        self._number += 1
        return self._tasks.command(
            f"{self._key}-{self._number}",
            words,
            marker=self._marker,
            timeout=max(self._left, 0.001),
            cancel=self._cancel,
            patience=patience,
            lasting=True,
        )

    def _problem(self, words: Sequence[str]) -> str | None:
        """Run a command there; return what went wrong, or None."""
        name = repr(" ".join(words[:1] if words[0] == "sh" else words))
        run = self._command(words)
        if isinstance(run, str):
            return f"{name}: {run}"
        if run.timed_out:
            return f"{name} took longer than the {self._reset.timeout:g} s of reset.timeout and was ended"
        return None if run.exit_code == 0 else f"{name} {ending(masked_run(run, self._masks))}"

    def _reboot(self) -> str | None:
        before = self._remote.look([]).clocks.boot
        run = self._command(REBOOT, patience=min(ORDER_SECONDS, self._left))
        # The missing result is as expected: the machine went down.
        if not isinstance(run, str) and run.exit_code:
            return f"reset.reboot: {ending(masked_run(run, self._masks))}; try: let the user reboot it (sudo -n reboot)"
        try:
            wait_for_another_boot(
                before,
                self._remote.boot_now,
                timeout=self._reset.timeout,
                began=self._began,
                sleep=self._sleep,
            )
        except TrialError as error:
            told = f" ({self._remote.why})" if self._remote.why else ""
            return f"{error.message}{told}; try: {error.hint}"
        return self._lost_folder()

    def _lost_folder(self) -> str | None:
        """Check that what was written before the reboot is there after it: then the files are, too."""
        self._remote.close()
        self._remote.look([])  # greets it again, and so finds out what it holds
        if any(key.startswith(f"{self._key}-") for key in self._remote.hello["keys"]):
            return None
        return (
            f"reset.reboot: {self._remote.folder} did not survive the reboot; "
            "try: name a folder on a disk with workers.folder"
        )

    def _sleep(self, seconds: float) -> None:
        if select.select([self._cancel], [], [], seconds)[0]:
            raise TrialError("reset.reboot: was not waited for on request", hint="run again to go on")

    def _await(self, check: Sequence[str]) -> str | None:
        words = [fill(word, self._values) for word in check]
        while (problem := self._problem(words)) is not None:
            if self._left <= CHECK_PAUSE:
                return (
                    f"reset.check: has not succeeded within the {self._reset.timeout:g} s of reset.timeout: {problem}; "
                    "try: run the reset and the check by hand, or raise reset.timeout"
                )
            if select.select([self._cancel], [], [], CHECK_PAUSE)[0]:
                return problem
        return None
