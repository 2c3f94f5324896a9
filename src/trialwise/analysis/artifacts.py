"""Records of artifacts: what was packed, and what an artifact says when it is verified."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from trialwise.analysis.claims.reproduction import FINE, NOT_REPRODUCED, RECOMPUTED, Reproduced
from trialwise.analysis.claims.results import ClaimResult, Verdict
from trialwise.analysis.environments import EnvironmentDifference
from trialwise.analysis.reruns import NotRun, Remeasured

UNKNOWN_COST = 'CPU time and memory count services too, and are known where metrics ask for them: service = "NAME.cpu", "NAME.memory".'
"""What brings in a cost that was not recorded."""


@dataclass(frozen=True, slots=True)
class Outside:
    """A program that the trials ran and that is not packed: its name, the first digits of its SHA-256, and why."""

    name: str
    sha256: str
    why: str


@dataclass(frozen=True, slots=True)
class PackedExperiment:
    """One experiment: where it is in the artifact, what ran, and when; times in Unix seconds.

    `head` is that of the ledger's hash chain over `rows` rows, None if it has none. `excluded` names trials
    that somebody left out, with the reasons. `packages` have the other programs and libraries that the trials ran, with versions,
    `machines` says on what kinds of machine they ran.
    """

    name: str
    folder: str
    about: str
    command: str
    treatments: int
    trials: int
    begun: float
    ended: float
    version: str
    programs: tuple[str, ...]
    outside: tuple[Outside, ...]
    packages: tuple[str, ...]
    machines: tuple[str, ...]
    head: str | None
    rows: int
    excluded: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PackedClaim:
    """A claim with its result on the packed data, and what the trials that it rests on cost.

    `seconds` is the sum of their times with resets, `processor` that of their CPU time in seconds, `memory` the largest peak in bytes
    of a process (None where not all trials recorded them), `size` the bytes that they left. `root`: whether they ran with the rights
    of root; None if that was not recorded. `figure` is the one that the claim names, or empty.
    `expected`: it is known to be undecided. `rerun`: others can measure it again.
    """

    result: ClaimResult
    figure: str
    folder: str
    trials: int
    seconds: float
    processor: float | None
    memory: float | None
    root: bool | None
    size: int
    expected: bool
    rerun: bool


@dataclass(frozen=True, slots=True)
class Replaced:
    """A name of a host or a user, what stands for it, and how often; `stays` counts files of measured data that still hold it."""

    name: str
    stand_in: str
    times: int
    stays: int


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """A re-run in an empty folder before the artifact was finished: the verdict on each claim, and whether another user made it."""

    by_another_user: bool
    verdicts: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Packed:
    """What was packed, and what its authors have to know before they publish it; sizes in bytes.

    `removed` names variables that look like secrets, `left_out` files that are no regular files or not there. `signed`: it bears a
    signature. `rehearsal`: how it went, if there was one.
    """

    path: str
    identity: str
    files: int
    size: int
    experiments: tuple[PackedExperiment, ...]
    claims: tuple[PackedClaim, ...]
    replaced: tuple[Replaced, ...]
    removed: tuple[str, ...]
    left_out: tuple[str, ...]
    authors: int
    doi: str
    signed: bool
    rehearsal: Rehearsal | None


@dataclass(frozen=True, slots=True)
class Signed:
    """Who signed an artifact: the fingerprint of the `key`, the `name` that allowed signers give it, and what is wrong."""

    key: str | None
    name: str | None
    problem: str | None


@dataclass(frozen=True, slots=True)
class Integrity:
    """The `identity` of an artifact, the number of its `files`, and those that are not what the manifest says.

    `signed`: who signed it; None if nobody did, and nobody in particular was to.
    """

    identity: str
    files: int
    changed: tuple[str, ...]
    missing: tuple[str, ...]
    added: tuple[str, ...]
    signed: Signed | None = None

    @property
    def has_its_files(self) -> bool:
        """Whether the files are those of the manifest, no more and no less."""
        return not (self.changed or self.missing or self.added)

    @property
    def is_whole(self) -> bool:
        """Whether it has its files, and is signed by whom it is to be, if anybody."""
        return self.has_its_files and (self.signed is None or self.signed.problem is None)


@dataclass(frozen=True, slots=True)
class KeptOutputs:
    """What trials printed and wrote, beside the ledger: of `total` numbers that are read from it, how many are the same.

    Samples of one trial count as one. `differences` names the first that `differ`. `uncompared` are trials of which a number could not
    be read again, by the reason, and `not_reached` counts those for which time or memory did not suffice.
    """

    total: int
    agree: int
    differ: int
    differences: tuple[str, ...]
    uncompared: Mapping[str, str]
    not_reached: int


@dataclass(frozen=True, slots=True)
class PackedLedger:
    """The ledger of a folder of an artifact: the `head` of its hash chain, None if its format has none, and the `rows` of that.

    Of `later` rows it is known only that they did not change since the ledger was upgraded. `broken` says what is not as recorded.
    `outputs` compares the numbers with what was kept of the trials; None if `broken`, or if that could not be read.
    """

    folder: str
    head: str | None
    rows: int
    later: int
    broken: tuple[str, ...]
    outputs: KeptOutputs | None = None

    @property
    def problems(self) -> tuple[str, ...]:
        """What is not as it was recorded, and the first numbers that what was kept does not give."""
        return (*self.broken, *(() if self.outputs is None else self.outputs.differences))

    @property
    def is_whole(self) -> bool:
        """Whether it is as it was recorded, and what was kept gives its numbers."""
        return not self.problems


@dataclass(frozen=True, slots=True)
class VerifiedClaim:
    """A claim as the data of an artifact give it now, and whether that is what its authors packed (None: they packed no result).

    `expected`: the authors say that the data do not decide it.
    """

    result: ClaimResult
    same: bool | None
    authors: Verdict | None
    expected: bool

    @property
    def holds(self) -> bool:
        """Whether it is supported, or undecided as its authors say, with the result that they packed."""
        fine = self.result.verdict == "supported" or (self.expected and self.result.verdict == "undecided")
        return fine and self.same is not False


@dataclass(frozen=True, slots=True)
class Prospect:
    """What measuring a claim again takes on this machine, from what the authors' trials took.

    `runs`: whether nothing is seen to be in its way here, and `why` if something is; None if only its own code shows that. Its
    smallest re-run (`--kick`) takes about `smallest` seconds, and one that decides it (`--claim`) about `decided`: the authors' time,
    times `pace`, that of a trial here over theirs, if trials ran here. None where nothing can run. The authors' `trials` used
    `processor` seconds of CPU time, a peak of `memory` bytes, `size` bytes of disk, and `root`, the rights of root; None where that
    was not recorded.
    """

    id: str
    runs: bool | None
    why: str
    trials: int
    processor: float | None
    memory: float | None
    size: int
    root: bool | None
    smallest: float | None = None
    decided: float | None = None
    pace: float | None = None


@dataclass(frozen=True, slots=True)
class Here:
    """What it takes to measure the claims of an artifact again on this machine.

    `needs` is what its authors state, `differences` what differs and matters most between their machine and this one, and `more`
    counts the other differences. `uncompared` counts the packed experiments that were not compared with this machine.
    """

    needs: tuple[str, ...]
    claims: tuple[Prospect, ...]
    differences: tuple[EnvironmentDifference, ...]
    more: int
    uncompared: int = 0


@dataclass(frozen=True, slots=True)
class Rerun:
    """A re-run of an artifact's experiment: where it is, each claim on it, and what differs of ranks 1 to 3.

    `not_run` are claims that were not measured again. `measured` says what a re-run that `verify` made itself measured.
    """

    path: str
    claims: tuple[Reproduced, ...]
    differences: tuple[EnvironmentDifference, ...]
    not_run: tuple[NotRun, ...] = ()
    measured: Remeasured | None = None

    @property
    def exit_code(self) -> int:
        """1 if a claim is not reproduced, 3 if anything is open, else 0; what can only be recomputed leaves nothing open."""
        words = {each.word for each in (*self.claims, *self.not_run)}
        if NOT_REPRODUCED in words:
            return 1
        return 0 if words <= {*FINE, RECOMPUTED} else 3


@dataclass(frozen=True, slots=True)
class Verified:
    """An artifact: whether its files and ledgers are whole, its claims as recomputed, and notes on the data.

    `here` says what it takes to measure the claims again on this machine, if that was asked for.

    Ledgers are read only if the files are whole, and claims only if the ledgers are.
    """

    path: str
    integrity: Integrity
    ledgers: tuple[PackedLedger, ...]
    claims: tuple[VerifiedClaim, ...]
    notes: tuple[str, ...]
    rerun: Rerun | None = None
    here: Here | None = None

    @property
    def is_whole(self) -> bool:
        """Whether files and ledgers are as they were packed and recorded."""
        return self.integrity.is_whole and all(ledger.is_whole for ledger in self.ledgers)

    @property
    def exit_code(self) -> int:
        """5 if it is not whole, 1 if a claim does not hold as packed, then what the re-run says, or 3 if one is undecided."""
        if not self.is_whole:
            return 5
        failing = [claim for claim in self.claims if not claim.holds]
        if any(claim.result.verdict == "contradicted" or claim.same is False for claim in failing):
            return 1
        own = 3 if failing else 0
        return own if self.rerun is None else self.rerun.exit_code
