"""Simulated trials in the experiment file."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from trialwise.experiment.document_values import PositiveDuration, Section, Text

Parameters = dict[str, str | int | float | bool]


class WorkloadSection(Section):
    """Which flows a simulated trial has. Any text may use {factor}."""

    sizes: Text | None = Field(
        None,
        description="How large flows are: websearch, facebook_hadoop, alistorage, google_rpc, fixed:SIZE, "
        "lognormal:mean=SIZE,sigma=NUMBER, pareto:mean=SIZE,shape=NUMBER, or a file with a size in bytes and the percentage of "
        "flows up to it on each line.",
        examples=["websearch", "lognormal:mean=100kB,sigma=2", "sizes.txt"],
    )
    load: Annotated[float, Field(gt=0, le=1)] | Text | None = Field(
        None, description="Payload asked for, as a part of a capacity.", examples=["30%", "{load}"]
    )
    load_of: Text | None = Field(
        None,
        description="Of which capacity: bottleneck (the link between the two sides of a dumbbell, by the flows that cross it) or "
        "host (the links of the hosts that send); default bottleneck for one-way traffic, which shares it, else host. A load that "
        "asks more of a link than it carries in the mean is refused.",
        examples=["host"],
    )
    pattern: Text | None = Field(
        None,
        description="Who sends to whom: one-way, all-to-all, permutation or incast:SENDERS; default one-way where there is a "
        "bottleneck, else all-to-all.",
        examples=["incast:8"],
    )
    arrivals: Text = Field(
        "poisson",
        description="When flows begin: poisson, lognormal:sigma=NUMBER, or bursty:mean=FLOWS.",
        examples=["bursty:mean=10"],
    )
    sampling: Literal["random", "sobol"] = Field(
        "random",
        description="How flow lists are drawn: random, each by itself, or sobol: number of flows, sizes and times of each block of "
        "256 rounds are a scrambled Sobol sample, and intervals come from blocks. Rounds are then whole blocks, two or more "
        "(with a stop eight or more), and "
        "arrivals poisson.",
        examples=["sobol"],
    )
    duration: Text | None = Field(
        None,
        description="Flows begin from 0 to this; the trial goes on until the last ends.",
        examples=["20ms"],
    )
    flows: Text | None = Field(
        None,
        description="A file with the flows themselves (flow_id, src, dst, size_bytes, start_ns as CSV, or the HPCC simulator's "
        "format), instead of all other keys.",
        examples=["flows.csv"],
    )
    tilt: Text | None = Field(
        None,
        description="The table [tilts.NAME] by which sizes are drawn, so that tail quantiles take fewer trials.",
        examples=["{scheme}"],
    )


class TiltSection(Section):
    """From which other distribution sizes are drawn; `trialwise tilt` writes it."""

    method: Literal["switching", "defensive", "none"] = Field(
        description="switching (CCEval's: a fitted lognormal, tilted until a flow has taken longer than the threshold), defensive "
        "(the workload's own sizes at other ranks, with bounded weights), or none: nothing is tilted.",
        examples=["defensive"],
    )
    mu: float | None = Field(
        None, description="switching: mean of ln S of the fitted sizes S in bytes.", examples=[11.73]
    )
    sigma: Annotated[float, Field(gt=0)] | None = Field(
        None, description="switching: standard deviation of ln S of the fitted sizes.", examples=[2.83]
    )
    tilted_mu: float | None = Field(
        None, description="switching: mean of ln S of the sizes that are drawn.", examples=[12.4]
    )
    tilted_sigma: Annotated[float, Field(gt=0)] | None = Field(
        None, description="switching: standard deviation of ln S of the sizes that are drawn.", examples=[2.9]
    )
    threshold: PositiveDuration | None = Field(
        None,
        description="switching: after the first flow that takes longer sizes are drawn from the fitted lognormal.",
        examples=["12ms"],
    )
    edges: list[float] | None = Field(
        None,
        description="defensive: ranks from 0 to 1, between which the density is constant.",
        examples=[[0, 0.9, 0.99, 1]],
    )
    density: list[Annotated[float, Field(gt=0)]] | None = Field(
        None,
        description="defensive: one for each piece; together they have the mean 1.",
        examples=[[0.95, 1.4, 2.0]],
    )
    most: Annotated[int, Field(ge=1)] | None = Field(
        None,
        description="defensive: so many flows of a trial are drawn by the density at most.",
        examples=[44],
    )
