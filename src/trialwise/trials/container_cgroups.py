"""A cgroup of ours around the container of a trial: it outlives the container, and says what ran inside has used.

Uses only the standard library and runs on Python 3.8, because it is also sent to workers.
"""

from __future__ import annotations

import contextlib
import glob
import hashlib
import os
import time
from typing import NamedTuple

from trialwise.trials.containers import Complaint, client_of, engine_of, said_by, starts_container

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

ROOT = "/sys/fs/cgroup"
"""Where cgroups are mounted."""
TOLD = "user, system and max_rss are those of the container's cgroup; max_rss is its peak of memory with page cache and kernel memory"
_QUESTIONS = {
    "podman": ("info", "--format={{.Host.CgroupManager}} rootless={{.Host.Security.Rootless}}"),
    "docker": ("info", "--format={{.CgroupDriver}} {{.SecurityOptions}}"),
}
_OPTIONS = {"podman": ("--cgroups=no-conmon",), "docker": ()}
"""Options beside `--cgroup-parent`: podman's monitor is not of the container."""
_OF_THE_USER = ("--cgroup-parent", "--cgroups", "--pod")
_CHOOSING = ("HOME", "XDG_", "CONTAINER", "DOCKER_")
"""Beginnings of the variables by which a client chooses its engine and its configuration."""
_REMOVAL_SECONDS = 2.0


class Used(NamedTuple):
    """CPU seconds and peak of memory in bytes of what ran in a container; `problem` says why they are not known."""

    user: float = 0.0
    system: float = 0.0
    max_rss: int | None = None
    problem: str | None = None


class Cgroup:
    """The cgroup that is the parent of the cgroup of a trial's container."""

    def __init__(self, name: str, engine: str, root: str = ROOT) -> None:
        self._name = name
        self._root = root
        self.options = (f"--cgroup-parent=/{name}", *_OPTIONS[engine])

    def used(self) -> Used:
        """Return what has run in it until now used."""
        try:
            found = _used(self._root, self._name)
        except (OSError, ValueError, KeyError):
            return Used(problem="the engine did not put it into the cgroup that it was given")
        if found.user + found.system <= 0:
            return Used(problem="nothing ran in the cgroup that the engine was given")
        return found

    def remove(self) -> None:
        """Remove it; whatever was in it has been ended."""
        _remove(self._root, self._name)


def cgroup_of(
    words: Sequence[str], marker: str, environment: Mapping[str, str], directory: str
) -> Cgroup | str | None:
    """Return the cgroup for the container that a command line starts, why it cannot have one, or None if it starts none."""
    client = client_of(words)
    if client is None or not starts_container(words):
        return None
    problem = why_unmeasured(words, environment, directory)
    experiment, _, trial = marker.partition(":")
    return problem or Cgroup(f"{_begin(experiment)}{trial}", str(engine_of(client[0])))


def used_in(cgroup: Cgroup | str | None) -> Used | None:
    """Return what ran in the container used, and remove its cgroup; None if there is no container."""
    if cgroup is None or isinstance(cgroup, str):
        return None if cgroup is None else Used(problem=cgroup)
    try:
        return cgroup.used()
    finally:
        cgroup.remove()


def why_unmeasured(words: Sequence[str], environment: Mapping[str, str], directory: str) -> str | None:
    """Say why what a container uses cannot be measured; None if it can. The engine is asked once in a process."""
    client = client_of(words) or []
    for word in words:
        if word.partition("=")[0] in _OF_THE_USER:
            return f"the command line has {word.partition('=')[0]}: leave it out"
    chosen = frozenset(each for each in environment.items() if each[0].startswith(_CHOOSING))
    key = tuple(client), chosen
    if key not in _answers:
        told = said_by([*client, *_QUESTIONS[str(engine_of(client[0]))]], environment, directory)
        if isinstance(told, Complaint):
            return f"how the engine makes cgroups cannot be told: {told}"
        _answers[key] = told
    return _why_not(client, _answers[key])


_answers: dict[tuple[tuple[str, ...], frozenset[tuple[str, str]]], str] = {}


def _why_not(client: Sequence[str], told: str) -> str | None:
    driver = told.partition(" ")[0]
    if "rootless=true" in told or "name=rootless" in told:
        return "a rootless engine may make no cgroup that outlives its container: run it as root"
    if driver != "cgroupfs":
        how = (
            "podman --cgroup-manager=cgroupfs run …"
            if engine_of(client[0]) == "podman"
            else '"exec-opts": ["native.cgroupdriver=cgroupfs"] in /etc/docker/daemon.json'
        )
        return f"its engine has {driver[:40]} make cgroups, which end with the container: {how}"
    return None


def remove_left(experiment: str) -> None:
    """Remove the cgroups that a killed runner left of an experiment, after its containers were ended."""
    for base in _hierarchies(ROOT):
        for path in glob.glob(os.path.join(base, f"{_begin(experiment)}*")):
            _remove(ROOT, os.path.basename(path))


def _begin(experiment: str) -> str:
    """Return how the names of the cgroups of an experiment begin."""
    return f"trialwise-{hashlib.sha256(experiment.encode()).hexdigest()[:16]}-"


def _hierarchies(root: str) -> Iterator[str]:
    """Yield where cgroups are below the root: there itself, and with version 1 in one folder for each controller."""
    yield root
    with contextlib.suppress(OSError):
        yield from (each.path for each in os.scandir(root) if each.is_dir(follow_symlinks=False))


def _used(root: str, name: str) -> Used:
    """Read the counts of a cgroup; see cgroup-v2.rst and cgroup-v1/{cpuacct,memory}.rst of the kernel's documentation."""
    if os.path.exists(os.path.join(root, "cgroup.controllers")):
        text = _text(root, name, "cpu.stat")
        counts = dict(line.split() for line in text.splitlines())
        user, system = int(counts["user_usec"]) / 1e6, int(counts["system_usec"]) / 1e6
        return Used(user, system, _peak(root, name, "memory.peak"))
    total, user, system = (
        int(_text(root, "cpuacct", name, f"cpuacct.{count}")) / 1e9
        for count in ("usage", "usage_user", "usage_sys")
    )
    # The sum is exact, while the parts are counted in ticks: they only say in which proportion it is to be split.
    share = user / (user + system) if user + system > 0 else 1.0
    return Used(total * share, total * (1 - share), _peak(root, "memory", name, "memory.max_usage_in_bytes"))


def _peak(*place: str) -> int | None:
    """Return a peak of memory; None where the kernel keeps none (memory.peak: Linux 5.19)."""
    try:
        return int(_text(*place))
    except OSError:
        return None


def _text(*place: str) -> str:
    with open(os.path.join(*place)) as file:
        return file.read()


def _remove(root: str, name: str) -> None:
    """Remove a cgroup with those below it from all hierarchies; what still ends in it is waited for."""
    deadline = time.monotonic() + _REMOVAL_SECONDS
    for base in _hierarchies(root):
        path = os.path.join(base, name)
        while os.path.isdir(path):
            for folder, _, _ in os.walk(path, topdown=False):
                with contextlib.suppress(OSError):
                    os.rmdir(folder)
            if time.monotonic() > deadline:
                break
            time.sleep(0.005)
