"""Claims as people write them (claims.toml): what is said of which data, and how it is to be judged."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from math import isfinite
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Literal

from trialwise.experiment.file.checking import checked_as
from trialwise.experiment.file.positions import Key, key_lines
from trialwise.experiment.file.sections import ByShape, Limits, Section, Written, for_editors, key
from trialwise.experiment.file.values import (
    PERCENTAGE,
    Count,
    Extent,
    Level,
    MeasureValue,
    Percent,
    Text,
    Width,
    extent_of,
    several,
)
from trialwise.experiment.problems import Problems, either
from trialwise.experiment.quantities import Better
from trialwise.experiment.reading import toml_table
from trialwise.experiment.text import read_text

NAME = "claims.toml"
FORMAT = "trialwise-claims-1"
_WORDS = 'a number in the unit of the metric, or a text with its unit as "50ms"'
Treatment = dict[Text, Level]
"""Levels of factors that one treatment alone has."""
_OF = "Levels of the treatment, as many as tell it from the others."


@dataclass(frozen=True, slots=True)
class Amount:
    """A number with its unit; an empty one is that of what is compared with it."""

    value: float
    unit: str = ""


def _amount(value: object) -> Amount:
    if isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value):
        return Amount(float(value))
    if isinstance(value, str):
        text = value.strip()
        digits = len(text) - len(text.lstrip("+-.0123456789eE"))
        for end in range(digits, 0, -1):  # the e of a unit is none of a number
            try:
                number = float(text[:end])
            except ValueError:
                continue
            if isfinite(number):
                return Amount(number, text[end:].strip())
    raise ValueError(f"must be {_WORDS}")


AmountValue = Annotated[
    Amount,
    Written(Any, _amount, lambda amount: f"{amount.value:g}{amount.unit}" if amount.unit else amount.value),
    Limits({"anyOf": [{"type": "number"}, {"type": "string"}], "title": _WORDS}),
]
Share = Annotated[float, Limits(gt=0.5, lt=1)]
PositiveNumber = Annotated[float, Limits(gt=0, le=1e6)]
Digest = Annotated[str, Limits({"title": "64 hexadecimal digits"}, pattern=r"^[0-9a-f]{64}$")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounded(Section):
    """What is said of a number: bounds, or what it is about."""

    at_least: AmountValue | None = key(None, "It is this or more.", "9Mbit/s")
    at_most: AmountValue | None = key(None, "It is this or less.", "50ms")


@dataclass(frozen=True, slots=True, kw_only=True)
class Located(Bounded):
    """What is said of a number that may also be given by its size."""

    about: AmountValue | None = key(None, "It is about this, within the tolerance of the claim.", 0.34)


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedKpi(Bounded):
    """A percentile of the trials is bounded, as a KPI is."""

    treatment: Treatment = key(..., _OF, {"scheme": "bbr"})
    percentile: Percent = key(..., "Percentile of the trials.", 75)


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedValue(Located):
    """The mean or a percentile of the trials of one treatment."""

    treatment: Treatment = key(..., _OF, {"scheme": "bbr"})
    measure: MeasureValue = key("mean", "What of its trials: mean, median, or a percentile as p95.", "median")


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedDifference(Located):
    """The mean of one treatment minus that of another."""

    of: Treatment = key(..., _OF, {"scheme": "bbr"})
    to: Treatment = key(..., "Levels of the treatment that it is compared with.", {"scheme": "cubic"})


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedRatio(StatedDifference):
    """The mean of one treatment divided by that of another."""

    magnitude: bool = key(
        False, "With about: only the order of magnitude counts, a factor of √10 each way.", True
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedEquivalence(Section):
    """Two means differ by less than a margin."""

    of: Treatment = key(..., _OF, {"scheme": "bbr"})
    to: Treatment = key(..., "Levels of the treatment that it is compared with.", {"scheme": "cubic"})
    within: Width = key(..., "The margin: of the mean of `to`, or in the unit of the metric.", "2%")


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedBest(Section):
    """One treatment is better than each other one."""

    treatment: Treatment = key(..., _OF, {"store": "ours"})
    over: Text = key(..., "The factor whose levels are compared.", "store")
    where: Treatment = key(
        ..., "Levels of other factors at which.", {"threads": 16}, factory=dict[str, Level]
    )
    better: Better | None = key(None, "Which way is better, where the data do not say.", "lower")


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedRanking(Section):
    """The levels of a factor stand in an order, from the best to the worst."""

    over: Text = key(..., "The factor whose levels are compared.", "threads")
    order: Annotated[tuple[Level, ...], several(Level, min_length=2)] = key(
        ..., "Its levels, from the best to the worst.", [16, 8, 4]
    )
    where: Treatment = key(
        ..., "Levels of other factors at which.", {"store": "ours"}, factory=dict[str, Level]
    )
    better: Better | None = key(None, "Which way is better, where the data do not say.", "lower")


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedEvery(Bounded):
    """Each trial is bounded."""

    where: Treatment = key(
        ..., "Levels of factors: only these treatments.", {"scheme": "bbr"}, factory=dict[str, Level]
    )


_Metrics = Annotated[
    Literal["all"] | tuple[str, ...],
    ByShape(value=Literal["all"], items=Annotated[tuple[str, ...], several(Text)]),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedIdentity(Section):
    """The same trials with the same seeds give the same numbers in a re-run, in every bit, or write the same bytes."""

    metrics: _Metrics | None = key(
        None,
        "The metrics whose numbers repeat, with all samples: all, or a list of names; all if written is not given.",
        ["p99_slowdown"],
    )
    written: Annotated[tuple[str, ...], several(Text)] = key(
        (),
        "What trials print or write that repeats byte for byte: stdout, stderr, or names and patterns of kept files.",
        ["stdout", "out/*.json"],
    )
    where: Treatment = key(
        ..., "Levels of factors: only these treatments.", {"cc": "hpcc"}, factory=dict[str, Level]
    )


Said = (
    StatedKpi
    | StatedValue
    | StatedDifference
    | StatedRatio
    | StatedEquivalence
    | StatedBest
    | StatedRanking
    | StatedEvery
    | StatedIdentity
)
KINDS = ("kpi", "value", "difference", "ratio", "equivalent", "best", "ranking", "every", "identical")
"""Keys of a claim of which it has exactly one."""


def _relative(value: object) -> Extent:
    found = extent_of(value)
    if not found.relative:
        raise ValueError('must be a percentage as "3%"')
    return found


RelativeWidth = Annotated[
    Extent,
    Written(Any, _relative, lambda extent: extent.text),
    Limits({"type": "string", "pattern": PERCENTAGE, "title": 'a percentage as "3%"'}),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class SmallRun(Section):
    """The smallest run that says anything of a claim."""

    where: dict[Text, list[Level]] = key(
        ...,
        "Levels of factors, of which it takes no other.",
        {"threads": [1, 4]},
        factory=dict[str, list[Level]],
    )
    rounds: Count | None = key(None, "Rounds.", 5)
    minutes: PositiveNumber | None = key(
        None, "About how long it takes; without rounds, it is as many of them as fit.", 4
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedNeeds(Section):
    """What a machine needs to measure the claims again."""

    cores: Count | None = key(None, "Cores.", 16)
    memory: Text | None = key(None, "Memory.", "64GiB")
    disk: Text | None = key(None, "Free disk space.", "40GiB")
    root: bool = key(False, "Whether it needs the rights of root.", True)
    other: Annotated[tuple[str, ...], several(Text)] = key(
        (), "What else it needs or does, such as rebooting or writing to devices.", ["reboot"]
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedClaim(Section):
    """One claim."""

    id: Annotated[
        str, Limits({"title": "letters, digits, - and _"}, pattern=r"^[A-Za-z0-9_\-]+$", max_length=64)
    ] = key(..., "Its name in the paper.", "C1")
    text: Text = key(..., "The sentence, with its place in the paper.", "BBR halves the delay (Figure 4)")
    metric: Text = key("", "The metric; of identical, those that it lists.", "delay")
    data: Text | None = key(None, "Which [[data]], if there are several.", "field")
    level: Share | None = key(None, "Confidence of its verdict; default that of [defaults].", 0.99)
    tolerance: Width | None = key(
        None, "How far a repetition may be off and still agree; `about` is judged by it, too.", "15%"
    )
    host_spread: RelativeWidth | None = key(
        None, "Standard deviation of its number from host to host, as your own hosts show it.", "3%"
    )
    machine: Literal["same-kind"] | None = key(
        None,
        "It is about machines of one kind: on another kind it is not comparable, whatever it says.",
        "same-kind",
    )
    expected: Literal["undecided"] | None = key(
        None, "The data are known not to decide it: `pack` takes it nevertheless.", "undecided"
    )
    rerun: bool = key(True, "Whether it can be measured again by others; else it is recomputed only.", False)
    small: SmallRun | None = key(None, "The smallest run that says anything of it.")
    figure: Text | None = key(None, "The figure that shows it.", "figures/plane.svg")
    kpi: StatedKpi | None = key(None, "A percentile of the trials is bounded.")
    value: StatedValue | None = key(
        None, "The mean or a percentile of the trials is bounded, or about a number."
    )
    difference: StatedDifference | None = key(
        None, "A difference of two means is bounded, or about a number."
    )
    ratio: StatedRatio | None = key(None, "A ratio of two means is bounded, or about a number.")
    equivalent: StatedEquivalence | None = key(None, "Two means differ by less than a margin.")
    best: StatedBest | None = key(None, "One treatment is better than each other one.")
    ranking: StatedRanking | None = key(None, "The levels of a factor stand in an order.")
    every: StatedEvery | None = key(None, "Each trial is bounded.")
    identical: StatedIdentity | None = key(
        None,
        "The same seeds give the same numbers, or write the same bytes; shown by a re-run, and never by the data alone.",
    )

    @property
    def said(self) -> Said:
        """What is claimed."""
        return next(said for name in KINDS if (said := getattr(self, name)) is not None)

    @property
    def kind(self) -> str:
        """The key that says what is claimed."""
        return next(name for name in KINDS if getattr(self, name) is not None)

    @property
    def may_be_undecided(self) -> bool:
        """Whether data that do not decide it can be published: its authors say so, or no data could."""
        return self.expected is not None or self.identical is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimData(Section):
    """What claims are checked on: an experiment directory, or files of other tools."""

    name: Text | None = key(None, "Its name, where there are several.", "field")
    directory: Text | None = key(
        None, "An experiment directory, from the folder of this file.", "tcp-over-12mbit"
    )
    files: Annotated[tuple[str, ...], several(Text)] = key(
        (), "Files of other tools, with * and ?.", ["results/*.json"]
    )
    factor: Text | None = key(None, "How names of files give factors.", "{cc}_{rep}.json")
    head: Digest | None = key(None, "The last hash of the ledger's chain; `pack` writes it.")
    sha256: Digest | None = key(None, "The hash over the files; `pack` writes it.")


def _tuple(one: ClaimData | list[ClaimData]) -> tuple[ClaimData, ...]:
    return tuple(one) if isinstance(one, list) else (one,)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimDefaults(Section):
    """What holds for every claim that does not say otherwise."""

    level: Share = key(0.95, "Confidence of each verdict.", 0.99)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimsFile(Section):
    """A file of claims."""

    format: Literal["trialwise-claims-1"] = key(..., "The format and its version.")
    data: Annotated[tuple[ClaimData, ...], Written(ClaimData | list[ClaimData], _tuple, list)] = key(
        (), "What the claims are checked on; default the folder of this file."
    )
    needs: StatedNeeds = key(..., factory=StatedNeeds)
    defaults: ClaimDefaults = key(..., factory=ClaimDefaults)
    claims: Annotated[tuple[StatedClaim, ...], several(StatedClaim, min_length=1)] = key(
        ..., "The claims.", name="claim", missing="add [[claim]] with id, text, metric and what is claimed"
    )


def claims_schema() -> dict[str, Any]:
    """Return the JSON Schema of a file of claims, for editors."""
    return for_editors(ClaimsFile, "claims")


def read_claims(path: Path) -> ClaimsFile:
    """Read a file of claims.

    Raises
    ------
    PlanError
        It cannot be read or is wrong; all problems are named, each with its line and what to do.
    """
    text = read_text(path)
    table = toml_table(text, path)
    problems = Problems(path, key_lines(text))
    found = checked_as(ClaimsFile, table, problems)
    if found is not None:
        for at, problem, hint in _problems(found, table):
            problems.add(at, problem, hint)
    problems.raise_any()
    if found is None:
        raise AssertionError("a file was refused without a reason")
    return found


def _problems(found: ClaimsFile, table: Mapping[str, Any]) -> Iterator[tuple[Key, str, str | None]]:
    several_data = isinstance(table.get("data"), list)
    names = [data.name for data in found.data]
    for place, data in enumerate(found.data):
        yield from _of_data(data, ("data", place) if several_data else ("data",), names)
    ids: set[str] = set()
    for place, claim in enumerate(found.claims):
        at: Key = ("claim", place)
        if claim.id in ids:
            yield (*at, "id"), f'two claims are called "{claim.id}"', None
        ids.add(claim.id)
        if claim.data is not None and claim.data not in names:
            known = either(name for name in names if name) or "none has a name"
            yield (*at, "data"), f'no [[data]] is called "{claim.data}"', f"there are: {known}"
        if claim.data is None and len(names) > 1:
            yield at, "does not say which [[data]]", f'add data = "{names[0]}"'
        yield from _of_claim(claim, at)


def _of_data(data: ClaimData, at: Key, names: list[str | None]) -> Iterator[tuple[Key, str, str | None]]:
    if (data.directory is None) == (not data.files):
        yield at, "must have either directory or files", None
    if len(names) > 1 and (data.name is None or names.count(data.name) > 1):
        yield at, "needs a name of its own, because there are several", None
    for name in (*data.files, *([data.directory] if data.directory else [])):
        pure = PurePosixPath(name)
        if pure.is_absolute() or ".." in pure.parts:
            yield (
                at,
                f'"{name}" leads outside of the folder of this file',
                "put the file of claims beside its data",
            )


def _of_claim(claim: StatedClaim, at: Key) -> Iterator[tuple[Key, str, str | None]]:
    given = [name for name in KINDS if getattr(claim, name) is not None]
    if len(given) != 1:
        said = f"claims {' and '.join(given)} at once" if given else "does not say what is claimed"
        yield at, said, f"exactly one of: {', '.join(KINDS)}"
        return
    said = claim.said
    if (claim.metric == "") != isinstance(said, StatedIdentity):
        has = "names a metric beside identical" if claim.metric else "is missing"
        hint = "list metrics in identical" if claim.metric else 'add metric = "…"'
        yield (*at, "metric"), has, hint
    if not isinstance(said, Bounded):
        return
    at = (*at, given[0])
    ends = [name for name in ("at_least", "at_most", "about") if getattr(said, name, None) is not None]
    if not ends:
        allowed = [field.name for field in fields(said) if field.name in {"at_least", "at_most", "about"}]
        yield at, f"says no bound: one of {either(allowed)}", None
    about = getattr(said, "about", None)
    if about is not None and len(ends) > 1:
        yield at, "has about and a bound: one of them", None
    elif about is not None and claim.tolerance is None and not getattr(said, "magnitude", False):
        yield at, "about needs the tolerance of the claim", 'add tolerance = "15%"'
    if isinstance(said, StatedRatio) and said.magnitude and about is None:
        yield at, "magnitude goes with about", None
