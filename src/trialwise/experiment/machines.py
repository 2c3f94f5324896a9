"""Sections [reset] and [workers]: how the machines of trials are prepared."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Annotated, Any, Literal

from trialwise.experiment.file.sections import ByShape, Section, Written, WrongValueError, key, table_of
from trialwise.experiment.file.values import (
    Argv,
    Commit,
    ContainerName,
    Duration,
    PositiveDuration,
    Service,
    Text,
    WorkerFolder,
    several,
)
from trialwise.experiment.placeholders import names_in
from trialwise.experiment.problems import Problems

_SYSTEM = {"bin", "boot", "dev", "etc", "lib", "lib32", "lib64", "proc", "sbin", "sys", "usr"}


def _emptied(path: str) -> str:
    """Refuse to empty a folder that does not clearly belong to the experiment.

    A relative folder must lie below the folder of the experiment, an absolute one at least three levels deep and outside system
    folders.
    """
    parts = PurePosixPath(path).parts
    hint = "name a folder below that of the experiment file, or a whole path to a folder for this alone"
    if names_in(path):
        raise WrongValueError("takes no {placeholder}: what is emptied stands in the file")
    if ".." in parts:
        raise WrongValueError(f"{path} leads out of where it begins", hint)
    if not parts:
        raise WrongValueError("is the folder of the experiment, which is not emptied", hint)
    if parts[0] == "~":
        raise WrongValueError("~ is not replaced by your home", hint)
    if parts[0] == "/" and (len(parts) < 4 or parts[1] in _SYSTEM):
        raise WrongValueError(f"{path} is not emptied: too much may stand in it", hint)
    return path


_Emptied = Annotated[str, Written(Text, _emptied)]


@dataclass(frozen=True, slots=True)
class FreshDirectory(Section):
    """A folder that a reset empties, and what it is filled from."""

    path: _Emptied = key(..., "The folder, relative to the experiment file.", "work")
    template: Text | None = key(None, "Folder whose contents are copied into it.", "database")


_Directory = Annotated[
    FreshDirectory,
    Written(
        Annotated[Any, ByShape(value=_Emptied, table=FreshDirectory)],
        lambda written: FreshDirectory(written) if isinstance(written, str) else written,
        lambda directory: table_of(directory) if directory.template else directory.path,
    ),
]


@dataclass(frozen=True, slots=True)
class Reset(Section):
    """What puts the machine back into a known state.

    It is done before every round, trial or series. The directory is emptied, then filled from its template; `check` must succeed
    afterwards. `timeout` and `settle` are in seconds, and the time to settle comes after the check.
    """

    directory: _Directory | None = key(
        None,
        "A folder that is emptied, and filled from a template where there is one.",
        "work",
        {"path": "work", "template": "database"},
    )
    service: Service | None = key(
        None, "A service that is restarted: one of this file, else one of systemd.", "memcached", filled=True
    )
    container: ContainerName | None = key(
        None,
        "A container of podman or docker that is restarted, with its processes ended.",
        "database",
        filled=True,
    )
    namespace: bool = key(
        False,
        "A namespace for trials, with empty /tmp, /var/tmp and /dev/shm and no process or shared memory of before.",
        True,
    )
    command: Argv | None = key(None, "Command line, split as a shell would.", "make clean", filled=True)
    drop_caches: bool = key(False, "Write out and drop the kernel's caches of files; needs root.", True)
    reboot: bool = key(False, "Reboot the worker, which must be one reached by ssh.", True)
    check: Argv | None = key(
        None,
        "Command that must succeed afterwards; tried again until the timeout.",
        "nc -z localhost 11211",
        filled=True,
    )
    every: Literal["round", "trial", "series"] = key("round", "Before what the machine is reset.", "trial")
    timeout: PositiveDuration = key(
        600.0, "A reset that takes longer, check included, has failed, and the run ends.", "60s"
    )
    settle: Duration = key(0.0, "Time to wait afterwards.", "5s")

    @property
    def text(self) -> str:
        """Describe the reset in one line."""
        parts = [
            f"fresh directory {self.directory.path}" if self.directory else "",
            f"restart of {self.service}" if self.service else "",
            f"restart of the container {self.container}" if self.container else "",
            "fresh namespace" if self.namespace else "",
            shlex.join(self.command or ()),
            "dropped caches" if self.drop_caches else "",
            "reboot" if self.reboot else "",
        ]
        return ", ".join(part for part in parts if part)


_RESETS = ("command", "service", "container", "directory", "drop_caches", "reboot", "namespace")


def check_reset(reset: Reset, problems: Problems) -> None:
    """Note a reset that resets nothing, or empties a folder that it must not."""
    if not any(getattr(reset, name) for name in _RESETS):
        problems.add(("reset",), "resets nothing", f"give at least one of {', '.join(_RESETS)}")


@dataclass(frozen=True, slots=True)
class Git(Section):
    """A repository that is cloned on workers, instead of sending files."""

    url: Text = key(..., "What git clones.", "https://example.org/benchmark.git")
    commit: Commit = key(
        ...,
        "The commit that is checked out, in hexadecimal digits.",
        "4f0c0b7d3e0c2d5a1e8f9b6a7c3d2e1f00a1b2c3",
    )


@dataclass(frozen=True, slots=True)
class Workers(Section):
    """The machines that trials run on; those beside "local" are reached by ssh.

    `use` names them, unless the command `allocate` does. `files` and `exclude` are patterns of what is sent, below the
    experiment's folder; what `git` names is cloned instead. `setup` runs once for what was sent. Times are in seconds.
    """

    use: Annotated[tuple[str, ...], several(Text, min_length=1)] = key(
        ("local",),
        "The workers: local, ssh://host, ssh://user@host:port; each runs the whole plan, in orders of its own.",
        ["ssh://me@node1", "ssh://me@node2:2222"],
    )
    files: Annotated[tuple[str, ...], several(Text)] = key(
        (),
        "Patterns of the files that are sent, below the experiment's folder; default all of them.",
        ["bench/**", "input.txt"],
    )
    exclude: Annotated[tuple[str, ...], several(Text)] = key(
        (), "Patterns of files that are not sent; results, .git and caches never are.", ["*.log"]
    )
    git: Git | None = key(
        None,
        "Clone a repository on the workers instead of sending files.",
        {
            "url": "https://example.org/benchmark.git",
            "commit": "4f0c0b7d3e0c2d5a1e8f9b6a7c3d2e1f00a1b2c3",
        },
    )
    setup: Argv | None = key(
        None,
        "Command run once on each worker, in the folder of what was sent, before its first trial.",
        "make -C bench",
    )
    setup_timeout: PositiveDuration = key(3600.0, "A setup that takes longer has failed.", "10min")
    allocate: Argv | None = key(
        None,
        "Command run here that prints the names of the workers; used instead of use.",
        "./testbed.sh get 4",
    )
    release: Argv | None = key(
        None,
        "Command run here after the run, also after a crash; $TRIALWISE_WORKERS names the workers.",
        "./testbed.sh put",
    )
    python: Text = key("python3", "Python 3.8 or newer on the workers.", "/opt/python/bin/python3")
    folder: WorkerFolder = key(
        "~/.trialwise",
        "Folder on the workers under which everything of ours stands.",
        "/scratch/me/trialwise",
    )
    reconnect: Duration = key(
        600.0, "How long a worker that was reached before is tried again until it counts as lost.", "1h"
    )
    heartbeat: PositiveDuration = key(
        30.0,
        "After so much silence a worker is asked whether it is there; shorter trials see no traffic.",
        "5min",
    )


def check_workers(workers: Workers, problems: Problems) -> None:
    """Note each key that is incompatible with another."""
    if workers.git is not None:
        for name in ("files", "exclude"):
            if problems.given(("workers", name)):
                problems.add(("workers", name), "does not go with git", "leave one of them out")
    if workers.allocate is not None and problems.given(("workers", "use")):
        problems.add(("workers", "use"), "does not go with allocate, which names the workers")
    if workers.release is not None and workers.allocate is None:
        problems.add(("workers", "release"), "only valid with allocate")
