"""What is analysed beside the metrics, and what documents say of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from trialwise.analysis.beside import Surroundings
from trialwise.report.beside import Words
from trialwise.report.document import Block, Chapter, Note


@dataclass(frozen=True, slots=True)
class Spread:
    """How far the numbers of all treatments are apart."""

    lowest: float
    highest: float


def analyse(given: Surroundings) -> Mapping[str, Spread]:
    """The ends of all numbers that are there; nothing before the first."""
    values = [trial.value for metric in given.metrics for trial in metric.trials if trial.value is not None]
    return {"spread": Spread(min(values), max(values))} if values else {}


class ConstantWords(Words):
    """A sentence on the ends."""

    def overview(self, *, full: bool) -> Iterator[Block]:
        spread = self.analysis.further.get("spread")
        if isinstance(spread, Spread):
            yield Note((f"Numbers from {spread.lowest:g} to {spread.highest:g}.",))

    def chapters(self) -> Iterator[Chapter]:
        yield Chapter("spread", "Spread", tuple(self.overview(full=True)))
