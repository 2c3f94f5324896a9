"""Records of re-runs that `trialwise verify` makes: what will run, what cannot, and how it ended."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from trialwise.analysis.claims.reproduction import Word
from trialwise.experiment.model import Level


@dataclass(frozen=True, slots=True)
class NotRun:
    """A claim that was not measured again: the verdict on it, and why."""

    id: str
    word: Word
    why: str


@dataclass(frozen=True, slots=True)
class PlannedRerun:
    """What will run of one packed experiment, before anything does.

    `packed` is its folder in the artifact, `folder` that in the re-run. `claims` names those it is for, `treatments` what runs:
    all in the parts `only`, each with levels of factors. `rounds` counts the complete rounds when it has run, of which `done` are
    there already; `trials` are to come, which take about `seconds` and leave about `size` bytes. `pace` is the time of a trial here
    over that of the authors, None if unknown: then the time is the authors'.
    """

    folder: str
    packed: str
    claims: tuple[str, ...]
    treatments: tuple[str, ...]
    only: Sequence[Mapping[str, tuple[Level, ...]]]
    rounds: int
    done: int
    trials: int
    seconds: float
    size: int
    pace: float | None = None


@dataclass(frozen=True, slots=True)
class Remeasured:
    """What a re-run of ours measured: `trials`, of which `failed`, in `seconds`; `ended` says why the last part of it ended.

    `rounds` and `round_seconds` are, by claim, the complete rounds here and what a further one takes.
    """

    trials: int
    failed: int
    seconds: float
    ended: str
    rounds: Mapping[str, int]
    round_seconds: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class ShownFile:
    """A packed program or input: its name in the artifact, and its SHA-256."""

    name: str
    sha256: str


@dataclass(frozen=True, slots=True)
class Shown:
    """What would run for a claim: the `sections` of the experiment file that run something, as TOML, and the files that they may use.

    `environment` says what the programs are given of this machine's. `why`: nothing would run, for this reason.
    """

    id: str
    why: str = ""
    folder: str = ""
    treatments: tuple[str, ...] = ()
    sections: tuple[str, ...] = ()
    environment: str = ""
    files: tuple[ShownFile, ...] = ()
    needs: tuple[str, ...] = ()
