"""Of the software: the C library, the distribution, and the runtimes that programs find, without starting any of them."""

from __future__ import annotations

import os
import re
import shutil

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from re import Pattern

    from trialwise.measurement.tree import Tree

    _Beside = tuple[str, Pattern[str]]

_RUNTIMES: dict[str, tuple[_Beside | None, str]] = {
    "python3": (
        ("../pyvenv.cfg", re.compile(r"^version(?:_info)? *= *(\S+)", re.MULTILINE)),
        "python3-minimal",
    ),
    "java": (("../release", re.compile(r'^JAVA_VERSION="?([^"\n]+)', re.MULTILINE)), ""),
    "node": (
        (
            "../include/node/node_version.h",
            re.compile(
                r"NODE_MAJOR_VERSION (\d+)\s[\s\S]*?NODE_MINOR_VERSION (\d+)\s[\s\S]*?NODE_PATCH_VERSION (\d+)"
            ),
        ),
        "nodejs",
    ),
    "perl": (None, "perl-base"),
    "ruby": (None, "ruby"),
    "php": (None, "php-cli"),
    "R": (None, "r-base-core"),
    "go": (("../VERSION", re.compile(r"^(go\d\S*)", re.MULTILINE)), ""),
    "julia": (None, "julia"),
    "lua": (None, ""),
}
"""Runtimes by the name of their program: a file beside it that states the version, and the package that Debian has it in."""
_PACKAGES = "var/lib/dpkg/status"
_MAX_PACKAGES = 32 << 20


def software_details(tree: Tree, environment: Mapping[str, str]) -> Iterator[tuple[str, str | None]]:
    """Yield facts of libraries and runtimes, those that the variable PATH leads to, and of the rights that programs have."""
    yield "distribution", tree.fields("etc/os-release", "=").get("PRETTY_NAME", "").strip('"')
    if os.fspath(tree.root) != "/":
        return
    yield "rights.root", "yes" if os.geteuid() == 0 else "no"
    yield "libc", _libc()
    packages = tree.content(_PACKAGES, _MAX_PACKAGES)
    for name, (beside, package) in _RUNTIMES.items():
        program = shutil.which(name, path=environment.get("PATH", os.defpath))
        if program is not None:
            version = _stated(tree, program, beside) or _packaged(program, packages, package)
            yield f"runtime.{name}", version or _named(program)


def _libc() -> str | None:
    try:
        return os.confstr("CS_GNU_LIBC_VERSION")
    except (ValueError, OSError):
        return None


def _stated(tree: Tree, program: str, beside: _Beside | None) -> str | None:
    """Return the version that a file beside a program states, links resolved or not."""
    if beside is None:
        return None
    file, pattern = beside
    for place in (program, os.path.realpath(program)):
        found = pattern.search(tree.text(f"{os.path.dirname(place)}/{file}".lstrip("/")) or "")
        if found is not None:
            return ".".join(found.groups())
    return None


def _packaged(program: str, packages: bytes, package: str) -> str | None:
    is_of_system = package and os.path.dirname(program) in ("/bin", "/usr/bin")
    return package_version(packages, package) if is_of_system else None


def _named(program: str) -> str | None:
    """Return the name of the file that a program is, such as ``python3.11``, if it says more than the program's own."""
    name = os.path.basename(os.path.realpath(program))
    return name if name != os.path.basename(program) and any(map(str.isdigit, name)) else None


def package_version(packages: bytes, name: str) -> str | None:
    """Return the version of a package by the text of dpkg's status file (deb822(5)); None if it is not installed."""
    begin = packages.find(b"\nPackage: " + name.encode() + b"\n")
    begin = 0 if packages.startswith(b"Package: " + name.encode() + b"\n") else begin
    if begin < 0:
        return None
    end = packages.find(b"\n\n", begin + 1)
    found = re.search(rb"^Version: (\S+)$", packages[begin : end if end > 0 else None], re.MULTILINE)
    return found[1].decode(errors="replace") if found is not None else None


def layout_details(folder: str, environment: Mapping[str, str]) -> Iterator[tuple[str, str | None]]:
    """Yield what moves the memory of programs: the bytes of their variables, and the length of their folder (execve(2))."""
    if environment:
        sizes = (len(os.fsencode(name)) + len(os.fsencode(value)) + 2 for name, value in environment.items())
        yield "layout.variables_bytes", str(sum(sizes))
    yield "layout.folder_length", str(len(os.fsencode(os.path.abspath(folder))))
