"""Read a scheme file."""

from __future__ import annotations

import shlex
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import ValidationError

from trialwise._core import path_controllers
from trialwise.errors import PlanError
from trialwise.experiment.file.sections import Limits, Section, adapter, for_editors, key, keys_of
from trialwise.experiment.file.values import Duration, PositiveDuration, Text
from trialwise.experiment.placeholders import names_in
from trialwise.experiment.problems import either, nearest
from trialwise.schemes.scheme import LOADS, Needs, Ready, Scheme, Side, Simulated

VALUES = ("peer", "host", "port", "time", "report", "directory", "folder", "seed", "mtu")
"""Single-valued placeholders, which environments and loads may use; there is neither {peer} nor {host} before the start."""
Attached = Literal[
    "vegas",
    "dctcp",
    "westwood",
    "scalable",
    "highspeed",
    "hybla",
    "bic",
    "illinois",
    "htcp",
    "yeah",
    "cdg",
]
"""Congestion controls of the core that a scheme may have attached to the kernel."""
PLACEHOLDERS = (*VALUES, "load", "flow", "utp")
"""Placeholders that the commands of a scheme may use."""


@dataclass(frozen=True, slots=True)
class ReadySection(Section):
    """When the program counts as ready."""

    line: Text | None = key(None, "Text of a line on its standard output.", "ready")
    port: Literal["tcp", "udp"] | None = key(None, "The port of the flow listens.", "tcp")
    after: Duration = key(0.0, "This long after its start.", "3s")
    timeout: PositiveDuration = key(10.0, "Maximum time until it is ready.", "30s")


@dataclass(frozen=True, slots=True)
class SideSection(Section):
    """The program at one end."""

    command: Text = key(
        ...,
        "Command line, split as a shell would; placeholders are filled in afterwards.",
        "iperf3 --server --port {port}",
    )
    environment: dict[str, str] = key(
        ..., "Variables added to the environment.", {"LANG": "C"}, factory=dict[str, str]
    )
    ready: ReadySection = key(
        ...,
        "When it is ready for the other side; only used for the side that starts first.",
        factory=ReadySection,
    )


@dataclass(frozen=True, slots=True)
class NeedsSection(Section):
    """What a machine, and the path, must have."""

    programs: list[Text] = key(..., "Programs in PATH.", ["iperf3"], factory=list[str])
    packages: list[Text] = key(
        ...,
        "Debian packages that provide them, or from which `setup` builds them.",
        ["iperf3"],
        factory=list[str],
    )
    congestion: Text | None = key(None, "Congestion control that the kernel must have.", "bbr")
    feature: Literal["bpf", "utp"] | None = key(None, "Feature that Trialwise must be built with.", "bpf")
    root: bool = key(False, "Whether it must be root.", True)
    ecn: Literal["ect1"] | None = key(
        None,
        "The ECN field that its packets set: a trial over a path that does not let it through is invalid.",
        "ect1",
    )


def _over_paths() -> Iterator[str]:
    for name, takes_rate in path_controllers():
        yield f"{name}:RATE" if takes_rate else name


@dataclass(frozen=True, slots=True)
class SimulatedSection(Section):
    """What replaces the programs where packets are simulated."""

    congestion: Text = key(
        ...,
        f"Controller of the UDP transport: {either(_over_paths())}; {{load}} and {{folder}} are filled in.",
        "copa",
        "fixed_rate:{load}",
    )
    load: Text = key("{load}", "What the sender is told to carry.", "bulk")


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemeDocument(Section):
    """A scheme file; its name without .toml is the name of the scheme."""

    title: Text = key(..., "Name shown to people.", "TCP CUBIC (iperf3)")
    color: Annotated[str, Limits(pattern=r"^#[0-9a-fA-F]{6}$")] | None = key(
        None, "Colour in figures.", "#1f77b4", title="a colour #rrggbb"
    )
    first: Literal["sender", "receiver"] = key(
        "receiver", "The side that starts first and waits for the other.", "sender"
    )
    loads: dict[Literal["bulk", "rate", "bytes", "requests", "flows", "media"], str] = key(
        ...,
        "The kinds of load that the sender supports, each with the words that replace {load}.",
        {"bulk": "", "rate": "--bitrate {amount}"},
        factory=lambda: {"bulk": ""},
    )
    sender: SideSection = key(...)
    receiver: SideSection = key(...)
    needs: NeedsSection = key(..., factory=NeedsSection)
    simulated: SimulatedSection | None = key(
        None, "For trials whose packets are simulated.", {"congestion": "copa"}
    )
    prepare: Text | None = key(
        None, "Command run before each flow, outside the path.", "truncate -s 1G {directory}/big"
    )
    setup: Text | None = key(None, "Command that installs what the scheme needs.", "make -C src")
    attach: Attached | None = key(
        None, "Our congestion control, attached to the kernel while the scheme runs.", "vegas"
    )
    licence: Text | None = key(
        None, "Licence of the code in which congestion control runs, as an SPDX expression.", "BSD-3-Clause"
    )
    pantheon: list[Text] = key(
        ..., "Names of the schemes of Pantheon that it stands for.", ["copa"], factory=list[str]
    )
    nearest: list[Text] = key(
        ...,
        "Names of schemes of Pantheon that nobody published, to which it comes nearest.",
        ["koho_cc"],
        factory=list[str],
    )


def scheme_schema() -> dict[str, Any]:
    """The JSON Schema of a scheme file for editors; `schemas/scheme.json` holds a copy."""
    return for_editors(SchemeDocument, "scheme")


def read_scheme(path: Path) -> Scheme:
    """Read a scheme file.

    Raises
    ------
    PlanError
        The file is not a valid scheme; the message names file and key.
    """
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise PlanError(f"{path}: cannot be read as a scheme: {reason}") from error
    try:
        document = adapter(SchemeDocument).validate_python(table)
    except ValidationError as error:
        found = error.errors(include_url=False)
        # A misspelt key is reported both as unknown and as missing; the former says more.
        first = next((each for each in found if each["type"] == "unexpected_keyword_argument"), found[0])
        key = ".".join(str(part) for part in first["loc"])
        raise PlanError(f"{path}: {key}: {_said(first['type'], key, first['msg'])}") from error
    return _scheme(document, path)


def _said(kind: str, key: str, message: str) -> str:
    if kind != "unexpected_keyword_argument":
        return message[:1].lower() + message[1:]
    sections = (SchemeDocument, SideSection, ReadySection, NeedsSection, SimulatedSection)
    meant = nearest(key.rsplit(".", maxsplit=1)[-1], [name for each in sections for name in keys_of(each)])
    return "unknown key" + (f"; did you mean {meant}?" if meant else "")


def _scheme(document: SchemeDocument, path: Path) -> Scheme:
    needs = document.needs
    return Scheme(
        name=path.stem,
        title=document.title,
        sender=_side("sender", document.sender, path),
        receiver=_side("receiver", document.receiver, path),
        source=path,
        first=document.first,
        color=document.color,
        loads=_loads(document, path),
        needs=Needs(
            tuple(needs.programs),
            tuple(needs.packages),
            needs.congestion,
            needs.feature,
            needs.root,
            needs.ecn,
        ),
        prepare=_optional(
            "prepare", document.prepare, path, [name for name in PLACEHOLDERS if name not in {"peer", "host"}]
        ),
        setup=_optional("setup", document.setup, path, ("folder", "prefix")),
        attach=document.attach,
        simulated=_simulated(document.simulated, path),
        licence=document.licence,
        pantheon=tuple(document.pantheon),
        nearest=tuple(document.nearest),
    )


def _simulated(section: SimulatedSection | None, path: Path) -> Simulated | None:
    if section is None:
        return None
    _require_known("simulated.congestion", section.congestion, path, ("load", "folder"))
    _require_known("simulated.load", section.load, path, ("load",))
    return Simulated(section.congestion, section.load)


def _loads(document: SchemeDocument, path: Path) -> dict[str, str]:
    if not document.loads:
        raise PlanError(f"{path}: loads: names no kind of load", hint='leave it out for bulk = ""')
    return {kind: _load(kind, document.loads[kind], path) for kind in LOADS if kind in document.loads}


def _load(kind: str, text: str, path: Path) -> str:
    _words(f"loads.{kind}", text, path, (*VALUES, "amount"))
    return text


def _side(name: str, section: SideSection, path: Path) -> Side:
    ready = section.ready
    return Side(
        command=_command(f"{name}.command", section.command, path),
        environment=_environment(name, section.environment, path),
        ready=Ready(ready.line, ready.port, ready.after, ready.timeout),
    )


def _environment(side: str, variables: Mapping[str, str], path: Path) -> tuple[tuple[str, str], ...]:
    for name, text in variables.items():
        if not name or "=" in name or "\0" in name + text:
            raise PlanError(f"{path}: {side}.environment: {name!r} = {text!r} cannot be a variable")
        _require_known(f"{side}.environment.{name}", text, path, VALUES)
    return tuple(sorted(variables.items()))


def _optional(key: str, command: str | None, path: Path, known: Sequence[str]) -> tuple[str, ...] | None:
    return None if command is None else _command(key, command, path, known)


def _command(key: str, text: str, path: Path, known: Sequence[str] = PLACEHOLDERS) -> tuple[str, ...]:
    words = _words(key, text, path, known)
    if not words or not words[0].strip():
        raise PlanError(f"{path}: {key}: names no program")
    return words


def _words(key: str, command: str, path: Path, known: Sequence[str]) -> tuple[str, ...]:
    try:
        words = tuple(shlex.split(command))
    except ValueError as error:
        raise PlanError(f"{path}: {key}: cannot be split as a shell would: {error}") from error
    if "\0" in command:
        raise PlanError(f"{path}: {key}: no program can be given a NUL character")
    _require_known(key, " ".join(words), path, known)
    return words


def _require_known(key: str, text: str, path: Path, known: Sequence[str]) -> None:
    for unknown in sorted(names_in(text) - set(known)):
        hint = f"known: {', '.join(f'{{{name}}}' for name in known)}"
        raise PlanError(f"{path}: {key}: {{{unknown}}} is unknown here", hint=hint)
