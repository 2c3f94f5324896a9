"""Find what a scheme lacks on this machine."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from trialwise import _core, _linux
from trialwise.schemes.scheme import Scheme
from trialwise.schemes.setup import prefix

_AVAILABLE = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
_SYSTEM_FOLDERS = ("/usr/local/sbin", "/usr/sbin", "/sbin")
"""Folders where Debian puts servers; they are not in the PATH of ordinary users."""


def search_path(path: str | None = None) -> str:
    """Return PATH with the folders of servers and of what setups install at its end."""
    folders = (path if path is not None else os.environ.get("PATH", os.defpath)).split(os.pathsep)
    further = (*_SYSTEM_FOLDERS, str(prefix() / "bin"))
    return os.pathsep.join([*folders, *(folder for folder in further if folder not in folders)])


def needed(scheme: Scheme) -> tuple[str, ...]:
    """Return what the scheme needs on any machine, each as a phrase; names stand between backticks."""
    needs = scheme.needs
    packages = tuple(f"`{package}`" for package in needs.packages)
    kernel = (f"`{needs.congestion}` in the kernel",) if needs.congestion else ()
    feature = (f"feature `{needs.feature}`",) if needs.feature else ()
    setup = ("its setup",) if scheme.setup else ()
    field = ("ECT(1) on the path",) if needs.ecn else ()
    return (*packages, *kernel, *feature, *field, *(("root",) if needs.root else ()), *setup)


def has_programs(scheme: Scheme) -> bool:
    """Return True if the scheme names programs, and all are in the search path."""
    return bool(scheme.needs.programs) and not _lacking_programs(scheme)


def missing(scheme: Scheme) -> tuple[str, ...]:
    """Return what the scheme lacks here, each as a phrase that says what to do; empty if it can run."""
    return tuple(_missing(scheme))


def _missing(scheme: Scheme) -> Iterator[str]:
    needs = scheme.needs
    if programs := _lacking_programs(scheme):
        yield f"no program {', '.join(programs)}{_how_to_install(scheme)}"
    if needs.feature is not None and needs.feature not in _core.features():
        yield f"Trialwise is built without {needs.feature}: make setup FEATURES={needs.feature}"
    elif scheme.attach is not None and (refusal := _attach_refusal(scheme.attach)):
        yield refusal
    if needs.root and os.geteuid() != 0:
        yield "only root may run it"
    if needs.congestion is not None and needs.congestion not in _available():
        yield f"the kernel has no congestion control {needs.congestion}: modprobe tcp_{needs.congestion}"


def _lacking_programs(scheme: Scheme) -> list[str]:
    return [name for name in scheme.needs.programs if shutil.which(name, path=search_path()) is None]


def _how_to_install(scheme: Scheme) -> str:
    if scheme.setup is not None:
        return f": trialwise schemes setup {scheme.name}"
    return f": apt-get install {' '.join(scheme.needs.packages)}" if scheme.needs.packages else ""


def _attach_refusal(name: str) -> str | None:
    """Return why this congestion control cannot be attached to this kernel."""
    try:
        _linux.check_congestion(name)
    except _linux.AttachError as error:
        return str(error)
    return None


def _available() -> list[str]:
    try:
        return _AVAILABLE.read_text().split()
    except OSError:
        return []
