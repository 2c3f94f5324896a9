"""Programs that the setup of a scheme installed on this machine, sent to the ends of a real path."""

from __future__ import annotations

import functools
import hashlib
import os
import platform
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from trialwise.errors import PlanError
from trialwise.execution.workers.remote import Remote
from trialwise.schemes.needs import search_path
from trialwise.schemes.scheme import Scheme
from trialwise.schemes.setup import prefix


def search_path_at(remote: Remote, scheme: Scheme) -> str:
    """Return where an end looks for the programs of a scheme."""
    sent = folder_at(remote, scheme)
    return search_path(None) if sent is None else os.pathsep.join([sent, search_path(None)])


def folder_at(remote: Remote, scheme: Scheme) -> str | None:
    """Return the folder at an end that has what the scheme's setup installed here; None if it installed none of its programs.

    Programs are sent along if they are not there.

    Raises
    ------
    PlanError
        The end has another processor than what they were made for.
    WorkerError
        The end is lost.
    """
    installed = dict(_installed(scheme))
    if not installed:
        return None
    there = str(remote.hello["architecture"])
    if there != platform.machine():
        raise PlanError(
            f"{remote.address.name}: scheme {scheme.name} was set up here for {platform.machine()}, and that machine is {there}",
            hint="take an end with the same processor, or a scheme without setup, or exclude the combination",
        )
    return str(remote.ask("named", {"programs": _kept(remote, installed)}).head["path"])


def _installed(scheme: Scheme) -> Iterator[tuple[str, Path]]:
    """Yield the programs of a scheme that stand where setups install, by name."""
    if scheme.setup is None:
        return
    for name in scheme.needs.programs:
        file = prefix() / "bin" / name
        if Path(name).name == name and file.is_file():
            yield name, file


def _kept(remote: Remote, installed: Mapping[str, Path]) -> dict[str, str]:
    """Have an end keep programs; return their digests by name."""
    digests: dict[str, str] = {}
    for name, file in installed.items():
        state = file.stat()
        digests[name] = _digest(file, state.st_mtime_ns, state.st_size)
        send_program(remote, digests[name], file.read_bytes)
    return digests


def send_program(remote: Remote, digest: str, image: Callable[[], bytes]) -> str:
    """Return the path of a program at an end, which it is sent to if it is not there."""
    found = remote.ask("program", {"digest": digest}).head
    if not found["there"]:
        found = remote.ask("program", {"digest": digest}, image()).head
    return str(found["path"])


@functools.lru_cache(maxsize=64)
def _digest(file: Path, *_: int) -> str:
    """Return the SHA-256 of a file, once for each state of it, as of time and size."""
    return hashlib.sha256(file.read_bytes()).hexdigest()
