"""The two sides of a comparison under common names."""

from __future__ import annotations

from collections.abc import Sequence

from trialwise.analysis.comparison.sides import under_names_of
from trialwise.analysis.trial_set import TrialSet
from trialwise.schemes.library import stand_ins


def with_pantheon_names(sides: Sequence[TrialSet]) -> list[TrialSet]:
    """Give schemes of each side the names that Pantheon has for them, where the other side has those."""
    aliases = {
        name: {
            one.scheme: f"{one.scheme} stands for {name}"
            if one.is_same
            else f"{one.scheme} is what comes nearest to {name}, which nobody published"
            for one in found
        }
        for name, found in stand_ins().items()
    }
    a, b = sides
    return [under_names_of(a, b, aliases), under_names_of(b, a, aliases)]
