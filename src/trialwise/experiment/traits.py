"""What the stages of an experiment need to know about a trial and about a metric's source, whatever their kind.

No code outside a kind asks which one it is; the kind provides what differs.
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
    """Differences between kinds of trials, as far as other code needs them.

    Attributes
    ----------
    computed
        Results are independent of machine and clock: the wall time is unrelated to the simulated time, neither order nor environment
        changes results, and Dask may compute them.
    cheap
        Trials are cheap: thousands are normal, and a rule may look at them as they arrive.
    simulates_runtime
        `runtime` in the file is simulated time, not the wall time of a trial.
    shares_processes
        The trials of a treatment share one process in each series.
    block
        Number of rounds whose trials form one sample; 1 if each is independent.
    weighted
        A trial's values are meaningful only with its weights.
    workload
        Origin of a trial's flows: drawn at random, a file, or unknown.
    flow_records
        What happens to the record of every flow.
    set_apart
        Seconds at the start and at the end of the workload's duration with excluded flows.
    own_namespaces
        Each trial always has fresh namespaces.
    changes_treatments
        Levels may be added and removed while the experiment runs, because no files were frozen per treatment.
    amendable
        Keys of [trial] that may change while the experiment runs, and whether trials then run differently.
    kept
        What is stored of every finished trial and can be read again: its "output", its "file"s.
    here_only
        Why trials cannot run on ssh workers; empty if they can.
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
        """True if several rounds form one sample."""
        return self.block > 1

    @property
    def repeats(self) -> bool:
        """True if trials of the same treatment may be identical, because they are computed from given inputs."""
        return self.computed and self.workload != "drawn"


@dataclass(frozen=True, slots=True)
class Trial(Section):
    """What a trial is. The record of each kind extends it; its table in the file is the record, or extends that."""

    places: ClassVar[str | None] = None
    """Where a factor must appear to have an effect, in words; None if every trial receives all factors."""
    takes: ClassVar[frozenset[str]] = frozenset()
    """Sections and keys of metrics that are valid for the kind, besides those valid for every kind or named after it."""

    if TYPE_CHECKING:

        @property
        def kind(self) -> str:
            """The name of the kind, as in the file."""
            ...

    @property
    def traits(self) -> Traits:
        """The traits of trials of the kind."""
        raise NotImplementedError

    @property
    def summary(self) -> str:
        """What runs, in one line."""
        raise NotImplementedError

    @property
    def variables(self) -> tuple[str, ...]:
        """The names of the environment variables that the trial sets."""
        return ()

    @property
    def workload_texts(self) -> tuple[tuple[str, str], ...]:
        """Inputs of the flows: keys and their texts, with placeholders; none if there are no such flows."""
        return ()

    # The experiment file

    @property
    def stated_runtime(self) -> float | None:
        """Duration of a trial in seconds, as far as stated in the table."""
        return None

    @property
    def cut(self) -> float:
        """Seconds at the start of each trial that are cut from samples with times."""
        return 0.0

    @property
    def shares(self) -> bool:
        """True if the table requests one process for several trials."""
        return False

    def record(self, document: Document, problems: Problems) -> Trial:  # noqa: ARG002 for kinds that need them
        """Build the record of the table; check combinations of keys, and note problems."""
        return self

    def source(self, key: Key, table: MetricTable, problems: Problems) -> Source:
        """Build the source of the metric whose table is at the key; note problems."""
        raise NotImplementedError

    def check(self, experiment: Experiment, problems: Problems) -> None:
        """Note incompatible options in the whole experiment."""

    def written(self) -> dict[str, Any]:
        """Return the trial as its table in the file; `kind`, `runtime` and `warmup` are added if missing."""
        return table_of(self)

    def sections(self) -> Mapping[tuple[str, ...], dict[str, Any]]:
        """Return further tables of the file, by their keys."""
        return {}


class Source:
    """The source of a metric's numbers. Each kind of source extends it."""

    __slots__ = ()

    @classmethod
    def __get_pydantic_core_schema__(cls, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Exclude it from the file's schema: `Trial.source` builds it from several keys."""
        from pydantic_core import core_schema

        return core_schema.is_instance_schema(cls)

    is_sample: ClassVar[bool] = False
    """True if a trial's numbers are a random sample of flows: some trials may have none, percentiles are nearest rank, the mean
    over trials is the default goal, and too few samples are refused.
    """
    known: ClassVar[tuple[type[Source], ...]] = ()
    """The sources of our own kinds, for the schemas of documents."""
    own_clock: ClassVar[bool] = False
    """True if times of samples count from the start of the trial."""

    @property
    def key(self) -> str:
        """The name under which the ledger stores the values."""
        raise NotImplementedError

    @property
    def unit(self) -> str:
        """The unit of the values, if known."""
        return ""

    @property
    def better(self) -> Better | None:
        """Which direction is better by the nature of the values; None if the file must say."""
        return None

    @property
    def gives_samples(self) -> bool:
        """True if a trial may report more than one number."""
        return False

    @property
    def has_times(self) -> bool:
        """True if samples may have times."""
        return False

    @property
    def pools(self) -> bool:
        """True if means and percentiles are over the samples of all trials by default."""
        return False

    @property
    def is_estimated(self) -> bool:
        """True if both estimands are reported."""
        return self.is_sample

    @property
    def read_from(self) -> str | None:
        """What it is read from, in terms of `Traits.kept`; None if that is not stored."""
        return None

    def written(self, name: str) -> dict[str, Any]:
        """Return the keys of [metrics.NAME] for it; None for keys that the file need not give."""
        raise NotImplementedError


def assumed(value: object, record: type[Record]) -> Record:
    """Return the value with its type narrowed to a kind's own record; raise TypeError if it is another."""
    if not isinstance(value, record):
        raise TypeError(value)
    return value


def sources_of(metrics: Iterable[Metric], record: type[Record]) -> Iterator[tuple[Metric, Record]]:
    """Yield the metrics of one source, each with that source, for code that produces the samples of that source."""
    for metric in metrics:
        if isinstance(metric.source, record):
            yield metric, metric.source
