"""What each end of a real path is told to do in a trial."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import importlib.resources
import ipaddress
import platform
import re
import shlex
import shutil
import socket
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from trialwise import _core
from trialwise.errors import PlanError, WorkerError
from trialwise.execution.ends.installed import folder_at, search_path_at, send_program
from trialwise.execution.ends.loads import load_at
from trialwise.execution.workers.agent.path_socket import HEADERS
from trialwise.execution.workers.agent.path_tunnel import TUNNEL_HEADER
from trialwise.execution.workers.remote import Remote
from trialwise.execution.workers.ssh import ssh_words
from trialwise.experiment.model import Level
from trialwise.experiment.placeholders import fill
from trialwise.experiment.trials import PathSettings, RealEnds
from trialwise.schemes.scheme import End, Scheme
from trialwise.trials.base import TrialRequest
from trialwise.trials.commands import command_words
from trialwise.trials.flows import SPARE_SECONDS
from trialwise.trials.marked import MARKER
from trialwise.trials.path_plan import FlowPlan, trial_of
from trialwise.visible import visible

PROBES = 65535
"""Probes are captured as this flow: they are packets of both directions from before the flows to after them."""
_SETTING = re.compile(r"/proc/sys/([\w./-]+)")
_ASSIGNED = re.compile(r"\b((?:net|kernel|vm)\.[\w.-]+)\s*=")
LEAST_MTU_6 = 1280
"""Bytes that IPv6 needs (RFC 8200, section 5)."""
SILENCE = 10.0
"""Seconds for which an end may hear nothing before it gives up."""


@dataclass(frozen=True, slots=True)
class EndTasks:
    """The two ends of a path with their connections, `from` first."""

    ends: RealEnds
    sending: Remote
    receiving: Remote
    programs: tuple[str, str]

    @property
    def remotes(self) -> tuple[Remote, Remote]:
        """The connections, `from` first."""
        return self.sending, self.receiving

    @property
    def names(self) -> tuple[str, str]:
        """The names of the ends, as in the file."""
        return self.ends.sending, self.ends.receiving

    @property
    def listener(self) -> int:
        """The place of the end that listens."""
        return 0 if self.ends.listens == "from" else 1

    @staticmethod
    def marker(request: TrialRequest, place: int) -> str:
        """Return the marker of the processes of one end: both ends may be on one machine."""
        return f"{request.marker}/{place}"

    @property
    def address(self) -> str:
        """The numeric address of the listening end.

        Raises
        ------
        PlanError
            It is this machine, whose address nobody has told, or its name has none.
        """
        text = self.ends.address
        if not text:
            where = self.remotes[self.listener].address
            if where.is_local:
                other = "to" if self.listener == 0 else "from"
                hint = f'write where the other end reaches this machine: address = "…"; or let that end listen: listens = "{other}"'
                raise PlanError(
                    f"trial.path: {self.names[self.listener]} listens, and has no address", hint=hint
                )
            text = _host_of(ssh_words(where, "true"))
        try:
            return str(socket.getaddrinfo(text, None, type=socket.SOCK_DGRAM)[0][4][0])
        except OSError as error:
            raise PlanError(
                f"trial.path: {text}: {error.strerror or error}",
                hint='give the address: address = "192.0.2.1"',
            ) from error

    def check(self, mtu: int) -> None:
        """Raise PlanError if the listening end has no address, or if the MTU is too small for what is in a tunnel."""
        _ = self.address
        self.around(mtu)

    def orders(
        self,
        request: TrialRequest,
        settings: PathSettings,
        plans: Sequence[FlowPlan],
        key: str,
        secret: bytes,
        left: float | None = None,
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the tasks of both ends for one trial; `left` are the bytes that the experiment may still send."""
        address = self.address
        most = amount_of(self.ends.bytes_cap, "size", "bytes_cap")
        family = ipaddress.ip_address(address).version
        around = self.around(settings.mtu)
        inside = dataclasses.replace(settings, mtu=settings.mtu - around)
        trial = trial_of(request.experiment)
        environment = {name: fill(text, request.places) for name, text in trial.environment}
        environment |= {"TRIALWISE_SEED": str(request.seed)}

        def order(place: int) -> dict[str, Any]:
            remote = self.remotes[place]
            directory = f"{remote.folder}/scratch/{key}"
            end = {
                "role": "listen" if place == self.listener else "connect",
                "key": secret.hex(),
                "port": self.ends.port,
                "peer": address,
                "family": family,
                "see": self.ends.see,
                "tunnel": {
                    "side": ("first", "second")[place],
                    "inside": self.ends.inside,
                    "mtu": inside.mtu,
                    "frames": PROBES,
                },
                "runtime": trial.runtime,
                "quiet": self.ends.quiet,
                "silence": SILENCE,
                "lease": self.ends.lease,
                "program": self.programs[place],
                "ports": [
                    *([] if around else [[self.ends.port, PROBES]]),
                    *([self.ends.port + plan.number, plan.number] for plan in plans),
                ],
                "directory": directory,
                "settings": sorted({name for plan in plans for name in changed_settings(plan.scheme)}),
                "most": {
                    "rate": amount_of(self.ends.rate_cap, "rate", "rate_cap"),
                    "bytes": min(most, most if left is None else left),
                },
                "flows": [self._flow(plan, place, directory, request, inside, around) for plan in plans],
            }
            own = {**environment, MARKER: self.marker(request, place)}
            return {"environment": own, "supervised": remote.supervised, "path": end}

        return order(0), order(1)

    def around(self, mtu: int) -> int:
        """Return the bytes around each packet of a flow; raise PlanError if they leave too few of the MTU for IPv6 inside."""
        if self.ends.see != "tunnel":
            return 0
        family = ipaddress.ip_address(self.address).version
        around = HEADERS[family] + TUNNEL_HEADER
        if self.ends.inside == "ipv6" and mtu - around < LEAST_MTU_6:
            raise PlanError(
                f"trial.path: IPv6 inside a tunnel over IPv{family} needs packets of {LEAST_MTU_6 + around} bytes, and mtu is {mtu}",
                hint='let the path carry larger ones (mtu), or write inside = "ipv4"',
            )
        return around

    def _flow(
        self,
        plan: FlowPlan,
        place: int,
        directory: str,
        request: TrialRequest,
        settings: PathSettings,
        around: int,
    ) -> dict[str, Any]:
        """Return one side of a flow: the one whose end this is; what its packets are in has so many bytes `around` them."""
        side: End = "sender" if (place == 0) == (plan.flow.direction == "uplink") else "receiver"
        scheme = plan.scheme
        program = scheme.side(side)
        own = f"{directory}/flow-{plan.number}"
        values: dict[str, Level] = {
            **request.places,
            "port": self.ends.port + plan.number,
            "time": f"{plan.stop - plan.flow.start + SPARE_SECONDS:g}",
            "report": f"{own}/report.jsonl",
            "directory": own,
            "folder": str(scheme.source.resolve().parent),
            "seed": request.seed,
            "mtu": settings.mtu,
            "peer": "{peer}",
            "host": "{host}",
        }
        load, files = load_at(plan, own, request, settings)
        own_program = self.programs[place]
        programs = {name: [own_program, name] for name in ("flow", "utp")}
        words = command_words(program.command, scheme, load, values, own=programs)
        prepare = scheme.prepare and command_words(scheme.prepare, scheme, load, values, own=programs)
        held = [own_program, "attach", scheme.attach] if scheme.attach else []
        ready = program.ready
        return {
            "number": plan.number,
            "scheme": scheme.name,
            "side": side,
            "port": self.ends.port + plan.number,
            "packets": settings.mtu + around
            if around or "{mtu}" in shlex.join(scheme.sender.command)
            else None,
            "waits": side == scheme.first,
            "words": [*held, *words],
            "environment": {name: fill(text, values) for name, text in program.environment},
            "programs": folder_at(self.remotes[place], scheme),
            "ready": {"line": ready.line, "port": ready.port, "after": ready.after, "timeout": ready.timeout},
            "prepare": prepare or None,
            "start": plan.flow.start,
            "stop": plan.stop,
            "ends": load.ends,
            "unfinished": None if load.lasts or side == scheme.first else load.text,
            "files": files if side == "sender" else {},
        }


def end_program(remote: Remote) -> str:
    """Return the path of the program of an end; it is sent along if it is not there.

    Raises
    ------
    PlanError
        There is no such program for the machine.
    WorkerError
        The end is lost.
    """
    architecture = str(remote.hello["architecture"])
    image = _image(architecture)
    if image is None:
        raise PlanError(
            f"{remote.address.name}: there is no program for the end of a path on {architecture}",
            hint=f"machines like this one ({platform.machine()}) can be ends, once `make setup` has built it",
        )
    return send_program(remote, hashlib.sha256(image).hexdigest(), lambda: image)


@functools.cache
def _image(architecture: str) -> bytes | None:
    file = importlib.resources.files("trialwise.execution.ends").joinpath(f"trialwise-end.{architecture}")
    try:
        return file.read_bytes()
    except OSError:
        return None


_WAYS = {
    "capture": ("capture packets", "give that Python CAP_NET_RAW", 'see = "tunnel"'),
    "tunnel": ("make a tunnel", "permit user namespaces and /dev/net/tun", 'see = "capture"'),
}
"""What a user may not, what would lift that besides being root, and what else there is, for each way to see packets."""


def require_sight(tasks: EndTasks) -> None:
    """Raise WorkerError if an end may not see packets the way that the file says."""
    see, inside = tasks.ends.see, tasks.ends.inside
    if see not in _WAYS:
        return
    what, right, other = _WAYS[see]
    for remote, name in zip(tasks.remotes, tasks.names, strict=True):
        if problem := remote.ask("may_see", {"see": see, "inside": inside}).head["problem"]:
            raise WorkerError(
                f"{name}: this user may not {what} there: {problem}",
                hint=f"connect as root, or {right}; or see packets another way: {other} beside from and to, "
                'or "programs" for schemes udp-…',
            )


def require_usable(plan: FlowPlan, tasks: EndTasks) -> None:
    """Raise PlanError if a scheme cannot run over a real path, WorkerError if an end lacks one of its programs."""
    scheme = plan.scheme
    if not scheme.has_programs:
        raise PlanError(
            f"scheme {scheme.name} runs where packets are simulated only", hint="take another scheme"
        )
    if scheme.each_boot:
        raise PlanError(
            f"scheme {scheme.name} changes its machine after each boot, which is not done on other machines",
            hint="take another scheme for this path, or exclude the combination",
        )
    if scheme.setup and not scheme.needs.programs:
        raise PlanError(
            f"scheme {scheme.name} does not say which programs its setup installs, so none can be sent to the ends",
            hint="name them in its file: needs = { programs = […] }; setup has to put them into {prefix}/bin",
        )
    if tasks.ends.see == "programs" and not scheme.notes_packets:
        raise PlanError(
            f"scheme {scheme.name}: its programs do not note their packets",
            hint='take a scheme udp-…, or see = "capture" or "tunnel" beside from and to',
        )
    _require_parts(plan.scheme, tasks)
    if scheme.needs.programs:
        for remote, name in zip(tasks.remotes, tasks.names, strict=True):
            _require_programs(scheme, remote, name)


def _require_programs(scheme: Scheme, remote: Remote, name: str) -> None:
    """Raise WorkerError if an end lacks a program that could not be sent either."""
    path = search_path_at(remote, scheme)
    queries = [
        {"key": each, "words": [each], "directory": "/", "path": path} for each in scheme.needs.programs
    ]
    for query, found in zip(queries, remote.ask("resolve", {"queries": queries}).head["found"], strict=True):
        if found["problem"] is not None:
            packages = ", ".join(scheme.needs.packages)
            sent = (
                f"; or here, and it is sent along: trialwise schemes setup {scheme.name}"
                if scheme.setup
                else ""
            )
            raise WorkerError(
                f"{name}: scheme {scheme.name}: no program {query['key']!r} there",
                hint=f"install it there{f' (Debian: {packages})' if packages else ''}{sent}",
            )


def _require_parts(scheme: Scheme, tasks: EndTasks) -> None:
    """Raise WorkerError if an end cannot run what of the scheme is a part of its program."""
    attached = [["attach", scheme.attach, "true"]] if scheme.attach else []
    for words in [*attached, *([["utp", "--help"]] if scheme.needs.feature == "utp" else [])]:
        for remote, name, program in zip(tasks.remotes, tasks.names, tasks.programs, strict=True):
            if problem := remote.ask("try", {"words": [program, *words]}).head["problem"]:
                raise WorkerError(
                    f"{name}: scheme {scheme.name} cannot run there: {visible(str(problem))}",
                    hint="take another scheme for this path, or exclude the combination",
                )


def changed_settings(scheme: Scheme) -> set[str]:
    """Return the settings below /proc/sys that the commands of a scheme name, or set by sysctl(8)."""
    texts = [
        " ".join(words) for words in (scheme.sender.command, scheme.receiver.command, scheme.prepare or ())
    ]
    files = {name for text in texts for name in _SETTING.findall(text)}
    dotted = {name for text in texts if "sysctl" in text for name in _ASSIGNED.findall(text)}
    return files | {name.replace(".", "/") for name in dotted}


def amount_of(text: str, dimension: Literal["rate", "size"], key: str) -> float:
    """Return a rate in bit/s or a size in bytes; raise PlanError if the text is none."""
    try:
        return _core.parse_quantity(text, dimension)
    except ValueError as error:
        raise PlanError(f"trial.path: {key}: {error}") from error


def _host_of(words: Sequence[str]) -> str:
    """Return the host that ssh connects to, as its configuration has it (ssh -G)."""
    asked = [shutil.which("ssh") or "ssh", "-G", *words[1:-1]]
    done = subprocess.run(asked, capture_output=True, text=True, check=False)
    for line in done.stdout.splitlines():
        name, _, value = line.partition(" ")
        if name == "hostname":
            return value
    return words[-2]
