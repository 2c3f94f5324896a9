"""`trialwise doctor`."""

from __future__ import annotations

from dataclasses import asdict

from trialwise.cli.output import print_json, results
from trialwise.measurement.disturbances import disturbances
from trialwise.measurement.documents import DoctorDocument
from trialwise.measurement.environment import Environment, capture


def doctor(*, json: bool = False) -> int:
    """Name what will disturb a measurement on this machine, and how to change it; changes nothing itself.

    For example:

    ```text
    trialwise doctor
    trialwise doctor --json
    ```

    Exit code: 0, whatever is found.

    Parameters
    ----------
    json
        Print the findings as JSON.
    """
    environment = capture()
    found = disturbances(environment)
    if json:
        print_json(asdict(DoctorDocument(environment, found)))
        return 0
    console = results()
    console.print(f"{_machine(environment)}\n", markup=False)
    if not found:
        console.print("nothing found that is known to disturb measurements")
    for one in found:
        console.print(f"{one.name}: {one.found}", style="bold", markup=False)
        undo = f"\n  undo    {one.undo}" if one.undo else ""
        console.print(f"  why     {one.why}\n  change  {one.change}{undo}\n", markup=False)
    return 0


def _machine(environment: Environment) -> str:
    processor, machine, kernel = environment.processor, environment.machine, environment.kernel
    where = machine.container or machine.virtual_machine
    return (
        f"{processor.model or 'unknown CPU'}, {processor.cpus} CPUs on {processor.cores} cores, "
        f"Linux {kernel.release}, governor {processor.governor or 'unknown'}"
        + (f", inside {where}" if where else "")
    )
