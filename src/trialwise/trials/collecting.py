"""Run a collector beside a trial: the programs' measurement streams become its samples."""

from __future__ import annotations

import dataclasses
import tempfile
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path

from trialwise._linux import Collector, CollectorCounters, CollectorError
from trialwise.errors import PlanError, TrialError
from trialwise.experiment.model import Experiment, Level, Measurement
from trialwise.experiment.placeholders import COLLECTOR, fill
from trialwise.experiment.sources import StreamSource
from trialwise.experiment.traits import sources_of
from trialwise.measurement.samples import Samples
from trialwise.measurement.streams import StreamStore
from trialwise.temporary import vanishing_folder
from trialwise.trials.base import TrialOutcome, TrialRequest
from trialwise.trials.removing import remove_tree

DOMAIN = "trial"
"""The domain that programs are told to send to."""
_POLL = 0.002


@contextmanager
def collecting(request: TrialRequest, values: Mapping[str, Level]) -> Generator[Collecting | None]:
    """Run a collector for one trial if its experiment requests one; `values` are its placeholders.

    Raises
    ------
    TrialError
        The collector cannot start, or the file of streams cannot be read.
    """
    measurement = request.experiment.measurement
    if measurement is None:
        yield None
        return
    request.scratch.mkdir(parents=True, exist_ok=True)
    folder = Path(
        tempfile.mkdtemp(prefix=f"streams-{request.number}-{request.attempt}-", dir=request.scratch)
    )
    try:
        collector = _started(measurement, folder)
        try:
            yield Collecting(request.experiment, measurement, collector, folder, values)
        finally:
            collector.stop(0.0)
    finally:
        remove_tree(folder)


def check_measurement(experiment: Experiment) -> None:
    """Raise PlanError if the collector could not listen, or its file of streams is missing."""
    measurement = experiment.measurement
    if measurement is None:
        return
    if measurement.config is not None and not (experiment.folder / measurement.config).is_file():
        raise PlanError(f"measurement.config: {experiment.folder / measurement.config} does not exist")
    with vanishing_folder("trialwise-") as folder:
        try:
            _started(measurement, folder).stop(0.0)
        except TrialError as error:
            raise PlanError(f"measurement.listen: {error.message}", hint=error.hint) from error


class Collecting:
    """The collector of one trial: environment variables for its programs, and what it received."""

    def __init__(
        self,
        experiment: Experiment,
        measurement: Measurement,
        collector: Collector,
        folder: Path,
        values: Mapping[str, Level],
    ) -> None:
        self._experiment = experiment
        self._measurement = measurement
        self._collector = collector
        self._folder = folder
        self.environment = {
            "OML_DOMAIN": DOMAIN,
            "OML_COLLECT": f"tcp:{collector.address}",
            "TRIALWISE_COLLECT": f"native:{collector.address}",
        }
        if measurement.config is not None:
            self.environment["OML_CONFIG"] = str(self._config(measurement.config, values))

    def added(self, outcome: TrialOutcome) -> TrialOutcome:
        """Return the outcome with the samples received in streams, once the programs have ended."""
        if outcome.status != "finished":
            return outcome
        late = not self._wait()
        counters = self._collector.stop(self._measurement.patience)
        store = StreamStore(self._folder / f"{DOMAIN}.sq3")
        problem = self._problem(late, counters, store)
        try:
            samples, remarks = self._samples(store)
        except TrialError as error:
            # Losses are the likelier reason for missing samples.
            reason = error.message if problem is None else problem
            return dataclasses.replace(outcome, status="failed", reason=reason)
        if problem is not None and self._measurement.losses == "fail":
            return dataclasses.replace(outcome, status="failed", reason=problem)
        if problem is not None:
            remarks = (*remarks, problem)
        samples = {**outcome.samples, **samples}
        return dataclasses.replace(outcome, samples=samples, remarks=(*outcome.remarks, *remarks))

    def _wait(self) -> bool:
        """Wait until every sender has closed its connection and everything received is stored."""
        deadline = time.monotonic() + self._measurement.patience
        while self._collector.counters().open:
            if time.monotonic() >= deadline:
                return False
            time.sleep(_POLL)
        return self._collector.wait_stored(max(0.0, deadline - time.monotonic()))

    def _problem(self, late: bool, counters: CollectorCounters, store: StreamStore) -> str | None:
        """Describe in one sentence what was lost."""
        if self._collector.failure is not None:
            return f"the collector failed: {self._collector.failure}"
        if late or counters.backlog:
            return (
                f"streams were not complete {self._measurement.patience:g} s after the program had ended: "
                "raise measurement.patience, or have every sender close"
            )
        if counters.damaged:
            kinds = ", ".join(f"{kind} ({count})" for kind, count in counters.damaged.items())
            return f"damaged rows came: {kinds}"
        if counters.refused_for:
            kinds = ", ".join(f"{kind} ({count})" for kind, count in counters.refused_for.items())
            return f"connections were refused: {kinds}"
        lost = {stream: count for stream, count in store.lost().items() if count}
        if lost:
            said = ", ".join(f"{count} of {stream or 'a sender'}" for stream, count in lost.items())
            return f"senders lost samples: {said}; a larger --oml-bufsize, or a filter, makes room"
        return None

    def _samples(self, store: StreamStore) -> tuple[dict[str, Samples], tuple[str, ...]]:
        samples: dict[str, Samples] = {}
        remarks: list[str] = []
        for metric, source in sources_of(self._experiment.metrics, StreamSource):
            if source.key in samples:
                continue
            try:
                found = store.read(source.stream, source.field)
            except TrialError as error:
                raise TrialError(f"metric {metric.name}: {error}") from error
            samples[source.key] = found.samples
            if found.empty:
                remarks.append(
                    f"some rows of {source.stream}.{source.field} hold no number and were left out"
                )
        return samples, tuple(remarks)

    def _config(self, name: str, values: Mapping[str, Level]) -> Path:
        """Write the file of streams with its placeholders filled in."""
        source = self._experiment.folder / name
        address = self.environment["TRIALWISE_COLLECT" if source.suffix == ".toml" else "OML_COLLECT"]
        try:
            text = fill(source.read_text(encoding="utf-8"), {**values, COLLECTOR: address})
        except OSError as error:
            raise TrialError(f"measurement.config: {source}: {error.strerror}") from error
        except KeyError as error:
            raise TrialError(f"measurement.config: {source}: {{{error.args[0]}}} is not a factor") from error
        target = self._folder / f"streams{source.suffix}"
        target.write_text(text, encoding="utf-8")
        return target


def _started(measurement: Measurement, folder: Path) -> Collector:
    host = f"[{measurement.listen}]" if ":" in measurement.listen else measurement.listen
    try:
        return Collector(f"{host}:0", f"sqlite:{folder}")
    except CollectorError as error:
        raise TrialError(
            f"the collector cannot start: {error}", hint="measurement.listen is an address of this machine"
        ) from error
    except ValueError as error:
        raise TrialError(f"the collector cannot start: {error}") from error
