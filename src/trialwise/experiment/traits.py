"""Base classes of trials and of metric sources, and the traits that the stages of an experiment ask for.

No code outside a kind tests for the kind: it asks for a trait.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
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
    from trialwise.experiment.retrying import Retry

Record = TypeVar("Record")


@dataclass(frozen=True, slots=True, kw_only=True)
class Traits:
    """Differences between kinds of trials that other stages act on.

    Attributes
    ----------
    runs
        The class that executes the trials, a `trialwise.trials.base.TrialKind`, as ``module:class``.
    computed
        Trials use neither the machine nor its clock: order and environment cannot affect them, and Dask may compute them.
    random
        Trials of one treatment differ, if only by their seeds. Computed trials without randomness may be identical.
    cheap
        Trials cost little: thousands are usual, and a stopping rule may examine them one by one.
    simulates_runtime
        `runtime` in the file is simulated time, not the duration of a trial.
    shares_processes
        The trials of a treatment share one process in each series.
    block
        Number of rounds that together form one sample; 1 if each round is a sample of its own.
    weighted
        Values of a trial are meaningful only with its weights.
    workload
        Origin of the flows of a simulated network (`trialwise.trials.simulation`): random draws by one pattern, or given otherwise.
    flow_records
        Whether trials keep a record of every flow; None for trials without flows.
    set_apart
        Seconds at the start and end of the workload's duration whose flows are not counted.
    own_namespaces
        Each trial creates its own namespaces.
    kept
        Parts of a finished trial that are kept and can be read again: "output", "file".
    here_only
        The reason why ssh workers cannot run the trials; empty if they can.
    """

    runs: str
    computed: bool = False
    random: bool = True
    cheap: bool = False
    simulates_runtime: bool = False
    shares_processes: bool = False
    block: int = 1
    weighted: bool = False
    workload: Literal["drawn", "given"] | None = None
    flow_records: Literal["keep", "drop"] | None = None
    set_apart: tuple[float, float] = (0.0, 0.0)
    own_namespaces: bool = False
    kept: frozenset[str] = frozenset()
    here_only: str = "it runs on this machine only"

    @property
    def in_blocks(self) -> bool:
        """True if several rounds together form one sample."""
        return self.block > 1

    @property
    def repeats(self) -> bool:
        """True if trials of the same treatment may be identical."""
        return self.computed and not self.random


@dataclass(frozen=True, slots=True)
class Trial(Section):
    """Base of the record of each kind of trial. Its table in the experiment file is the record itself or a subclass."""

    places: ClassVar[str | None] = None
    """Keys in which a factor has an effect, in words; None if every trial receives all factors."""
    takes: ClassVar[frozenset[str]] = frozenset()
    """Sections and metric keys that the kind accepts although their `kinds` do not name it."""

    analyses: ClassVar[str] = ""
    """Function that analyses more than the metrics, as ``module:function``: it maps a `trialwise.analysis.beside.Surroundings` to
    records by their JSON keys."""
    words: ClassVar[str] = ""
    """Class that renders those records in documents, a `trialwise.report.beside.Words`, as ``module:class``."""
    knows: ClassVar[str] = ""
    """Function of experiment and ledger that supplies the analysis with facts from outside the directory, as ``module:function``."""

    if TYPE_CHECKING:

        @property
        def kind(self) -> str:
            """Name of the kind, as in the file."""
            ...

    @property
    def traits(self) -> Traits:
        """Differences from other kinds."""
        raise NotImplementedError

    @property
    def summary(self) -> str:
        """One line that says what runs."""
        raise NotImplementedError

    @property
    def variables(self) -> tuple[str, ...]:
        """Names of the environment variables that the experiment gives to the trial: those that it sets, and secrets."""
        return (*(name for name, _ in getattr(self, "environment", ())), *getattr(self, "secret", ()))

    @property
    def retries(self) -> Retry | None:
        """Which attempts are followed by another one; None if none are."""
        return getattr(self, "retry", None)

    @property
    def workload_texts(self) -> tuple[tuple[str, str], ...]:
        """Keys and texts that flows are drawn from, with placeholders; empty for trials without flows."""
        return ()

    # The experiment file

    @property
    def stated_runtime(self) -> float | None:
        """Duration of a trial in seconds, if the table states it."""
        return getattr(self, "runtime", None)

    @property
    def cut(self) -> float:
        """Seconds at the start of each trial to drop from samples with times."""
        return getattr(self, "warmup", 0.0)

    @property
    def shares(self) -> bool:
        """True if the table asks for a process shared by several trials."""
        return getattr(self, "process", "trial") == "shared"

    def record(self, document: Document, problems: Problems) -> Trial:  # noqa: ARG002 for kinds that need them
        """Return the record of this table; check what spans several keys and note problems."""
        return self

    def source(self, key: Key, table: MetricTable, problems: Problems) -> Source:
        """Return the source of a metric from its table at `key`; note problems."""
        raise NotImplementedError

    def check(self, experiment: Experiment, problems: Problems) -> None:
        """Note contradictions within the whole experiment."""

    def caveats(self, experiment: Experiment) -> Iterator[str]:  # noqa: ARG002 for kinds that need it
        """Yield what readers of every number of these trials must know."""
        yield from ()

    def written(self) -> dict[str, Any]:
        """Return the table [trial]; `kind`, `runtime` and `warmup` are added if it lacks them."""
        return table_of(self)

    def sections(self) -> Mapping[tuple[str, ...], dict[str, Any]]:
        """Return further tables of the file by their keys."""
        return {}


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceTraits:
    """Differences between metric sources that other stages act on.

    Attributes
    ----------
    unit, better
        Unit of the numbers and the better direction, if the source determines them.
    samples
        Whether a trial yields one number, many, or many with a time each.
    pools
        By default, means and percentiles are computed over the samples of all trials.
    is_sample
        The numbers of a trial are a random sample. Some trials may have none, percentiles use the nearest rank, stopping rules
        look at the mean over trials, and percentiles of too few numbers are refused.
    is_estimated
        Reports give both estimands.
    own_clock
        Times of samples count from the start of the trial.
    of_program
        A program reports the numbers, or they are what it uses: later trials have them without other preparation.
    read_from
        Part of the trial that the numbers are read from, as in `Traits.kept`; None if it is not kept.
    """

    unit: str = ""
    better: Better | None = None
    samples: Literal["one", "many", "timed"] = "one"
    pools: bool = False
    is_sample: bool = False
    is_estimated: bool = False
    own_clock: bool = False
    of_program: bool = False
    read_from: str | None = None


class Source:
    """Base of the records that say where the numbers of a metric come from."""

    __slots__ = ()

    known: ClassVar[tuple[type[Source], ...]] = ()
    """Sources of the built-in kinds, for the schemas of documents."""

    @classmethod
    def __get_pydantic_core_schema__(cls, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Accept instances only: no key of the file holds a source, `Trial.source` makes it of several."""
        from pydantic_core import core_schema

        return core_schema.is_instance_schema(cls)

    @property
    def key(self) -> str:
        """The name under which the ledger stores the values."""
        raise NotImplementedError

    @property
    def traits(self) -> SourceTraits:
        """Differences from other sources."""
        return SourceTraits()

    def written(self, name: str) -> dict[str, Any]:  # noqa: ARG002 of a metric with a name of its own
        """Return the keys of [metrics.NAME] that describe the source; None for those that the file may omit."""
        return {}


def assumed(value: object, record: type[Record]) -> Record:
    """Return the value if it is an instance of `record`, for a kind that asks for its own; else raise TypeError."""
    if not isinstance(value, record):
        raise TypeError(value)
    return value


def sources_of(metrics: Iterable[Metric], record: type[Record]) -> Iterator[tuple[Metric, Record]]:
    """Yield the metrics with a source of the class `record`, for the code that produces its samples."""
    for metric in metrics:
        if isinstance(metric.source, record):
            yield metric, metric.source
