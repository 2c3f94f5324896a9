"""Paths, flows and schemes in the experiment file."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from trialwise.experiment.document_values import Duration, PositiveDuration, Section, Text


class LinkSection(Section):
    """What packets meet in one direction of a path."""

    rate: Text | None = Field(
        None,
        description="The bottleneck's rate, constant, by a trace, or generated.",
        examples=["12Mbit/s", "trace:up.trace", "poisson:rate=3Mbit/s"],
    )
    queue: Text | None = Field(
        None,
        description="The queue before the bottleneck; infinite unless given.",
        examples=["droptail:packets=50", "codel:packets=1000,target=5ms,interval=100ms"],
    )
    delay: Text | None = Field(None, description="One-way propagation delay.", examples=["28ms"])
    loss: Text | None = Field(None, description="Random loss.", examples=["0.4%"])
    outage: Text | None = Field(
        None, description="Times at which everything is lost.", examples=["exponential:on=5s,off=1s"]
    )
    policer: Text | None = Field(
        None, description="A token bucket that drops what exceeds it.", examples=["10Mbit/s,burst=30kB"]
    )
    batches: Text | None = Field(None, description="Packets released together.", examples=["every=20ms"])


class PathSection(LinkSection):
    """An emulated path. What stands in it holds both ways, unless uplink or downlink says otherwise."""

    uplink: LinkSection | None = Field(
        None, description="What differs from the sender to the receiver.", examples=[{"loss": "0.4%"}]
    )
    downlink: LinkSection | None = Field(
        None, description="What differs from the receiver to the sender.", examples=[{"rate": "1Mbit/s"}]
    )
    mtu: Annotated[int, Field(ge=1280, le=1500)] = Field(
        1500, description="Largest IP packet, bytes.", examples=[1400]
    )
    folder: Text = Field(
        ".",
        description="Where files that the links name stand, relative to the experiment file.",
        examples=["traces"],
    )


class FlowSection(Section):
    """One flow, or several alike, over a path."""

    scheme: Text = Field(description="The scheme of the flow.", examples=["cubic"])
    start: Duration = Field(0.0, description="When it starts, after the first flow.", examples=["5s"])
    stop: PositiveDuration | None = Field(
        None, description="When it is ended; default the end of the trial.", examples=["20s"]
    )
    direction: Literal["uplink", "downlink"] = Field(
        "uplink", description="The way of its data.", examples=["downlink"]
    )
    load: Text = Field("bulk", description="What it carries.", examples=["rate:1Mbit/s", "bytes:10MB"])
    count: Annotated[int, Field(ge=1, le=1000)] = Field(
        1, description="How many such flows there are.", examples=[3]
    )


class SchemesSection(Section):
    """Where schemes of your own stand."""

    folders: list[Text] = Field(
        default_factory=list,
        description="Folders with scheme files or Pantheon wrappers, relative to the experiment file.",
        examples=[["schemes"]],
    )
