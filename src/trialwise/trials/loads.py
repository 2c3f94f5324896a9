"""What a flow carries: loads as users write them, and the words that request one from a scheme's sender."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from trialwise._core import check_load
from trialwise.errors import PlanError
from trialwise.experiment.elements import element_forms, element_keys
from trialwise.experiment.model import Level
from trialwise.experiment.placeholders import fill
from trialwise.experiment.text import frozen_or_named
from trialwise.foreign_files import MEBIBYTE, read_foreign
from trialwise.schemes.scheme import Scheme
from trialwise.trials.flow_lists import Arrivals, FlowList, flow_source
from trialwise.trials.trial_counts import bits_per_second, whole_bytes

GRAMMAR: Mapping[str, str] = {
    **element_forms("load"),
    "flows": "flows:poisson,load=50%,sizes=lognormal:mean=100kB,cv=2",
}
"""Each kind of load with an example."""
_LARGEST_RECORD = 16 * MEBIBYTE
"""Bytes of a file of frame sizes, which has at most a million lines."""


@dataclass(frozen=True, slots=True)
class Load:
    """What a flow carries.

    `amount` replaces {amount}: integer bit/s of a rate, integer bytes, the keys of requests and media. For `flows` it is the file
    of a list that is made for each trial. `ends`: it may end by itself; `lasts`: it may be cut off by the flow's stop. Of media,
    `frames` is the file of recorded frames, `rates` the range of an encoder in bit/s.
    """

    text: str
    kind: str
    amount: str
    ends: bool
    lasts: bool
    flows: FlowList | Arrivals | None = None
    frames: Path | None = None
    rates: tuple[float, float] | None = None

    @property
    def files(self) -> tuple[Path, ...]:
        """The files that it is read from."""
        frames = () if self.frames is None else (self.frames,)
        return frames if self.flows is None else self.flows.files

    def seeded(self, seed: int) -> Load:
        """Return the same load with its file by its whole name, and with the seed of its noise, if it has none."""
        if self.kind != "media":
            return self
        pairs = [pair.partition("=") for pair in self.amount.split(",")]
        if self.frames is None and all(key.strip() != "seed" for key, _, _ in pairs):
            pairs.append(("seed", "=", str(seed)))
        whole = str(self.frames and self.frames.resolve())
        return replace(
            self,
            amount=",".join(f"{key}={whole if key.strip() == 'file' else value}" for key, _, value in pairs),
        )


def parse_load(text: str, folder: Path) -> Load:
    """Parse a load such as ``rate:5Mbit/s``; files that it names are looked up in `folder`.

    Raises
    ------
    PlanError
        It is not a valid load; the message says what to write.
    """
    kind, _, amount = text.partition(":")
    if kind not in GRAMMAR or (kind == "bulk" and amount):
        raise PlanError(f"{text!r} is not a valid load", hint=f"write one of {', '.join(GRAMMAR.values())}")
    try:
        return _load(text, kind, amount, folder)
    except ValueError as error:
        raise PlanError(f"load {text!r}: {error}", hint=f"write it as in {GRAMMAR[kind]}") from error


def _load(text: str, kind: str, amount: str, folder: Path) -> Load:
    match kind:
        case "rate":
            return Load(text, kind, str(bits_per_second(amount)), ends=False, lasts=True)
        case "bytes":
            return Load(text, kind, str(whole_bytes(amount)), ends=True, lasts=False)
        case "requests":
            counted = "count" in _request_keys(amount)
            return Load(text, kind, amount, ends=counted, lasts=not counted)
        case "flows":
            source = flow_source(amount, folder)
            return Load(text, kind, "", ends=True, lasts=source.may_be_cut, flows=source)
        case "media":
            return _media(text, amount, folder)
        case _:
            return Load(text, kind, "", ends=False, lasts=True)


def _media(text: str, amount: str, folder: Path) -> Load:
    pairs = (pair.partition("=") for pair in amount.split(","))
    name = next((value.strip() for key, _, value in pairs if key.strip() == "file"), None)
    if name == "":
        raise ValueError("file= names no file")
    if name is None:
        return Load(text, "media", amount, ends=False, lasts=True, rates=check_load(text))
    file = frozen_or_named(folder, name)
    if "," in str(file.resolve()):
        raise ValueError(f"{file.resolve()} has a comma in its name; give the file or folder another one")
    try:
        content = read_foreign(file, _LARGEST_RECORD, error=PlanError).decode()
    except UnicodeDecodeError as error:
        raise ValueError(f"{file} is not text; write one frame size in bytes in each line") from error
    check_load(text, content)
    return Load(text, "media", amount, ends=False, lasts=True, frames=file)


def require_known(scheme: Scheme, load: Load) -> None:
    """Raise PlanError if a scheme does not support this kind of load."""
    if load.kind not in scheme.loads:
        hint = f"it knows: {', '.join(scheme.loads)}"
        raise PlanError(f"scheme {scheme.name} knows no load {load.kind!r}", hint=hint)


def load_words(scheme: Scheme, load: Load, values: Mapping[str, Level]) -> list[str]:
    """Return the words that request a load from a scheme's sender; raise PlanError if it does not support this kind."""
    require_known(scheme, load)
    return [fill(word, {"amount": load.amount, **values}) for word in shlex.split(scheme.loads[load.kind])]


def _request_keys(text: str) -> set[str]:
    pairs = dict(re.findall(r"(?:^|,)\s*([^=,]*?)\s*=\s*([^,]*)", text))
    known = element_keys("load", "requests")
    if unknown := set(pairs) - known:
        raise ValueError(f"requests have no key {min(unknown)!r}; there are {', '.join(sorted(known))}")
    for key in ("request", "response"):
        if key not in pairs:
            raise ValueError(f"{key} is missing")
        whole_bytes(pairs[key])
    return set(pairs)
