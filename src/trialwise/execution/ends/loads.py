"""Loads that name files, at an end of a real path: the files go along with the trial."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from trialwise.errors import TrialError
from trialwise.experiment.trials import PathSettings
from trialwise.trials.base import TrialRequest
from trialwise.trials.loads import Load
from trialwise.trials.path_plan import FlowPlan, listed

_LIST, _FRAMES = "flows.csv", "frames.txt"
MOST = 64 * 1024 * 1024
"""Bytes of a file that goes along."""


def load_at(
    plan: FlowPlan, folder: str, request: TrialRequest, settings: PathSettings
) -> tuple[Load, dict[str, str]]:
    """Return the load of a flow as its sender is told where it runs, and the texts of the files that it reads from its folder there.

    Raises
    ------
    TrialError
        No flow arrives, too many would, or a file cannot be read or is too large to go along.
    """
    drawn = request.scratch / f"flows-{request.number}-{request.attempt}-{plan.number}.csv"
    try:
        load = listed(plan, settings, request.seed, drawn)
        if load.flows is not None:
            text = _text_of(Path(load.amount))
            return dataclasses.replace(load, amount=f"{folder}/{_LIST}"), {_LIST: text}
        if load.frames is not None:
            here, there = (f"file={each}" for each in (load.frames.resolve(), f"{folder}/{_FRAMES}"))
            text = _text_of(load.frames)
            return dataclasses.replace(load, amount=load.amount.replace(here, there)), {_FRAMES: text}
        return load, {}
    finally:
        drawn.unlink(missing_ok=True)


def _text_of(file: Path) -> str:
    try:
        if file.stat().st_size > MOST:
            raise TrialError(f"{file} has more than {MOST >> 20} MB, which is too large to go along")
        return file.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise TrialError(f"{file}: {getattr(error, 'strerror', None) or error}") from error
