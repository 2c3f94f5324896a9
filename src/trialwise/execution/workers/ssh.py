"""How to start ssh for a worker, and what its failures mean."""

from __future__ import annotations

import functools
import hashlib
import importlib.resources
import io
import os
import platform
import re
import shlex
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from trialwise._linux import supervisor_image
from trialwise.execution.workers.address import Address

CONFIGURATION = "TRIALWISE_SSH_CONFIG"
"""Environment variable that names another configuration file for ssh, as its option -F does."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """What went wrong with ssh, what to try, and whether trying again is useless."""

    message: str
    hint: str
    lasting: bool


_MEANINGS = (
    (
        "REMOTE HOST IDENTIFICATION HAS CHANGED",
        "its host key is not the one that is known",
        "find out why it changed; if that is right, remove the old key: ssh-keygen {entry}",
        True,
    ),
    (
        "Host key verification failed",
        "its host key is not known, or not the one that is known",
        "connect by hand once and compare the key: {command}",
        True,
    ),
    (
        "Permission denied",
        "it accepts none of the keys that were offered",
        "see that this works without a question: {command}",
        True,
    ),
    ("Could not resolve hostname", "its name cannot be resolved", "check the name: {command}", True),
    (
        "Bad configuration option",
        "the configuration of ssh is wrong",
        "look at what ssh says: {command}",
        True,
    ),
    ("Can't open user config file", "the configuration of ssh is missing", f"see ${CONFIGURATION}", True),
    (
        "Connection refused",
        "nothing listens there",
        "start sshd there, or give the right port: {command}",
        False,
    ),
    ("No route to host", "there is no route to it", "see whether it is up: {command}", False),
    (
        "timed out",
        "it does not answer",
        "see whether it is up, and whether a firewall lets ssh through: {command}",
        False,
    ),
)

OTHER_AGENT = "another agent answers there than the one that was sent"
WHAT_STARTS_IT = (
    "find what starts it, as ForceCommand in sshd_config or command= in authorized_keys does, and remove that; "
    "no version of Trialwise has to be installed there"
)
WHAT_PRINTS = (
    "only the agent that was sent may write to standard output there: look for a profile of the shell that prints, "
    "ForceCommand in sshd_config, or command= in authorized_keys"
)
_TRACE_OF_AN_AGENT = "workers/agent/"
_OF_SSH = 255
"""Exit code of ssh(1) for its own errors; any other is that of the remote command."""


def ssh_words(address: Address, remote: str) -> list[str]:
    """Return the command line that runs `remote` on a worker; everything except BatchMode is left to the user's configuration.

    On this machine a shell runs it.
    """
    if address.is_local:
        return ["sh", "-c", remote]
    options = ["-T", "-o", "BatchMode=yes"]
    if configuration := os.environ.get(CONFIGURATION):
        options += ["-F", configuration]
    if address.port is not None:
        options += ["-p", str(address.port)]
    if address.user is not None:
        options += ["-l", address.user]
    return ["ssh", *options, "--", str(address.host), remote]


def explain(address: Address, errors: str, exit_code: int | None, *, started: bool = True) -> Explanation:
    """Explain the end of a connection from what ssh wrote to standard error, and whether the agent that was sent had `started`."""
    command = shlex.join([*ssh_words(address, "true")[:-3], str(address.host), "true"])
    told = errors.strip().splitlines()
    last = f" ({told[-1].strip()[:300]})" if told else ""
    for text, message, hint, lasting in _MEANINGS:
        if text in errors:
            detail = "" if text.startswith("REMOTE") else last
            filled = hint.format(entry=_removal(address, errors), command=command)
            return Explanation(f"{address.name}: {message}{detail}", filled, lasting)
    if exit_code == 127:
        return Explanation(
            f"{address.name}: there is no python3{last}",
            "install Python 3.8 or newer there, or say where it is: workers.python",
            True,
        )
    if "Python 3.8 or newer" in errors or "SyntaxError" in errors:
        return Explanation(
            f"{address.name}: its Python is too old{last}", "say where a newer one is: workers.python", True
        )
    if not started and exit_code not in {None, _OF_SSH}:
        another = _TRACE_OF_AN_AGENT in errors
        message = OTHER_AGENT if another else f"the agent that was sent has not started{last}"
        return Explanation(f"{address.name}: {message}", WHAT_STARTS_IT, False)
    ended = "the connection was lost" if exit_code is None else f"ssh ended with exit code {exit_code}"
    return Explanation(f"{address.name}: {ended}{last}", f"see what ssh says: {command}", False)


_CODE = """import os,sys
if sys.version_info<(3,8):sys.exit('trialwise: Python 3.8 or newer is needed; this is '+sys.version.split()[0])
sys.stdout.write('{{"id":0}}\\n');sys.stdout.flush()
s=sys.stdin.buffer.read({size});f=os.memfd_create('agent');os.write(f,s);sys.path.insert(0,'/proc/self/fd/%d'%f)
from trialwise.execution.workers.agent.attachment import attach;attach({folder!r},s)
"""


def _removal(address: Address, errors: str) -> str:
    """Return the options of ssh-keygen(1) that remove the key from the file in which ssh found it."""
    words = ["-R", _known_as(address, errors)]
    told = re.search(r"^Offending \S+ key in (/.*):\d+\r?$", errors, re.MULTILINE)
    if told and Path(told.group(1)) != Path("~/.ssh/known_hosts").expanduser():
        words += ["-f", told.group(1)]
    return shlex.join(words)


def _known_as(address: Address, errors: str) -> str:
    """Return the name under which known_hosts has a worker's key: with its port unless that is the default (sshd(8))."""
    if told := re.search(r"Host key for (\[?[\w.:%-]+\]?(?::\d+)?) has changed", errors):
        return told.group(1)
    host = str(address.host)
    return host if address.port in {None, 22} else f"[{host}]:{address.port}"


_FOR_AGENTS = (
    "execution/services/keeper",
    "execution/services/output",
    "execution/services/ports",
    "execution/services/process",
    "execution/services/processes",
    "execution/services/readiness",
    *(
        f"measurement/details/{name}"
        for name in (
            "collecting",
            "disks",
            "graphics",
            "interfaces",
            "kernel",
            "memory",
            "network",
            "processor",
            "software",
        )
    ),
    "measurement/file_identity",
    "measurement/followed",
    "measurement/inherited",
    "measurement/keeping",
    "measurement/machine_counting",
    "measurement/masking",
    "measurement/outliving",
    "measurement/programs",
    "measurement/python_imports",
    "measurement/tree",
    "trials/beside",
    "trials/container_cgroups",
    "trials/containers",
    "trials/listening",
    "trials/marked",
    "trials/removing",
)
"""Modules that the agent shares with this machine: standard library only, for Python 3.8."""


@functools.cache
def agent_archive() -> bytes:
    """Return what is sent to workers: the agent's modules in a zip archive, with the supervisor for machines like this one.

    The same modules give the same bytes. Nothing is compressed, for Python without zlib.
    """
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name, text in _contents():
            archive.writestr(zipfile.ZipInfo(name), text)
    return content.getvalue()


def _contents() -> Iterator[tuple[str, bytes]]:
    for package in (
        "trialwise",
        "trialwise/execution",
        "trialwise/execution/services",
        "trialwise/execution/workers",
        "trialwise/measurement",
        "trialwise/measurement/details",
        "trialwise/trials",
    ):
        yield f"{package}/__init__.py", b""
    root = importlib.resources.files("trialwise")
    agent = root / "execution" / "workers" / "agent"
    for file in sorted(agent.iterdir(), key=lambda each: each.name):
        if file.name.endswith(".py"):
            yield f"trialwise/execution/workers/agent/{file.name}", file.read_bytes()
    for name in _FOR_AGENTS:
        yield f"trialwise/{name}.py", root.joinpath(f"{name}.py").read_bytes()
    yield f"supervisor.{platform.machine()}", supervisor_image()


def bootstrap(python: str, archive: bytes, folder: str) -> str:
    """Return the remote command: Python reads the agent from standard input, keeps it in memory, and attaches it to `folder`."""
    code = _CODE.format(size=len(archive), folder=folder)
    return shlex.join([python, "-IS", "-c", code])


def folder_name(base: str, marker: str, address: Address) -> str:
    """Return the folder of an experiment directory on a worker, distinct from any other worker's even if machines share home."""
    digest = hashlib.sha256(f"{marker} {address.name}".encode()).hexdigest()[:16]
    return f"{base.rstrip('/')}/{digest}"
