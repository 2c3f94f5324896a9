"""Simulated trials in the experiment file."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from trialwise.experiment.document_values import Section, Text

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
        description="Of which capacity: bottleneck (the link that all one-way traffic shares) or host (the links of the hosts "
        "that send); default bottleneck where there is one.",
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
