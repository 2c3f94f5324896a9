"""`trialwise treatments`."""

from __future__ import annotations

from pathlib import Path

from trialwise.cli.output import print_json
from trialwise.cli.text import echo


def treatments(experiment: Path, /, *, json: bool = False) -> int:
    """List the treatments of an experiment file.

    For example:

    ```text
    trialwise treatments experiment.toml
    ```

    Exit codes: 0, or 2 where the file is wrong.

    Parameters
    ----------
    experiment
        The experiment file.
    json
        Print them as JSON.
    """
    from trialwise.design.treatments import treatments as treatments_of
    from trialwise.experiment.reading import read_experiment

    names = [one.name for one in treatments_of(read_experiment(experiment))]
    if json:
        print_json({"format": "trialwise.treatments/1", "treatments": names})
    else:
        echo("\n".join(names))
    return 0
