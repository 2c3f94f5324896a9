"""What a reader returns: a row for each metric of each unit of replication, and what is to be known about them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from trialwise.numbers import first_of

Better = Literal["lower", "higher"]
Status = Literal["finished", "failed", "partial", "aggregated"]
Level = Literal["host", "boot", "build", "file", "process", "repetition"]
LEVELS: tuple[Level, ...] = ("host", "boot", "build", "file", "process", "repetition")
"""What trials nest in, from the highest."""
ERRORS = "errors"
"""The metric that counts what failed inside a trial: it has a value where all failed, and the trial has no other."""


@dataclass(frozen=True, slots=True)
class Inside:
    """Samples inside a trial, in the metric's unit; `name` is what one of them is, such as "interval" or "request"."""

    name: str
    values: Sequence[float]
    times: Sequence[float] | None = None
    """Seconds, since the beginning of the trial or of the Unix epoch."""
    repeated: bool = False
    """True if each is the metric measured again, as an iteration is; False for parts of one measurement, as intervals are."""


@dataclass(frozen=True, slots=True)
class Summary:
    """What a tool kept of values that it did not: number, standard deviation, standard error and interval of the mean, percentiles."""

    n: int | None = None
    deviation: float | None = None
    error: float | None = None
    interval: tuple[float, float] | None = None
    level: float | None = None
    percentiles: Mapping[float, float] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One metric of one trial.

    Attributes
    ----------
    treatment
        Levels by factor, as text.
    metric, value, unit, better
        The value in `unit`; None if it is missing, which is never 0. `better` is None if the file does not say.
    levels
        The units that the trial nests in, by level; equal names within one file mean the same unit.
    status, reason
        "failed" rows have a reason; "aggregated" ones are a tool's mean of trials that are not in the file.
    order
        Position in execution; None if unknown.
    start, end
        Unix seconds; None if unknown.
    seconds
        How long the trial took, where it is known without its times.
    where
        A JSON pointer or a line: where in the file it stands.
    """

    treatment: Mapping[str, str]
    metric: str
    value: float | None
    unit: str
    better: Better | None = None
    levels: Mapping[str, str] = field(default_factory=dict[str, str])
    status: Status = "finished"
    reason: str = ""
    order: int | None = None
    start: float | None = None
    end: float | None = None
    seconds: float | None = None
    samples: Inside | None = None
    summary: Summary | None = None
    where: str = ""

    @property
    def repetitions(self) -> Sequence[float]:
        """The metric as it was measured again and again within the trial; else the value alone, or nothing."""
        if self.samples is not None and self.samples.repeated:
            return self.samples.values
        return () if self.value is None else (self.value,)


MOST_LISTED = 10
"""Names that a note lists at most."""


def listed(names: Sequence[str]) -> str:
    """List names in a note."""
    return first_of(names, MOST_LISTED)


@dataclass(frozen=True, slots=True)
class Note:
    """What to know about a file: a code of `codes.CODES`, and its sentence; `names` are those that it lists, which differ by file."""

    code: str
    text: str
    names: tuple[str, ...] = field(default=(), compare=False)

    @property
    def stem(self) -> str:
        """The sentence without the list."""
        return self.text.replace(listed(self.names), "\0", 1) if self.names else self.text

    @staticmethod
    def joined(notes: Sequence[Note]) -> Iterator[str]:
        """Yield the sentences of files, each once; of those with a list, one with the names of all."""
        found: dict[str, dict[str, None]] = {}
        for note in notes:
            found.setdefault(note.stem, {}).update(dict.fromkeys(note.names))
        yield from (
            stem.replace("\0", listed(list(names)), 1) if names else stem for stem, names in found.items()
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What was read from one file or folder.

    `replicated` is the level that was repeated under the same treatment and that the tool restarted, and `unit` says it in words.
    `facts` are what the file tells about the machine and the program: they describe all rows. `options` are settings of the tool:
    factors where they differ between files. `named` are the factors that suffice to tell treatments apart; empty if all are needed.
    `subjects` are factors that say what was measured, as the name of a benchmark is: treatments are compared with each other where
    these are equal. `commits` are those that the file tells of, with the Unix time at which they were made where it tells that too.
    """

    path: str
    digest: str
    format: str
    tool: str
    version: str
    replicated: Level
    unit: str
    rows: Sequence[Row]
    notes: tuple[Note, ...]
    facts: Mapping[str, str]
    options: Mapping[str, str] = field(default_factory=dict[str, str])
    named: tuple[str, ...] = ()
    subjects: tuple[str, ...] = ()
    commits: Mapping[str, float | None] = field(default_factory=dict[str, float | None])

    def levels_of(self, treatment: Mapping[str, str]) -> dict[str, str]:
        """Return the factors that tell a treatment of this file apart, with their levels."""
        return {name: level for name, level in treatment.items() if not self.named or name in self.named}
