"""What the stages of an experiment ask of a trial and of a metric's source, whatever kind they are.

Nothing outside a kind asks which one it is: a kind answers what differs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeVar

from trialwise.experiment.file.sections import Section, table_of

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler
    from pydantic_core import CoreSchema

    from trialwise.experiment.file.document import Document
    from trialwise.experiment.file.positions import Key
    from trialwise.experiment.metrics import Better, Metric, MetricTable
    from trialwise.experiment.model import Experiment
    from trialwise.experiment.problems import Problems

Record = TypeVar("Record")


@dataclass(frozen=True, slots=True, kw_only=True)
class Traits:
    """How trials differ, as far as others have to know.

    Attributes
    ----------
    computed
        No machine and no clock takes part: how long a trial takes has nothing to do with the time that it simulates, no order and
        no environment changes it, and Dask may compute it.
    cheap
        Trials cost little: thousands are a matter of course, and a rule may look at them as they come.
    simulates_runtime
        `runtime` of the file is time that is simulated, and not how long a trial takes.
    shares_processes
        The trials of a treatment share one process in each series.
    block
        Rounds whose trials are one sample together; 1 where each is one by itself.
    weighted
        A trial's values say something only with its weights.
    workload
        Where the flows of a trial come from: drawn at random, a file, or nothing that is known.
    flow_records
        What becomes of the record of every flow.
    set_apart
        Seconds at the start and at the end of the workload's duration, whose flows are set apart.
    own_namespaces
        Each trial has fresh namespaces anyway.
    changes_treatments
        Levels may come and go while the experiment runs: no files were frozen for each treatment.
    amendable
        The keys of [trial] that may be changed while the experiment runs, and whether trials run otherwise then.
    kept
        What stays of every finished trial and can be read again: its "output", its "file"s.
    here_only
        Why trials do not run on workers that ssh reaches; empty where they do.
    """

    computed: bool = False
    cheap: bool = False
    simulates_runtime: bool = False
    shares_processes: bool = False
    block: int = 1
    weighted: bool = False
    workload: Literal["drawn", "file"] | None = None
    flow_records: Literal["keep", "drop"] | None = None
    set_apart: tuple[float, float] = (0.0, 0.0)
    own_namespaces: bool = False
    changes_treatments: bool = False
    amendable: Mapping[str, bool] = field(default_factory=dict[str, bool])
    kept: frozenset[str] = frozenset()
    here_only: str = "it runs on this machine only"

    @property
    def in_blocks(self) -> bool:
        """Whether several rounds are one sample together."""
        return self.block > 1

    @property
    def repeats(self) -> bool:
        """Whether trials of the same treatment may be one and the same: computed from what is given."""
        return self.computed and self.workload != "drawn"


@dataclass(frozen=True, slots=True)
class Trial(Section):
    """What a trial is. The record of each kind extends it; its table in the file is the record, or extends that."""

    places: ClassVar[str | None] = None
    """Where a factor may stand for it to change anything, in words; None where every trial is told of all factors."""
    takes: ClassVar[frozenset[str]] = frozenset()
    """Sections and keys of metrics that go with the kind, beside those that go with every one or name it."""

    if TYPE_CHECKING:

        @property
        def kind(self) -> str:
            """The name of the kind, as in the file."""
            ...

    @property
    def traits(self) -> Traits:
        """How trials of the kind differ from others."""
        raise NotImplementedError

    @property
    def summary(self) -> str:
        """What runs, in a line."""
        raise NotImplementedError

    @property
    def variables(self) -> tuple[str, ...]:
        """The names of the environment variables that the trial sets."""
        return ()

    @property
    def workload_texts(self) -> tuple[tuple[str, str], ...]:
        """What flows are drawn from: keys and their texts, with placeholders; none where there are no such flows."""
        return ()

    # The experiment file

    @property
    def stated_runtime(self) -> float | None:
        """How long a trial takes, in seconds, as far as the table says."""
        return None

    @property
    def cut(self) -> float:
        """Seconds at the start of each trial that are cut from samples with times."""
        return 0.0

    @property
    def shares(self) -> bool:
        """Whether the table asks for one process for several trials."""
        return False

    def record(self, document: Document, problems: Problems) -> Trial:  # noqa: ARG002 for kinds that need them
        """Make the record of the table; what spans several keys is checked here, and what is wrong is noted."""
        return self

    def source(self, key: Key, table: MetricTable, problems: Problems) -> Source:
        """Make the source of the metric whose table stands at the key; what is wrong is noted."""
        raise NotImplementedError

    def check(self, experiment: Experiment, problems: Problems) -> None:
        """Note what cannot work together in the whole experiment."""

    def written(self) -> dict[str, Any]:
        """The trial as its table in the file; `kind`, `runtime` and `warmup` are added where they are not in it."""
        return table_of(self)

    def sections(self) -> Mapping[tuple[str, ...], dict[str, Any]]:
        """Further tables of the file, by their keys."""
        return {}


class Source:
    """Where the numbers of a metric come from. Each source extends it."""

    __slots__ = ()

    @classmethod
    def __get_pydantic_core_schema__(cls, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        """No key of the file: `Trial.source` makes it of several."""
        from pydantic_core import core_schema

        return core_schema.is_instance_schema(cls)

    is_sample: ClassVar[bool] = False
    """Whether a trial's numbers are a random sample of what flows do: some trials may have none, percentiles are of nearest rank,
    the mean over trials is to be known, and few samples are refused."""
    known: ClassVar[tuple[type[Source], ...]] = ()
    """The sources of our own kinds, for the schemas of documents."""
    own_clock: ClassVar[bool] = False
    """Whether times of samples count from the start of the trial."""

    @property
    def key(self) -> str:
        """The name under which the ledger keeps what was read."""
        raise NotImplementedError

    @property
    def unit(self) -> str:
        """The unit of what is read, where it is known."""
        return ""

    @property
    def better(self) -> Better | None:
        """Which way is better by the nature of what is read; None where that is for the file to say."""
        return None

    @property
    def gives_samples(self) -> bool:
        """Whether a trial may report more than one number."""
        return False

    @property
    def has_times(self) -> bool:
        """Whether samples may have times."""
        return False

    @property
    def pools(self) -> bool:
        """Whether means and percentiles are of the samples of all trials unless the file says otherwise."""
        return False

    @property
    def is_estimated(self) -> bool:
        """Whether both estimands are told of it."""
        return self.is_sample

    @property
    def read_from(self) -> str | None:
        """What it is read from, as `Traits.kept` has it; None where that does not stay."""
        return None

    def written(self, name: str) -> dict[str, Any]:
        """The keys of [metrics.NAME] that say so; None for what the file need not say."""
        raise NotImplementedError


def assumed(value: object, record: type[Record]) -> Record:
    """The value, which is of that record where a kind asks for what is its own; TypeError where it is not."""
    if not isinstance(value, record):
        raise TypeError(value)
    return value


def sources_of(metrics: Iterable[Metric], record: type[Record]) -> Iterator[tuple[Metric, Record]]:
    """The metrics of one source, each with it: for what makes the samples of that source."""
    for metric in metrics:
        if isinstance(metric.source, record):
            yield metric, metric.source
