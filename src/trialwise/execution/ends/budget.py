"""What trials over real paths have sent and may send: caps that are said before the first trial and kept from trial to trial."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np

from trialwise.errors import PlanError
from trialwise.execution.allowance import Allowance
from trialwise.execution.ends.probing import about
from trialwise.execution.ends.records import EndRecord
from trialwise.execution.ends.tasks import amount_of
from trialwise.execution.workers.agent.path_programs import LINGER
from trialwise.experiment.model import Experiment, Level
from trialwise.experiment.quantity import duration_text
from trialwise.experiment.trials import RealEnds
from trialwise.measurement.condition_files import profiled_rates, read_conditions_of_path, record_file
from trialwise.measurement.packets import DIRECTIONS
from trialwise.measurement.samples import Samples
from trialwise.numbers import counted
from trialwise.store.ledger import Ledger
from trialwise.store.records import TrialRow
from trialwise.trials.path_plan import NOWHERE, FlowPlan, flow_plans, settings_of, trial_of

SENT = "ends:sent_bytes"
"""Name of the sample that holds what both ends of a trial have sent."""
ABOUT = 5.0
"""Seconds that a trial takes beside its flows and the quiet around them."""
MOST_TOLD = 1 << 60
"""Bytes of which nobody believes that an end has sent them."""
NOTHING = {SENT: Samples(np.array([0.0]))}
"""The sample of a trial that ended before it began to send."""
Rates = tuple[float | None, float | None]
"""Bit/s of the uplink and the downlink."""
TWICE = 2.0
"""Times the profiled rate that a scheme of a fixed rate may send at."""


@dataclass(frozen=True, slots=True)
class Most:
    """What a trial may send at most, bytes of both ends, and about how long it takes, seconds; `ends` has its caps."""

    sent: float
    seconds: float
    ends: RealEnds


class PathBudget:
    """The budget of an experiment with real paths. `left` are the bytes that remain before the next trial."""

    def __init__(self, experiment: Experiment, ledger: Ledger, allowed: Allowance) -> None:
        self._experiment = experiment
        self._ledger = ledger
        self._allowed = allowed
        self._known: dict[tuple[tuple[str, Level], ...], Most | None] = {}
        self.left = allowed.total

    def announcement(self, rows: Iterable[TrialRow]) -> str | None:
        """Say what these trials, which are to run, send at most, and what is allowed."""
        found = [most for row in rows if (most := self._most(row)) is not None]
        if not found:
            return None
        sent, total = sum(most.sent for most in found), self._allowed.total
        before = self._sent()
        caps = dict.fromkeys(_caps_text(most.ends) for most in found)
        text = (
            f"real paths: {counted(len(found), 'trial')} to run, with at most {size_text(sent)} "
            f"in about {duration_text(round(sum(most.seconds for most in found)))}"
            f"{f', after {size_text(before)} that were sent already' if before else ''}. "
            f"Caps: {' or '.join(caps)} for a trial, {size_text(total)} for the experiment"
        )
        if before + sent > total:
            text += "; the run ends before a trial that could exceed it (--allow-bytes)"
        return text

    def reason_to_stop(self, row: TrialRow) -> str | None:
        """Return why a trial over a real path may not send any more; None if it may, or sends over none."""
        most = self._most(row)
        if most is None:
            return None
        sent = self._sent()
        self.left = self._allowed.total - sent
        if most.sent <= self.left:
            return None
        return (
            f"the cap of {size_text(self._allowed.total)} for the experiment: {size_text(sent)} were sent, and trial {row.number} "
            f"may send {size_text(most.sent)} more; --allow-bytes raises the cap"
        )

    def _sent(self) -> float:
        """Return what attempts so far have sent, bytes; one without a record, such as a killed one, counts with the most it may."""
        known = {(number, attempt): value for number, attempt, _, value, _, _ in self._ledger.values([SENT])}
        begun = (row for row in self._ledger.trials() if row.status != "planned" and row.claimed is not None)
        sent = 0.0
        for row in begun:
            value = known.get((row.number, row.attempt))
            if value is None:
                most = self._most(row)
                value = 0.0 if most is None else most.sent
            sent += value
        return sent

    def _most(self, row: TrialRow) -> Most | None:
        key = tuple(row.factors.items())
        if key not in self._known:
            self._known[key] = most_of(self._experiment, row.factors, self._allowed)
        return self._known[key]


def most_of(experiment: Experiment, factors: Mapping[str, Level], allowed: Allowance) -> Most | None:
    """Return what a trial with these factors may send; None if its path is emulated, or it cannot run as the file is now."""
    filled = dict(NOWHERE) | dict(factors)
    try:
        settings = settings_of(experiment, filled)
        if settings.ends is None:
            return None
        plans = flow_plans(experiment, filled)
    except PlanError:
        return None
    ends = with_allowed(settings.ends, allowed)
    runtime = trial_of(experiment).runtime
    sent = sum(_of_way(way, plans, ends) for way in ("uplink", "downlink"))
    return Most(sent, runtime + LINGER + 2 * ends.quiet + ABOUT, ends)


def _of_way(way: str, plans: Sequence[FlowPlan], ends: RealEnds) -> float:
    """Return the bytes of data that the end at the beginning of a way may send; answers to data are not counted beforehand."""
    rate, most = _caps(ends)
    flows = [plan for plan in plans if plan.flow.direction == way]
    if not flows:
        return 0.0
    span = max(plan.stop for plan in flows) - min(plan.flow.start for plan in flows)
    return min(most, rate * span / 8, sum(_of_flow(plan, rate) for plan in flows))


def _caps(ends: RealEnds) -> tuple[float, float]:
    """Return the caps of each end in a trial: bit/s and bytes."""
    return amount_of(ends.rate_cap, "rate", "rate_cap"), amount_of(ends.bytes_cap, "size", "bytes_cap")


def _caps_text(ends: RealEnds) -> str:
    rate, most = _caps(ends)
    return f"{rate_text(rate)} and {size_text(most)} of each end"


def _of_flow(plan: FlowPlan, rate: float) -> float:
    span = plan.stop - plan.flow.start
    if plan.load.kind == "bytes":
        return float(plan.load.amount)
    return (fixed_rate(plan) or rate) * span / 8


def fixed_rate(plan: FlowPlan) -> float | None:
    """Return the rate at which a flow sends whatever the path says, bit/s; None if it has none."""
    return float(plan.load.amount) if plan.load.kind == "rate" else None


def with_allowed(ends: RealEnds, allowed: Allowance) -> RealEnds:
    """Return the ends with the rate that this run allows instead of the file's, if it allows one."""
    return ends if allowed.rate is None else dataclasses.replace(ends, rate_cap=f"{allowed.rate:.12g}bit/s")


def known_rates(experiment: Experiment, path: str, ends: RealEnds) -> Rates:
    """Return the rates that `trialwise profile` has measured between these ends; None where it has not.

    Raises
    ------
    AnalysisError
        The file of the profile is damaged.
    """
    file = record_file(experiment.name, path)
    if not file.is_file() or read_conditions_of_path(file).about.ends != about(path, ends, 0.0).ends:
        return None, None
    return profiled_rates(file)


def refuse_rates(plans: Sequence[FlowPlan], ends: RealEnds, known: Rates = (None, None)) -> None:
    """Refuse flows that send at a fixed rate above the cap, or above twice what the path is known to carry.

    Raises
    ------
    PlanError
        There is such a flow.
    """
    cap, _ = _caps(ends)
    for plan in plans:
        rate = fixed_rate(plan)
        if rate is None:
            continue
        if rate > cap:
            raise PlanError(
                f"load {plan.load.text!r} of flow {plan.number} is above the cap of {rate_text(cap)}",
                hint="raise rate_cap of the path, or --allow-rate for this run, if the path is yours",
            )
        carried = known[DIRECTIONS.index(plan.flow.direction)]
        if carried is not None and rate > TWICE * carried:
            raise PlanError(
                f"load {plan.load.text!r} of flow {plan.number} is above twice the {rate_text(carried)} that the path carries",
                hint="send at most twice what the profile of the path says, or profile it again",
            )


def sent_samples(records: Sequence[EndRecord]) -> dict[str, Samples]:
    """Return what both ends of a trial have sent, by the name of the sample; none if an end does not tell."""
    counts = [record.head.get("capture") for record in records]
    told = [
        cast("dict[str, object]", each).get("sent", 0) if isinstance(each, dict) else None for each in counts
    ]
    known = [each for each in told if isinstance(each, int) and 0 <= each < MOST_TOLD]
    return {SENT: Samples(np.array([float(sum(known))]))} if len(known) == len(told) else {}


def size_text(size: float) -> str:
    """Write a number of bytes: "10 GB"."""
    for unit, amount in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if size >= amount:
            return f"{size / amount:.3g} {unit}"
    return f"{size:.0f} bytes"


def rate_text(rate: float) -> str:
    """Write a rate: "100 Mbit/s", from ten thousand of them on "100 Gbit/s"."""
    return f"{rate / 1e6:.4g} Mbit/s" if rate < 1e10 else f"{rate / 1e9:.4g} Gbit/s"
