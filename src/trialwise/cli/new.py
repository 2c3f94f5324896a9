"""`trialwise new`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from trialwise.cli.text import echo
from trialwise.errors import PlanError, is_full, not_written
from trialwise.exchange.ordersage import experiment_text, read_ordersage
from trialwise.experiment.option_words import levels_of
from trialwise.experiment.reading import parse_experiment
from trialwise.experiment.simulation_template import simulation_template
from trialwise.experiment.template import template, usable_name

DEFAULT = Path("experiment.toml")
_Repeated = Parameter(negative="", consume_multiple=False)


def new(
    file: Path = DEFAULT,
    /,
    *,
    command: str | None = None,
    factor: Annotated[list[str] | None, _Repeated] = None,
    metric: Annotated[list[str] | None, _Repeated] = None,
    from_ordersage: Path | None = None,
    commands: Path | None = None,
    simulation: Annotated[bool, Parameter(negative="")] = False,
) -> int:
    r"""Write an experiment file to start from.

    Without options it holds a small experiment that runs as it is: Python's zlib at three levels.

    For example:

    ```text
    trialwise new
    trialwise new sleep.toml --command 'sleep {time}' --factor time=0.1,0.2
    trialwise new ping.toml --command 'ping -c {count} localhost' \
        --factor count=1,5 --metric 'rtt== [0-9.]+/([0-9.]+)/'
    trialwise new --from-ordersage ~/ordersage
    trialwise new dumbbell.toml --simulation
    ```

    Exit codes: 0 written; 2 wrong options, or the file is there already.

    Parameters
    ----------
    file
        The file to write; one that exists is left as it is.
    command
        Command line of a trial, with {factor} where a level goes.
    factor
        A factor and its levels, NAME=LEVEL,LEVEL,…; may be repeated.
    metric
        A metric and the regular expression with one group that finds it in the output, NAME=REGEX; may be repeated.
    from_ordersage
        Folder with OrderSage's config.py and the script that prints the test commands; both are read, neither is run.
    commands
        For --from-ordersage: a file with what that script prints, where reading it is not enough.
    simulation
        Two congestion controls of data centres, simulated packet by packet until completion times are known.
    """
    if simulation and (command or factor or metric or from_ordersage or commands):
        raise PlanError("--simulation takes no other option", hint="leave it out, or the others")
    if from_ordersage is not None:
        if command or factor or metric:
            raise PlanError("--from-ordersage takes no --command, --factor or --metric")
        return _written(file, experiment_text(read_ordersage(from_ordersage, commands), file))
    if commands is not None:
        raise PlanError("--commands is only valid with --from-ordersage")
    if command is None and (factor or metric):
        raise PlanError("--factor and --metric go with --command", hint="--command 'CMD {factor}'")
    name = usable_name(file.resolve().parent.name if file.name == DEFAULT.name else file.stem)
    if simulation:
        return _written(file, simulation_template(name))
    levels = {key: levels_of(text) for key, text in _pairs("--factor", factor).items()}
    text = template(name, command=command, factors=levels, metrics=_pairs("--metric", metric))
    return _written(file, text)


def _written(file: Path, text: str) -> int:
    parse_experiment(text, file)
    _write(file, text)
    echo(f"wrote {file}\nnext: trialwise plan {file}  ·  trialwise run {file}")
    return 0


def _pairs(option: str, texts: Sequence[str] | None) -> Mapping[str, str]:
    found: dict[str, str] = {}
    for text in texts or ():
        name, sign, value = text.partition("=")
        if not sign or not name or name in found:
            problem = "stands twice" if name in found else "is not NAME=VALUE"
            raise PlanError(f"{option} {text}: {problem}")
        found[name] = value
    return found


def _write(file: Path, text: str) -> None:
    try:
        with file.open("x", encoding="utf-8") as target:
            target.write(text)
    except FileExistsError as error:
        raise PlanError(f"{file}: exists, and is left as it is", hint="name another file") from error
    except OSError as error:
        if is_full(error):  # half of it is there
            file.unlink(missing_ok=True)
        raise not_written(file, error, kind=PlanError) from error
