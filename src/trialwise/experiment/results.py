"""Section [results]: what a harness prints becomes metrics, found while trials run, and what is claimed about them by pattern."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Annotated

from trialwise.experiment.file.sections import Limits, Section, Written, key
from trialwise.experiment.file.values import Text
from trialwise.experiment.metrics import Better, Metric
from trialwise.experiment.sources import ResultSource, TextSource

if TYPE_CHECKING:
    from trialwise.experiment.model import Experiment

_STDOUT = "stdout"
KEY = ("results", "metrics")
"""Key of the tables of claims."""


@dataclass(frozen=True, slots=True)
class ResultsTable(Section):
    """What the harness that the command starts prints: each benchmark and metric of it becomes a metric, found while trials run."""

    format: Text = key(
        "auto",
        "What the harness writes: a format that `trialwise look` reads, such as go-bench, pyperf, pytest-benchmark, hyperfine, jmh or "
        "google-benchmark; auto recognises it.",
        "go-bench",
    )
    place: Text = key(
        _STDOUT,
        "Where: stdout, a file that the trial writes, or a folder that it makes in {directory}, as criterion's.",
        "{directory}/out.json",
        name="from",
        filled=True,
    )
    keep: Annotated[tuple[str, ...], Written(Annotated[list[Text], Limits(min_length=1)], tuple, list)] = key(
        ("*",),
        "Which to keep: patterns of the names of benchmarks, or of metrics (BENCHMARK:METRIC), with * and ?.",
        ["Encode/*", "*:time"],
    )
    metrics: dict[Text, Metric] = key(
        ...,
        "What is claimed about the metrics that a pattern matches; of several patterns the first counts.",
        {"Encode/*": {"stop": {"precision": "2%"}}},
        factory=dict[str, Metric],
    )

    @property
    def text(self) -> TextSource:
        """Where the harness writes."""
        return TextSource(None if self.place == _STDOUT else self.place)

    def keeps(self, benchmark: str, name: str) -> bool:
        """Return True if a metric is to be kept, by the name of its benchmark or its own."""
        return any(fnmatchcase(benchmark, pattern) or fnmatchcase(name, pattern) for pattern in self.keep)


@dataclass(frozen=True, slots=True)
class Claim:
    """What is claimed about the metrics that a pattern matches, as a metric for each direction that these may turn out to have."""

    pattern: str
    by_direction: Mapping[Better | None, Metric]

    @property
    def metric(self) -> Metric:
        """The metric in place of those that are not found yet; its name is the pattern."""
        return self.by_direction[None]

    def matches(self, name: str) -> bool:
        """Return True if a metric, or its benchmark, is meant."""
        return fnmatchcase(name, self.pattern) or fnmatchcase(name.rpartition(":")[0], self.pattern)


@dataclass(frozen=True, slots=True)
class Results(ResultsTable):
    """The section with its claims completed."""

    claims: tuple[Claim, ...] = field(default=())

    def changed(self, change: Callable[[Metric], Metric]) -> Results:
        """Return the section with other claims."""
        claims = tuple(
            Claim(claim.pattern, {better: change(metric) for better, metric in claim.by_direction.items()})
            for claim in self.claims
        )
        return replace(self, claims=claims, metrics={claim.pattern: claim.metric for claim in claims})

    def metric(self, source: ResultSource) -> Metric:
        """Return the metric of what was found, with the claims of the first pattern that matches it."""
        claim = next((claim for claim in self.claims if claim.matches(source.name)), None)
        found = Metric(source.name, source) if claim is None else claim.by_direction[source.better]
        return replace(
            found,
            name=source.name,
            source=source,
            unit=source.unit or found.unit,
            better=found.better or source.better,
        )


def templates(results: Results | None) -> tuple[Metric, ...]:
    """Return the metrics in place of those that the patterns will match."""
    return () if results is None else tuple(claim.metric for claim in results.claims)


def declared(experiment: Experiment) -> tuple[Metric, ...]:
    """Return the metrics that the file names, without those that trials found."""
    return tuple(metric for metric in experiment.metrics if not isinstance(metric.source, ResultSource))


def claimed(experiment: Experiment) -> Iterator[Metric]:
    """Yield the metrics, and those in place of patterns of [results] that match none of them yet."""
    yield from experiment.metrics
    if experiment.results is not None:
        found = [metric.name for metric in experiment.metrics if isinstance(metric.source, ResultSource)]
        yield from (claim.metric for claim in experiment.results.claims if not any(map(claim.matches, found)))


def with_found(experiment: Experiment, keys: Iterable[str]) -> Experiment:
    """Return the experiment with the metrics that its trials have found, by the keys of their sources, in this order.

    Those with claims come first, in the order of these. A name that has several units or directions means the first of them.
    """
    if experiment.results is None:
        return experiment
    known = {metric.name for metric in experiment.metrics}
    first: dict[str, ResultSource] = {}
    for source in map(ResultSource.from_key, keys):
        if source is not None and source.name not in known:
            first.setdefault(source.name, source)
    metrics = [experiment.results.metric(source) for source in first.values()]
    if not metrics:
        return experiment
    return replace(experiment, metrics=(*experiment.metrics, *_by_claims(experiment.results.claims, metrics)))


def _by_claims(claims: Sequence[Claim], metrics: Iterable[Metric]) -> list[Metric]:
    def rank(metric: Metric) -> int:
        return next((at for at, claim in enumerate(claims) if claim.matches(metric.name)), len(claims))

    return sorted(metrics, key=rank)


def key_of(metric: Metric) -> tuple[str, ...]:
    """Return the key of a metric's table in the file; that of a found one has its name in place of the pattern."""
    return (*(KEY if isinstance(metric.source, ResultSource) else ("metrics",)), metric.name)
