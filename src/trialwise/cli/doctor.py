"""`trialwise doctor`."""

from __future__ import annotations

from dataclasses import asdict, fields
from typing import Literal

from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from trialwise import _linux
from trialwise.cli.output import print_json, results, stderr_console
from trialwise.errors import PlanError
from trialwise.measurement.disturbances import disturbances
from trialwise.measurement.documents import DoctorDocument, OptionalPart, PathCeilingDocument
from trialwise.measurement.environment import Environment, capture
from trialwise.numbers import as_given, decimals

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
    found = disturbances(environment)
    parts = optional_parts()
    if json:
        print_json(asdict(DoctorDocument(environment, found, parts)))
        return 0
    console = results()
    console.print(f"{_machine(environment)}\n", markup=False)
    if not found:
        console.print("nothing found that is known to disturb measurements")
    for one in found:
        console.print(f"{one.name}: {one.found}", style="bold", markup=False)
        undo = f"\n  undo    {one.undo}" if one.undo else ""
        console.print(f"  why     {one.why}\n  change  {one.change}{undo}\n", markup=False)
    for part in parts:
        console.print(_part(part), markup=False)
    return 0


def _path(*, json: bool) -> int:
    found = _measured()
    if json:
        names = (field.name for field in fields(PathCeilingDocument) if field.name != "format")
        print_json(asdict(PathCeilingDocument(**{name: getattr(found, name) for name in names})))
        return 0
    console = results()
    carried = (
        "not even the lowest rate tried" if found.rate is None else f"{as_given(found.rate / 1e6)} Mbit/s"
    )
    median, late = (decimals(each * 1e3, 3) for each in (found.delay_error_median, found.delay_error_p99))
    lines = {
        "link carried": f"{carried} with 28 ms each way ({round(found.goodput / 1e6)} Mbit/s of payload, one TCP connection)",
        "what limits it": found.limit or "nothing was found: no higher rate was tried",
        "without limits": f"{round(found.unrestricted / 1e6)} Mbit/s of payload",
        "small packets": f"{round(found.packets_per_second)} per second (100 bytes)",
        "error of delay": f"{median} ms median, {late} ms p99, idle path",
        "emulator": f"{'real-time' if found.realtime else 'ordinary'} priority, {found.device} devices",
    }
    for name, text in lines.items():
        console.print(f"{name:<15} {text}", markup=False)
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


def _part(part: OptionalPart) -> str:
    if part.version is not None:
        return f"{part.name}: {part.version} {part.found}"
    return f"{part.name}: {part.found}\n  why     {part.why}\n  change  {part.change}"


def _machine(environment: Environment) -> str:
    processor, machine, kernel = environment.processor, environment.machine, environment.kernel
    where = machine.container or machine.virtual_machine
    return (
        f"{processor.model or 'unknown CPU'}, {processor.cpus} CPUs on {processor.cores} cores, "
        f"Linux {kernel.release}, governor {processor.governor or 'unknown'}"
        + (f", inside {where}" if where else "")
    )
