"""`trialwise status`."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from trialwise.cli.output import print_json, results
from trialwise.cli.spinner import StatusLine
from trialwise.cli.text import columns, show
from trialwise.experiment.quantity import duration_text
from trialwise.foreign_files import named
from trialwise.report.numbers import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console

    from trialwise.study import State


def status(directory: Path, /, *, json: bool = False) -> int:
    """Show how far an experiment is, while it runs and after.

    For example:

    ```text
    trialwise status compressors.results
    watch -n 5 trialwise status compressors.results
    ```

    Exit codes: 0, or 4 where trials have failed for good: a trial whose later attempt finished has not.

    Parameters
    ----------
    directory
        The experiment directory.
    json
        Print the state as JSON.
    """
    from trialwise import study

    with StatusLine(f"reading {named(directory)}") as patience:
        state = study.state(directory, patience.drawing, patience.going)
    if json:
        print_json(state.to_json())
    else:
        _show(state)
    return 4 if state.failed else 0


def _show(state: State) -> None:
    from trialwise.cli.claims import forecast_line, show_claims

    console = results()
    done, total = state.done, state.planned
    console.print(
        f"{state.name}: {done} of {total} trials have come to an end; {state.activity}", markup=False
    )
    stops = state.stopping
    if stops and stops.reason is None:
        console.print(forecast_line(stops), markup=False)
    elif state.left is not None and done < total and stops is None:
        console.print(f"at the pace so far the rest takes {duration_text(state.left)}", markup=False)
    _show_attempts(console, state)
    if state.stopping:
        show_claims(console, state.stopping)
    for line in worker_lines(state):
        console.print(line, markup=False)
    for node in state.nodes:
        cores = "gone" if not node.cores else f"{node.cores} core{'s' if node.cores > 1 else ''}"
        console.print(f"node {node.name}: {cores}, {node.done} trials computed in the last run", markup=False)
    for failure in state.failures:
        console.print(
            f"trial {failure.number}.{failure.attempt} {failure.treatment} {failure.status}: {failure.reason}",
            markup=False,
        )
    if resets := sum(event.is_routine for event in state.events):
        console.print(f"resets: {resets}", markup=False)
    for event in (event for event in state.events if not event.is_routine):
        moment = datetime.fromtimestamp(event.time, UTC).astimezone()
        console.print(f"{moment:%Y-%m-%d %H:%M:%S} {event.kind}: {event.text}", markup=False)


def _show_attempts(console: Console, state: State) -> None:
    """Print how many attempts of each treatment have which status."""
    attempts = sum(state.counts.values())
    if attempts > state.planned:
        console.print(
            f"these trials took {counted(attempts, 'attempt')}, which are counted below", markup=False
        )
    rare = [key for key in ("invalid", "running") if state.counts.get(key)]
    keys = ("finished", "failed", *rare, "abandoned", "planned")
    rows = [(name, *(str(counts.get(key, 0)) for key in keys)) for name, counts in state.treatments.items()]
    show(console, [columns([("treatment", *keys), *rows], indent=1)])


def worker_lines(state: State) -> Iterator[str]:
    """Say how far each worker is, what is missing of it, and what brings that back."""
    for worker in state.workers:
        hand = f", trial {worker.running[0]} in hand" if worker.running else ""
        missing = f" ({worker.missing})" if worker.left and not state.is_active else ""
        yield f"worker {worker.name}: {worker.done} trials done, {worker.left} left{missing}{hand}"
    names = [worker.name for worker in state.workers]
    waiting = [worker.name for worker in state.workers if worker.left]
    if waiting and not state.is_active:
        others = [name for name in names if name not in waiting]
        yield (
            f"what is left of {' and '.join(waiting)} is run when the worker is well again, by `trialwise run` as before; "
            f"another machine takes it over when it is named instead, as in --workers {','.join([*others, 'ssh://OTHER'])}: "
            "its rounds are a series of their own, since it is another machine"
        )
