"""Tilted workloads: the alternative distribution of a simulated trial's sizes that makes its tail more frequent."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import isclose, log
from typing import Annotated, Any, Literal, TypeAlias

from trialwise.experiment.file.positions import Key as Place
from trialwise.experiment.file.sections import ByTag, Limits, Section, Written, key, table_of
from trialwise.experiment.file.values import PositiveDuration, several
from trialwise.experiment.problems import Problems

LOG_LIKELIHOOD = "tilt:log_likelihood"
"""The ledger name of each flow's value: the log likelihood ratio of its trial at the flow's end."""
EXPECTED_FLOWS = "tilt:expected_flows"
"""The ledger name of the mean number of flows of a trial, λT: exact, since arrivals are Poisson."""
LOAD_RATIO = "tilt:load_ratio"
"""The ledger name of the load offered by the untilted sizes over the requested load: not 1 if sizes come from a fit."""


_WRITTEN = "`trialwise tilt` writes such a table"
_Positive = Annotated[float, Limits(gt=0)]


@dataclass(frozen=True, slots=True)
class SwitchingTilt(Section):
    """CCEval's switching change of measure (its Algorithm 2).

    Sizes S (bytes) are lognormal, by the mean and the standard deviation of ln S; until a flow has taken longer than `threshold`
    seconds they are drawn from the tilted lognormal.
    """

    mu: float = key(..., "Mean of ln S of the fitted sizes S in bytes.", 11.73, missing=_WRITTEN)
    sigma: _Positive = key(..., "Standard deviation of ln S of the fitted sizes.", 2.83, missing=_WRITTEN)
    tilted_mu: float = key(..., "Mean of ln S of the sizes that are drawn.", 12.4, missing=_WRITTEN)
    tilted_sigma: _Positive = key(
        ..., "Standard deviation of ln S of the sizes that are drawn.", 2.9, missing=_WRITTEN
    )
    threshold: PositiveDuration = key(
        ...,
        "After the first flow that takes longer sizes are drawn from the fitted lognormal.",
        "12ms",
        missing=_WRITTEN,
    )
    method: Literal["switching"] = key(
        "switching",
        "CCEval's: a fitted lognormal, tilted until a flow has taken longer than the threshold.",
        required=True,
        first=True,
    )


@dataclass(frozen=True, slots=True)
class DefensiveTilt(Section):
    """A defensive mixture: sizes are those of the workload, at ranks U = F(S) with a density that is constant between `edges`.

    The first `most` flows of a trial are drawn by it, so that its likelihood ratio has a bound.
    """

    edges: Annotated[tuple[float, ...], several(float)] = key(
        ..., "Ranks from 0 to 1, between which the density is constant.", [0, 0.9, 0.99, 1], missing=_WRITTEN
    )
    density: Annotated[tuple[float, ...], several(_Positive)] = key(
        ..., "One for each piece; together they have the mean 1.", [0.95, 1.4, 2.0], missing=_WRITTEN
    )
    most: Annotated[int, Limits(ge=1)] = key(
        ..., "So many flows of a trial are drawn by the density at most.", 44, missing=_WRITTEN
    )
    method: Literal["defensive"] = key(
        "defensive",
        "The workload's own sizes at other ranks, with bounded weights.",
        required=True,
        first=True,
    )

    @property
    def bound(self) -> float:
        """The log of the largest possible likelihood ratio of a trial."""
        return -self.most * log(min(self.density))


@dataclass(frozen=True, slots=True)
class NoTilt(Section):
    """Nothing is tilted."""

    method: Literal["none"] = key("none", "Nothing is tilted.", required=True, first=True)


Tilt: TypeAlias = SwitchingTilt | DefensiveTilt
Tilts: TypeAlias = tuple[tuple[str, Tilt | None], ...]
"""By name; None where a table says that nothing is tilted."""
TiltTable = Annotated[
    Tilt | None,
    Written(
        Annotated[
            SwitchingTilt | DefensiveTilt | NoTilt, ByTag("method", SwitchingTilt, DefensiveTilt, NoTilt)
        ],
        lambda tilt: None if isinstance(tilt, NoTilt) else tilt,
    ),
]


def tilt_table(tilt: Tilt | None) -> dict[str, Any]:
    """Return a tilt as its table."""
    return {"method": "none"} if tilt is None else table_of(tilt, whole=True)


def check_ranks(tilts: Tilts, problems: Problems) -> None:
    """Note edges and densities that do not form a distribution."""
    for name, tilt in tilts:
        if isinstance(tilt, DefensiveTilt):
            _check_ranks(("tilts", name), tilt, problems)


def _check_ranks(key: Place, tilt: DefensiveTilt, problems: Problems) -> None:
    edges, density = tilt.edges, tilt.density
    pieces = list(pairwise(edges))
    if len(edges) < 2 or edges[0] != 0 or edges[-1] != 1 or any(low >= high for low, high in pieces):
        problems.add((*key, "edges"), "must rise from 0 to 1", "as in edges = [0, 0.9, 1]")
    elif len(density) != len(pieces):
        problems.add(
            (*key, "density"), f"has {len(density)} numbers for {len(pieces)} pieces", "one for each piece"
        )
    else:
        total = sum((high - low) * height for (low, high), height in zip(pieces, density, strict=True))
        if not isclose(total, 1, rel_tol=1e-6):
            problems.add(
                (*key, "density"), f"has the mean {total:g} over the ranks, which must be 1", _WRITTEN
            )
