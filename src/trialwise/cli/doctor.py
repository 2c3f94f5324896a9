"""`trialwise doctor`."""

from __future__ import annotations

from trialwise.cli.output import print_json, results
from trialwise.measurement.disturbances import disturbances
from trialwise.measurement.environment import capture


def doctor(*, json: bool = False) -> int:
    """Name what will disturb a measurement on this machine, and how to change it; changes nothing itself.

    Examples
    --------
        trialwise doctor
        trialwise doctor --json

    Exit code: 0, whatever is found.

    Parameters
    ----------
    json
        Print the findings as JSON.
    """
    environment = capture()
    found = disturbances(environment)
    if json:
        print_json(
            {
                "format": "trialwise.doctor/1",
                "environment": environment.to_json(),
                "disturbances": [one.to_json() for one in found],
            }
        )
        return 0
    console = results()
    console.print(f"{environment.summary()}\n", markup=False)
    if not found:
        console.print("nothing found that is known to disturb measurements")
    for one in found:
        console.print(f"{one.name}: {one.found}", style="bold", markup=False)
        console.print(f"  why     {one.why}\n  change  {one.change}\n  undo    {one.undo}\n", markup=False)
    return 0
