"""`trialwise doctor`."""

from __future__ import annotations

from dataclasses import asdict, fields
from typing import Literal

from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from trialwise import _linux
from trialwise.cli.output import print_json, stderr_console
from trialwise.cli.text import say_document
from trialwise.errors import PlanError
from trialwise.measurement.disturbances import disturbances
from trialwise.measurement.documents import DoctorDocument, PathCeilingDocument
from trialwise.measurement.environment import capture

_SECONDS = 20.0


def doctor(topic: Literal["path"] | None = None, /, *, json: bool = False) -> int:
    """Name what will disturb a measurement on this machine, and how to change it; changes nothing itself.

    At the end it says which optional parts are there, and how to get the others.

    `doctor path` measures in 20 s what emulated paths this machine carries: rate, packets per second, error of delay.

    For example:

    ```text
    trialwise doctor
    trialwise doctor path
    trialwise doctor --json
    ```

    Exit codes: 0, whatever is found; 2 where no path can be made here.

    Parameters
    ----------
    topic
        What to look at: nothing for the machine as a whole, or path.
    json
        Print the findings as JSON.
    """
    if topic == "path":
        return _path(json=json)
    from trialwise.study.optional_parts import optional_parts

    environment = capture()
    found = DoctorDocument(environment, disturbances(environment), optional_parts())
    if json:
        print_json(asdict(found))
    else:
        from trialwise.report.documents.doctor import document

        say_document(document(found))
    return 0


def _path(*, json: bool) -> int:
    measured = _measured()
    names = (field.name for field in fields(PathCeilingDocument) if field.name != "format")
    found = PathCeilingDocument(**{name: getattr(measured, name) for name in names})
    if json:
        print_json(asdict(found))
    else:
        from trialwise.report.documents.doctor import path_document

        say_document(path_document(found))
    return 0


def _measured() -> _linux.Ceiling:
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TimeRemainingColumn(),
        console=stderr_console(),
        transient=True,
    ) as bar:
        task = bar.add_task("", total=1.0)
        try:
            return _linux.measure_ceiling(
                _SECONDS, lambda stage, share: bar.update(task, description=stage, completed=share)
            )
        except OSError as error:
            raise PlanError(f"no path can be made here: {error}") from error
