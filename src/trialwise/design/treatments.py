"""Treatments: the combinations of the levels of the fixed factors."""

from __future__ import annotations

import itertools
import json
import math
import re
from dataclasses import dataclass

from trialwise.experiment.model import Experiment, Level
from trialwise.experiment.placeholders import level_text

_NEEDS_QUOTES = re.compile(r"[\s=\"\x00-\x1f\x7f]")


@dataclass(frozen=True, slots=True)
class Treatment:
    """One combination of levels; `levels` holds (factor, level) in the order of the file."""

    levels: tuple[tuple[str, Level], ...]

    @property
    def name(self) -> str:
        """The treatment's name everywhere: `factor=level factor=level`; `-` without factors.

        A level with a space, a quotation mark or an equals sign is quoted, so that no two treatments share a name.
        """
        return " ".join(f"{factor}={_quoted(level_text(level))}" for factor, level in self.levels) or "-"


def treatments(experiment: Experiment) -> tuple[Treatment, ...]:
    """Return all combinations of levels, the last factor varying fastest."""
    choices = [[(factor.name, level) for level in factor.levels] for factor in experiment.fixed_factors]
    return tuple(Treatment(levels) for levels in itertools.product(*choices))


def count_treatments(experiment: Experiment) -> int:
    """Return the number of treatments, without making them."""
    return math.prod(len(factor.levels) for factor in experiment.fixed_factors)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False) if _NEEDS_QUOTES.search(text) else text
