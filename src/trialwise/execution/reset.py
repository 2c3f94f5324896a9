"""The reset before a round, a trial or a series, which puts the machine into a known state.

Every reset is a list of commands (`reset_steps`), so that a worker reached only by ssh can run the same ones.
"""

from __future__ import annotations

import os
import select
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Literal

from trialwise.errors import PlanError, TrialError
from trialwise.execution.namespaces import NAMESPACE_HINT, FreshNamespace, hides
from trialwise.execution.services.lifecycle import Services
from trialwise.experiment.model import Experiment, FreshDirectory, Level, Reset
from trialwise.experiment.placeholders import fill
from trialwise.measurement.file_identity import NamedFile
from trialwise.measurement.masking import Masks
from trialwise.measurement.programs import files_beside
from trialwise.store.records import TrialRow
from trialwise.trials.command import nowhere
from trialwise.trials.marked import MARKER
from trialwise.trials.starting import ending, start_beside
from trialwise.trials.surroundings import masked_run, secrets_of

MAX_OF_A_TEMPLATE = 1000
"""Maximum number of files and folders of a template that are compared."""
CHECK_PAUSE = 0.25
"""Seconds between two attempts at the check."""

NO_NAMESPACE_THERE = "reset.namespace: does not work on workers reached by ssh"
_DROP = "sync && echo 3 > /proc/sys/vm/drop_caches"
# Follow no symbolic links and enter no file systems mounted below: only what the file names is emptied.
_EMPTY = """
[ "$(realpath -m -- "$0")" = "$0" ] || { echo "goes through a symbolic link: name $(realpath -m -- "$0")" >&2; exit 1; }
mkdir -p -- "$0" && find "$0" -xdev -mindepth 1 -delete"""
# systemd.exec(5): a service has a new invocation ID each time it is started; versions before 232 report none.
_START = """
invocation() { systemctl show --property=InvocationID --value -- "$1"; }
before=$(invocation "$1")
systemctl "$0" -- "$1" || exit
if [ -n "$before" ] && [ "$(invocation "$1")" = "$before" ]; then
    echo "$1 was not started again: its invocation is still $before" >&2
    exit 1
fi"""
# Docker and podman say when a container was started; the same moment means that it was not started again.
_RESTART = (
    f"unset {MARKER}"
    """
for engine in podman docker; do
    command -v "$engine" >/dev/null && "$engine" container inspect "$0" >/dev/null 2>&1 && break
    engine=
done
[ -n "$engine" ] || { echo "neither podman nor docker has a container $0" >&2; exit 1; }
started() { "$engine" container inspect --format "{{.State.StartedAt}} {{.State.Running}}" "$0"; }
before=$(started)
"$engine" restart --time 2 "$0" >/dev/null || exit
after=$(started)
case $after in
    "$before" | *false) echo "$0 was not started again, or has ended: $after" >&2; exit 1 ;;
esac"""
)
_COPY = """ && cp -a -- "$1/." "$0/" """


@dataclass(frozen=True, slots=True)
class ResetStep:
    """One command of a reset: the key of the file that requests it, and what to try if it fails.

    A step without words is a namespace; one with a `verb` stops or starts a service of the experiment, whose name is its word.
    """

    key: str
    words: tuple[str, ...]
    hint: str
    verb: Literal["", "stop", "start"] = ""


def is_due(reset: Reset | None, before: TrialRow | None, row: TrialRow) -> bool:
    """Return True if the reset comes before `row`; `before` is what this session ran last, None for nothing yet.

    A session begins in an unknown state, so a reset always precedes its first trial.
    """
    if reset is None:
        return False
    if before is None or reset.every == "trial" or row.series != before.series:
        return True
    return reset.every == "round" and (row.round, row.warmup) != (before.round, before.warmup)


def reset_steps(
    reset: Reset, folder: Path, values: Mapping[str, Level], own: Collection[str] = ()
) -> tuple[ResetStep, ...]:
    """Return the commands of a reset except reboot and check: directory, service, container, namespace (no words), command, caches.

    A service whose data are in the directory is stopped before and started after. `folder` is that of the experiment
    on the machine where they run, without symbolic links; `values` fills the placeholders, and `own` names the services of the
    experiment itself; others are of systemd.
    """
    service = None if reset.service is None else fill(reset.service, values)
    steps: list[ResetStep] = []
    if service and (reset.directory or service in own):
        steps.append(_service("stop", service, own))
    if reset.directory:
        steps.append(_fresh_directory(reset.directory, folder))
    if service:
        steps.append(_service("start" if reset.directory or service in own else "restart", service, own))
    if reset.container:
        steps.append(_restarted_container(fill(reset.container, values)))
    if reset.namespace:
        steps.append(ResetStep("reset.namespace", (), NAMESPACE_HINT))
    if reset.command:
        words = tuple(fill(word, values) for word in reset.command)
        steps.append(
            ResetStep("reset.command", words, "run it by hand, in the folder of the experiment file")
        )
    if reset.drop_caches:
        hint = (
            "drop_caches needs root and a /proc/sys that can be written: run as root, outside of a container"
        )
        steps.append(ResetStep("reset.drop_caches", ("sh", "-c", _DROP), hint))
    return tuple(steps)


def reset_files(experiment: Experiment, factors: Sequence[Mapping[str, Level]]) -> Iterator[NamedFile]:
    """Name the files that a reset runs and reads: those of its command and its check, and its template.

    `factors` holds one mapping for each treatment.
    """
    reset, folder = experiment.reset, experiment.folder
    if reset is None:
        return
    for _, words in dict.fromkeys(reset_commands(experiment, factors)):
        yield from files_beside(words, folder, {})
    if reset.directory and reset.directory.template:
        inside = (folder / reset.directory.template).rglob("*")
        yield from (NamedFile(path, "input") for path in islice(inside, MAX_OF_A_TEMPLATE) if path.is_file())


def reset_commands(
    experiment: Experiment, factors: Sequence[Mapping[str, Level]]
) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the commands of a reset in the file, each under its key and with its placeholders filled in."""
    reset = experiment.reset
    if reset is None:
        return
    for key, command in (("reset.command", reset.command), ("reset.check", reset.check)):
        for values in factors if command else ():
            filled = nowhere() | dict(values)
            yield key, tuple(fill(word, filled) for word in command or ())


def run_reset(
    experiment: Experiment,
    row: TrialRow,
    namespace: FreshNamespace,
    services: Services,
    *,
    marker: str,
    cancel: int,
) -> str | None:
    """Reset the machine; return what went wrong, or None.

    Its processes carry `marker`, and it is given up when the descriptor `cancel` becomes readable. The reset's timeout covers all
    of it, including the check. If the reset requests a fresh `namespace`, its command and its check run in it.
    """
    reset = experiment.reset
    if reset is None:
        return None
    deadline = time.monotonic() + reset.timeout
    masks = Masks(secrets_of(experiment.trial))
    run = _Run(experiment.folder, reset.timeout, deadline, {**os.environ, MARKER: marker}, cancel, masks)
    values = _values(experiment, row)
    for step in reset_steps(reset, experiment.folder, values, experiment.service_names):
        if step.verb:
            problem = services.perform(step.verb, step.words[0], row, cancel)
        else:
            problem = run.problem(step.words) if step.words else run.enter(namespace)
        if problem:
            return f"{step.key}: {problem}; try: {step.hint}"
    return None if reset.check is None else run.await_success([fill(word, values) for word in reset.check])


def check_reset(experiment: Experiment, results: Path) -> None:
    """Check before anything runs that this machine can be reset as requested; `results` is the experiment's directory.

    Raises
    ------
    PlanError
        The reset would reboot the runner's own machine, needs systemd or root, or a directory must not be emptied.
    """
    reset = experiment.reset
    if reset is None:
        return
    if reset.reboot:
        raise PlanError(
            "reset.reboot: would end the runner, which is on this machine",
            hint="give workers that are reached by ssh (--workers ssh://user@host), or another reset",
        )
    if (
        reset.service
        and reset.service not in experiment.service_names
        and not Path("/run/systemd/system").is_dir()
    ):
        raise PlanError(
            f"reset.service: systemd does not run on this machine, so it cannot restart {reset.service}",
            hint="declare it: [service.NAME] is started, restarted and ended by Trialwise itself",
        )
    if reset.drop_caches and os.geteuid() != 0:
        raise PlanError("reset.drop_caches: needs root", hint="run as root, or leave it out")
    if reset.directory:
        _check_directory(reset.directory, experiment.folder, results)
    if reset.namespace:
        _check_namespace(experiment, results)


def refuse_on_workers(experiment: Experiment) -> None:
    """Raise PlanError if the reset works on this machine only."""
    if experiment.reset is not None and experiment.reset.namespace:
        raise PlanError(
            NO_NAMESPACE_THERE, hint="leave it out there (reboot is for them), or run with --workers local"
        )


def wait_for_another_boot(
    before: str,
    read_boot_id: Callable[[], str | None],
    *,
    timeout: float,
    began: float | None = None,
    now: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
    pause: float = 1.0,
) -> str:
    """Wait until a machine that was told to reboot has really done so, and return its new boot id.

    Parameters
    ----------
    before
        The boot id (``/proc/sys/kernel/random/boot_id``) before the reboot.
    read_boot_id
        Reads it; returns None while the machine cannot be reached.
    timeout
        Seconds after which to give up, from `began` (by the clock `now`; default: from now).
    now, sleep, pause
        The clock, how to wait, and seconds between two attempts.

    Raises
    ------
    TrialError
        The machine did not come back in time, or never went down.
    """
    deadline = (now() if began is None else began) + timeout
    found: str | None = before
    while now() < deadline:
        found = read_boot_id()
        if found not in {None, "", before}:
            return str(found)
        sleep(pause)
    if found == before:
        raise TrialError(
            f"reset.reboot: the machine has not rebooted within {timeout:g} s: its boot id is still {before}",
            hint="look whether the user may reboot it (sudo -n reboot)",
        )
    raise TrialError(
        f"reset.reboot: the machine has not come back within {timeout:g} s", hint="raise reset.timeout"
    )


@dataclass(slots=True)
class _Run:
    """The commands of one reset, which share its time."""

    folder: Path
    timeout: float
    deadline: float
    environment: Mapping[str, str]
    cancel: int
    masks: Masks
    namespace_pid: int | None = None

    @property
    def left(self) -> float:
        return self.deadline - time.monotonic()

    def enter(self, namespace: FreshNamespace) -> str | None:
        """Renew the namespace; later commands run in it."""
        problem = namespace.renew(self.environment, self.deadline, self.cancel)
        self.namespace_pid = namespace.first
        return problem

    def problem(self, words: tuple[str, ...] | list[str]) -> str | None:
        """Run a command; return what went wrong, or None."""
        name = repr(" ".join(words[:1] if words[0] == "sh" else words))
        try:
            run = start_beside(
                words,
                environment=self.environment,
                directory=self.folder,
                timeout=max(0.0, self.left),
                cancel=self.cancel,
                namespace_pid=self.namespace_pid,
            )
        except TrialError as error:
            return error.message
        if run.timed_out:
            return f"{name} took longer than the {self.timeout:g} s of reset.timeout and was ended"
        return None if run.exit_code == 0 else f"{name} {ending(masked_run(run, self.masks))}"

    def await_success(self, words: list[str]) -> str | None:
        """Run the check until it succeeds, the time is over, or the reset is given up."""
        while (problem := self.problem(words)) is not None:
            if self.left <= CHECK_PAUSE:
                return (
                    f"reset.check: has not succeeded within the {self.timeout:g} s of reset.timeout: {problem}; "
                    "try: run the reset and the check by hand, or raise reset.timeout"
                )
            if select.select([self.cancel], [], [], CHECK_PAUSE)[0]:
                return problem
        return None


def _values(experiment: Experiment, row: TrialRow) -> dict[str, Level]:
    return {
        **row.factors,
        "series": row.series,
        "round": row.round,
        "position": row.position,
        "trial": row.number,
        "seed": row.seed,
        "directory": str(experiment.folder),
    }


def _service(verb: Literal["stop", "start", "restart"], service: str, own: Collection[str]) -> ResetStep:
    if service in own and verb != "restart":
        return ResetStep("reset.service", (service,), "look at its output in logs", verb)
    hint = f"systemctl status {service}; journalctl -u {service}"
    words = ("systemctl", verb, "--", service) if verb == "stop" else ("sh", "-c", _START, verb, service)
    return ResetStep("reset.service", words, hint)


def _restarted_container(name: str) -> ResetStep:
    """Restart a container that runs on afterwards: its monitor carries no marker, by which the reset's processes are ended."""
    hint = f"podman ps --all, or docker ps --all; restart {name} by hand"
    return ResetStep("reset.container", ("sh", "-c", _RESTART, name), hint)


def _fresh_directory(directory: FreshDirectory, folder: Path) -> ResetStep:
    words = [str(folder / directory.path)]
    script = _EMPTY
    if directory.template:
        script += _COPY
        words.append(str(folder / directory.template))
    hint = "look who owns it, and whether something is mounted below it"
    return ResetStep("reset.directory", ("sh", "-c", script, *words), hint)


def _check_directory(directory: FreshDirectory, folder: Path, results: Path) -> None:
    path, template = Path(os.path.realpath(folder / directory.path)), directory.template
    home = Path.home()
    kept = {"the folder of the experiment": folder, "the experiment directory": results, "your home": home}
    kept["the current folder"] = Path.cwd()
    if template:
        kept["its template"] = folder / template
    for what, place in kept.items():
        inner = Path(os.path.realpath(place))
        if inner == path or path in inner.parents:
            raise PlanError(
                f"reset.directory: emptying {path} would delete {what}", hint="name a folder for this alone"
            )
    if template and not (folder / template).is_dir():
        raise PlanError(f"reset.directory.template: {folder / template} is not a directory")
    if path.exists() and not path.is_dir():
        raise PlanError(f"reset.directory: {path} is not a directory")
    if inside := [mount for mount in _mount_points() if mount == path or path in mount.parents]:
        raise PlanError(
            f"reset.directory: {inside[0]} is mounted there, and mounted file systems are not emptied",
            hint="name a folder below it, or unmount it",
        )


def _check_namespace(experiment: Experiment, results: Path) -> None:
    if experiment.trial.traits.own_namespaces:
        raise PlanError(
            "reset.namespace: an emulated path has namespaces of its own, fresh in every trial",
            hint="leave it out",
        )
    for what, path in (("experiment file", experiment.folder), ("experiment directory", results)):
        if place := hides(path):
            raise PlanError(
                f"reset.namespace: the {what} stands in {place}, which would be empty",
                hint="put it into another folder",
            )


def _mount_points() -> list[Path]:
    try:
        lines = Path("/proc/self/mountinfo").read_text().splitlines()
    except OSError:
        return []
    return [Path(line.split()[4].encode().decode("unicode_escape")) for line in lines]
