"""Reading a scheme file."""

from __future__ import annotations

import shlex
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, ValidationError

from trialwise.errors import PlanError
from trialwise.experiment.document_values import Duration, PositiveDuration, Section, Text
from trialwise.experiment.placeholders import names_in
from trialwise.experiment.problems import nearest
from trialwise.schemes.scheme import LOADS, Needs, Ready, Scheme, Side, Simulated

VALUES = ("peer", "port", "time", "report", "directory", "folder", "seed", "mtu")
"""Placeholders with one value each: what environments and loads may use; before the start there is no {peer}."""
PLACEHOLDERS = (*VALUES, "load", "flow", "utp")
"""What the commands of a scheme may use."""


class ReadySection(Section):
    """When the program counts as ready."""

    line: Text | None = Field(None, description="Text of a line on its standard output.", examples=["ready"])
    port: Literal["tcp", "udp"] | None = Field(
        None, description="The port of the flow listens.", examples=["tcp"]
    )
    after: Duration = Field(0.0, description="A time after its start.", examples=["3s"])
    timeout: PositiveDuration = Field(10.0, description="How long that may take.", examples=["30s"])


class SideSection(Section):
    """The program at one end."""

    command: Text = Field(
        description="Command line, split as a shell would; then placeholders are filled.",
        examples=["iperf3 --server --port {port}"],
    )
    environment: dict[str, str] = Field(
        default_factory=dict, description="Variables added to the environment.", examples=[{"LANG": "C"}]
    )
    ready: ReadySection = Field(
        default_factory=lambda: ReadySection.model_validate({}),
        description="When it is ready for the other side; of use for the side that starts first.",
    )


class NeedsSection(Section):
    """What a machine must have."""

    programs: list[Text] = Field(default_factory=list, description="Programs in PATH.", examples=[["iperf3"]])
    packages: list[Text] = Field(
        default_factory=list, description="Packages of Debian that bring them.", examples=[["iperf3"]]
    )
    congestion: Text | None = Field(
        None, description="Congestion control that the kernel must have.", examples=["bbr"]
    )
    feature: Literal["bpf", "utp"] | None = Field(
        None, description="Feature that Trialwise must be built with.", examples=["bpf"]
    )
    root: bool = Field(False, description="Whether it must be root.", examples=[True])


class SimulatedSection(Section):
    """What stands for the programs where packets are simulated."""

    congestion: Text = Field(
        description="Controller of the UDP transport: newreno, cubic, ledbat, copa, or fixed_rate:RATE; {load} is filled.",
        examples=["copa", "fixed_rate:{load}"],
    )
    load: Text = Field("{load}", description="What the sender is told to carry.", examples=["bulk"])


class SchemeDocument(Section):
    """A scheme file; its name without .toml is the name of the scheme."""

    title: Text = Field(description="What people read.", examples=["TCP CUBIC (iperf3)"])
    color: Annotated[str, Field(pattern=r"^#[0-9a-fA-F]{6}$")] | None = Field(
        None, title="a colour #rrggbb", description="Colour in figures.", examples=["#1f77b4"]
    )
    first: Literal["sender", "receiver"] = Field(
        "receiver", description="The side that starts first and waits for the other.", examples=["sender"]
    )
    loads: dict[Literal["bulk", "rate", "bytes", "requests", "flows"], str] = Field(
        default_factory=lambda: {"bulk": ""},
        description="The kinds of load that the sender knows, each with the words that {load} stands for.",
        examples=[{"bulk": "", "rate": "--bitrate {amount}"}],
    )
    sender: SideSection
    receiver: SideSection
    needs: NeedsSection = Field(default_factory=lambda: NeedsSection.model_validate({}))
    simulated: SimulatedSection | None = Field(
        None, description="For trials whose packets are simulated.", examples=[{"congestion": "copa"}]
    )
    prepare: Text | None = Field(
        None,
        description="Command run before each flow, outside the path.",
        examples=["truncate -s 1G {directory}/big"],
    )
    setup: Text | None = Field(
        None, description="Command that installs what the scheme needs.", examples=["make -C src"]
    )
    attach: Literal["vegas", "dctcp"] | None = Field(
        None,
        description="Congestion control of ours that the kernel gets while the scheme runs.",
        examples=["vegas"],
    )


def read_scheme(path: Path) -> Scheme:
    """Read a scheme file.

    Raises
    ------
    PlanError
        The file is no scheme; the message names file and key.
    """
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise PlanError(f"{path}: cannot be read as a scheme: {reason}") from error
    try:
        document = SchemeDocument.model_validate(table)
    except ValidationError as error:
        found = error.errors(include_url=False)
        # A key that is misspelt is unknown and missing: the former says more.
        first = next((each for each in found if each["type"] == "extra_forbidden"), found[0])
        key = ".".join(str(part) for part in first["loc"])
        raise PlanError(f"{path}: {key}: {_said(first['type'], key, first['msg'])}") from error
    return _scheme(document, path)


def _said(kind: str, key: str, message: str) -> str:
    if kind != "extra_forbidden":
        return message[:1].lower() + message[1:]
    sections = (SchemeDocument, SideSection, ReadySection, NeedsSection, SimulatedSection)
    meant = nearest(
        key.rsplit(".", maxsplit=1)[-1], [name for each in sections for name in each.model_fields]
    )
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
        loads={kind: _load(kind, document.loads[kind], path) for kind in LOADS if kind in document.loads},
        needs=Needs(
            tuple(needs.programs), tuple(needs.packages), needs.congestion, needs.feature, needs.root
        ),
        prepare=_words("prepare", document.prepare, path, [name for name in PLACEHOLDERS if name != "peer"]),
        setup=_words("setup", document.setup, path, known=("folder",)),
        attach=document.attach,
        simulated=_simulated(document.simulated, path),
    )


def _simulated(section: SimulatedSection | None, path: Path) -> Simulated | None:
    if section is None:
        return None
    for key in ("congestion", "load"):
        _require_known(f"simulated.{key}", getattr(section, key), path, ("load",))
    return Simulated(section.congestion, section.load)


def _load(kind: str, text: str, path: Path) -> str:
    _words(f"loads.{kind}", text, path, (*VALUES, "amount"))
    return text


def _side(name: str, section: SideSection, path: Path) -> Side:
    ready = section.ready
    return Side(
        command=_words(f"{name}.command", section.command, path) or (),
        environment=_environment(name, section.environment, path),
        ready=Ready(ready.line, ready.port, ready.after, ready.timeout),
    )


def _environment(side: str, variables: Mapping[str, str], path: Path) -> tuple[tuple[str, str], ...]:
    for name, text in variables.items():
        _require_known(f"{side}.environment.{name}", text, path, VALUES)
    return tuple(sorted(variables.items()))


def _words(
    key: str, command: str | None, path: Path, known: Sequence[str] = PLACEHOLDERS
) -> tuple[str, ...] | None:
    if command is None:
        return None
    try:
        words = tuple(shlex.split(command))
    except ValueError as error:
        raise PlanError(f"{path}: {key}: cannot be split as a shell would: {error}") from error
    _require_known(key, " ".join(words), path, known)
    return words


def _require_known(key: str, text: str, path: Path, known: Sequence[str]) -> None:
    for unknown in sorted(names_in(text) - set(known)):
        hint = f"known: {', '.join(f'{{{name}}}' for name in known)}"
        raise PlanError(f"{path}: {key}: {{{unknown}}} is unknown here", hint=hint)
