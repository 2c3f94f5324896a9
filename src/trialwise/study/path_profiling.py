"""Profile a real path of an experiment: which path, a round of the experiment, its margins, and the record of its condition."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from trialwise.analysis.conditions.path import Kind, PathProfile, Round, path_profile
from trialwise.design.treatments import count_treatments, treatments
from trialwise.errors import PlanError
from trialwise.execution.ends.probing import Told, about, probe_path, real_ends
from trialwise.experiment.model import Experiment, Extent
from trialwise.experiment.placeholders import fill
from trialwise.experiment.problems import nearest
from trialwise.experiment.sources import PathSource
from trialwise.experiment.traits import sources_of
from trialwise.experiment.trials import PathSettings, PathTrial, RealEnds
from trialwise.measurement.condition_files import UNNAMED, ConditionFile, read_conditions_of_path, record_file
from trialwise.trials.path_plan import NOWHERE, settings_of

LONGEST_ROW = 60.0
"""Seconds of a row of the record; shorter where trials are, as a row stands for a trial."""
BESIDE = 4.0
"""Seconds in which a trial between two machines begins and is collected."""
USUAL = Extent(5.0, relative=True)
"""The margin of delays and rates where neither the command nor the experiment has one."""
_KINDS: Mapping[str, Kind] = {
    "throughput": "rate",
    "delivery_rate": "rate",
    "delay": "delay",
    "queueing_delay": "delay",
    "rtt": "delay",
    "loss": "loss",
}


@dataclass(frozen=True, slots=True)
class RealPath:
    """A real path of an experiment, and the file of its condition."""

    experiment: Experiment
    name: str
    settings: PathSettings
    file: Path

    @property
    def ends(self) -> RealEnds:
        """Its ends."""
        return real_ends(self.settings)

    @property
    def every(self) -> float:
        """Seconds of a row."""
        return max(min(LONGEST_ROW, self._runtime), 1.0)

    @property
    def round(self) -> Round:
        """A round of the experiment."""
        slot = self._runtime + 2 * self.ends.quiet + BESIDE
        return Round(max(count_treatments(self.experiment), 2), self._runtime, slot)

    @property
    def _runtime(self) -> float:
        return self.experiment.runtime or LONGEST_ROW

    def margins(self, margin: Extent | None) -> Mapping[Kind, Extent]:
        """Return the margin of each kind of quantity: the given one, or the least of the experiment's metrics, or the usual one."""
        if margin is not None:
            return {"delay": margin, "rate": margin}
        found: dict[Kind, Extent] = {}
        for metric, source in sources_of(self.experiment.metrics, PathSource):
            kind = _KINDS.get(source.quantity)
            if metric.margin is None or kind is None or (kind == "loss" and metric.margin.relative):
                continue
            known = found.setdefault(kind, metric.margin)
            if known.relative == metric.margin.relative and metric.margin.value < known.value:
                found[kind] = metric.margin
        usual: dict[Kind, Extent] = {"delay": USUAL, "rate": USUAL}
        return usual | found

    def probe(
        self, seconds: float, rate_every: float | None, cancel: int, tell: Callable[[Told], None]
    ) -> int:
        """Probe the path, and add to its file; see `probe_path`."""
        with ConditionFile(self.file, about(self.name, self.ends, self.every)) as file:
            return probe_path(
                self.experiment,
                self.settings,
                file,
                seconds=seconds,
                rate_every=rate_every,
                cancel=cancel,
                tell=tell,
            )

    def profile(self, margin: Extent | None, confidence: float) -> PathProfile:
        """Say how far the path moves by itself, from its file; see `path_profile`."""
        record = read_conditions_of_path(self.file)
        if record.about.path != self.name:
            raise PlanError(
                f"{self.file}: the condition of the path {record.about.path!r} stands there, not of {self.name!r}",
                hint="name the file with --out",
            )
        return path_profile(self.file, record, self.round, self.margins(margin), confidence=confidence)


def real_path(experiment: Experiment, name: str | None, file: Path | None) -> RealPath:
    """Return a real path of an experiment, by name or the only one.

    Raises
    ------
    PlanError
        There is none, several, or none of that name.
    """
    found = _real_paths(experiment)
    names = ", ".join(found)
    if not found:
        raise PlanError(
            f"{experiment.name}: no path of this experiment leads from one machine to another",
            hint='describe it: path = { from = "local", to = "ssh://…" }',
        )
    if name is None and len(found) > 1:
        raise PlanError(
            f"{experiment.name}: several real paths: {names}", hint=f"say which: --path {next(iter(found))}"
        )
    chosen = next(iter(found)) if name is None else name
    if chosen not in found:
        meant = nearest(chosen, list(found))
        did = f"; did you mean {meant}?" if meant else ""
        raise PlanError(f"no real path is called {chosen!r}{did}", hint=f"choose one of: {names}")
    return RealPath(experiment, chosen, found[chosen], file or record_file(experiment.name, chosen))


def _real_paths(experiment: Experiment) -> dict[str, PathSettings]:
    """Return the real paths that trials run over, by name."""
    trial = experiment.trial
    if not isinstance(trial, PathTrial):
        return {}
    found: dict[str, PathSettings] = {}
    for treatment in treatments(experiment):
        values = dict(NOWHERE) | dict(treatment.levels)
        settings = settings_of(experiment, values)
        if settings.ends is not None:
            found[fill(trial.path, values) if isinstance(trial.path, str) else UNNAMED] = settings
    return found
