"""What other programs recorded of trials, beside their values: in which order they ran, which failed, the samples inside them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from trialwise.analysis.effects.table import SampleSeries
from trialwise.analysis.order.trials import RECORDED, OrderTrials, recorded_trials
from trialwise.analysis.trial_set import TrialSet
from trialwise.arrays import Array
from trialwise.errors import AnalysisError
from trialwise.late import pl
from trialwise.numbers import counted


@dataclass(frozen=True, slots=True)
class Turn:
    """A place in the order of execution, also of a trial without a value: `order` is fixed or random; positions count from 1.

    `process` names the trial's process in the table of its `TrialSet`.
    """

    treatment: str
    process: str
    order: str
    round: str
    position: int
    worker: str = ""


@dataclass(frozen=True, slots=True)
class Lost:
    """A trial without a value: `status` is failed or partial."""

    treatment: str
    status: str
    reason: str


@dataclass(frozen=True, slots=True)
class Samples:
    """The samples of one metric of one trial, in the metric's unit.

    `times` are seconds, since 1970 if `dated`, else since the trial began; None if unknown.
    """

    metric: str
    treatment: str
    process: str
    values: Array
    times: Array | None = None
    dated: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """What files of other programs say of trials.

    Attributes
    ----------
    trials
        The values.
    turns
        In which order the trials ran, round after round; empty if that is not known, or there are no rounds.
    no_order
        Why there are no turns, and what would lift it; empty texts if there are.
    is_ordered
        Whether it is known in which order the trials ran, in rounds or not.
    lost
        The trials that have no value.
    samples
        The samples inside trials.
    untold
        What is to be known about the order beside the notes on the trials.
    """

    trials: TrialSet
    turns: Sequence[Turn] = ()
    no_order: tuple[str, str] = (
        "it is not known in which order the trials ran",
        "`trialwise order` reads tables with columns treatment, round and position",
    )
    is_ordered: bool = True
    lost: Sequence[Lost] = ()
    samples: Sequence[Samples] = ()
    untold: Sequence[str] = field(default_factory=tuple)

    def check(self, wanted: Sequence[str]) -> Sequence[str]:
        """Return the metrics with these names, or all.

        Raises
        ------
        AnalysisError
            A name is not among the metrics.
        """
        for name in wanted:
            if name not in self.trials.metrics:
                known = ", ".join(self.trials.metrics)
                raise AnalysisError(f"{self.trials.name}: no metric {name!r}", hint=f"there are: {known}")
        return wanted or tuple(self.trials.metrics)

    def of(self, wanted: Sequence[str]) -> TrialSet:
        """Return the trials of some metrics, or of all.

        Raises
        ------
        AnalysisError
            A metric does not exist.
        """
        metrics = self.check(wanted)
        return replace(
            self.trials,
            metrics={name: self.trials.metrics[name] for name in metrics},
            table=self.trials.table.filter(pl.col("metric").is_in(list(metrics))),
        )

    def units(self) -> TrialSet:
        """Return the trials with one value for each process: the mean of what it measured again and again."""
        table = self.trials.table
        if not table.select("metric", "process").is_duplicated().any():
            return self.trials
        keys = ["metric", "treatment", "process"]
        means = (
            table.group_by(keys, maintain_order=True)
            .agg(
                pl.col("value").mean(),
                pl.col("seconds").mean() * pl.len(),  # null if unknown, where a sum would be 0
                pl.all().exclude("value", "seconds").first(),
            )
            .with_columns(pl.col("process").alias("trial"))
            .select(table.columns)
        )
        note = f"{table.height} values come from {counted(means.height, 'process', 'processes')}, and the mean of each is one value"
        return self.trials.replaced(means, note)

    def order(self, wanted: Sequence[str] = ()) -> OrderTrials:
        """Return the trials with their order, of some metrics or of all; trials without a value took their place, too.

        Raises
        ------
        AnalysisError
            The order is not known, or a metric does not exist.
        """
        why, hint = self.no_order
        if not self.turns:
            raise AnalysisError(f"{self.trials.name}: {why}", hint=hint)
        rows = [row for metric in self.check(wanted) for row in self._rows(metric)]
        table = pl.DataFrame(rows, schema=RECORDED, orient="row")
        notes = (*self.trials.notes, *self.untold)
        found = recorded_trials(self.trials.name, table, (), notes, "import files that hold values")
        better = {
            name: facts.better for name, facts in self.trials.metrics.items() if facts.better is not None
        }
        return replace(found, better=better)

    def _rows(self, metric: str) -> Iterator[tuple[object, ...]]:
        own = self.trials.of(metric)
        values: Mapping[str, float] = dict(
            own.group_by("process").agg(pl.col("value").mean()).select("process", "value").iter_rows()
        )
        for line, turn in enumerate(self.turns, 1):
            value = values.get(turn.process)
            place = float(turn.position)
            yield (
                line, metric, "", metric, turn.treatment, turn.order, turn.worker, turn.round, place, value,
                turn.position > 1,
            )  # fmt: skip

    def series(self) -> Iterator[SampleSeries]:
        """Yield the samples inside each trial; a trial without samples has its value as the only one."""
        inside = {(each.metric, each.process) for each in self.samples}
        for each in self.samples:
            yield SampleSeries(each.metric, each.treatment, each.process, each.values)
        for metric, treatment, process, value in self.trials.table.select(
            "metric", "treatment", "process", "value"
        ).iter_rows():
            if (metric, process) not in inside:
                yield SampleSeries(metric, treatment, process, np.array([value]))
