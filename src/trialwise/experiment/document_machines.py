"""Resets and workers in the experiment file: what is done to machines."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, Tag

from trialwise.experiment.document_values import BY_SHAPE, Duration, PositiveDuration, Section, Text, Words
from trialwise.experiment.words import COMMIT_PATTERN, SERVICE_PATTERN, WORKER_FOLDER_PATTERN


class FreshDirectory(Section):
    """A folder that a reset empties, and what it is filled from."""

    path: Text = Field(description="The folder, relative to the experiment file.", examples=["work"])
    template: Text | None = Field(
        None, description="Folder whose contents are copied into it.", examples=["database"]
    )


class ResetSection(Section):
    """What puts the machine back into a known state."""

    directory: (
        Annotated[
            Annotated[Text, Tag("<value>")] | Annotated[FreshDirectory, Tag("<table>")],
            BY_SHAPE,
        ]
        | None
    ) = Field(
        None,
        description="A folder that is emptied, and filled from a template where there is one.",
        examples=["work", {"path": "work", "template": "database"}],
    )
    service: Annotated[str, Field(pattern=SERVICE_PATTERN)] | None = Field(
        None, description="A service that systemd restarts.", examples=["memcached"]
    )
    namespace: bool = Field(
        False,
        description="A namespace for trials, with empty /tmp, /var/tmp and /dev/shm and no process or shared memory of before.",
        examples=[True],
    )
    command: Words | None = Field(
        None, description="Command line, split as a shell would.", examples=["make clean"]
    )
    drop_caches: bool = Field(
        False, description="Write out and drop the kernel's caches of files; needs root.", examples=[True]
    )
    reboot: bool = Field(
        False, description="Reboot the worker, which must be one reached by ssh.", examples=[True]
    )
    check: Words | None = Field(
        None,
        description="Command that must succeed afterwards; tried again until the timeout.",
        examples=["nc -z localhost 11211"],
    )
    every: Literal["round", "trial", "series"] = Field(
        "round", description="Before what the machine is reset.", examples=["trial"]
    )
    timeout: PositiveDuration = Field(
        600.0,
        description="A reset that takes longer, check included, has failed, and the run ends.",
        examples=["60s"],
    )
    settle: Duration = Field(0.0, description="Time to wait afterwards.", examples=["5s"])


class GitSection(Section):
    """A repository that is cloned on workers, instead of sending files."""

    url: Text = Field(description="What git clones.", examples=["https://example.org/benchmark.git"])
    commit: Annotated[str, Field(pattern=COMMIT_PATTERN)] = Field(
        description="The commit that is checked out, in hexadecimal digits.",
        examples=["4f0c0b7d3e0c2d5a1e8f9b6a7c3d2e1f00a1b2c3"],
    )


class WorkersSection(Section):
    """The machines that trials run on; those beside "local" are reached by ssh."""

    use: Annotated[list[Text], Field(min_length=1)] = Field(
        default_factory=lambda: ["local"],
        description="The workers: local, ssh://host, ssh://user@host:port; each runs the whole plan, in orders of its own.",
        examples=[["ssh://me@node1", "ssh://me@node2:2222"]],
    )
    files: list[Text] = Field(
        default_factory=list,
        description="Patterns of the files that are sent, below the experiment's folder; default all of them.",
        examples=[["bench/**", "input.txt"]],
    )
    exclude: list[Text] = Field(
        default_factory=list,
        description="Patterns of files that are not sent; results, .git and caches never are.",
        examples=[["*.log"]],
    )
    git: GitSection | None = Field(
        None,
        description="Clone a repository on the workers instead of sending files.",
        examples=[
            {
                "url": "https://example.org/benchmark.git",
                "commit": "4f0c0b7d3e0c2d5a1e8f9b6a7c3d2e1f00a1b2c3",
            }
        ],
    )
    setup: Words | None = Field(
        None,
        description="Command run once on each worker, in the folder of what was sent, before its first trial.",
        examples=["make -C bench"],
    )
    setup_timeout: PositiveDuration = Field(
        3600.0, description="A setup that takes longer has failed.", examples=["10min"]
    )
    allocate: Words | None = Field(
        None,
        description="Command run here that prints the names of the workers; used instead of use.",
        examples=["./testbed.sh get 4"],
    )
    release: Words | None = Field(
        None,
        description="Command run here after the run, also after a crash; $TRIALWISE_WORKERS names the workers.",
        examples=["./testbed.sh put"],
    )
    python: Text = Field(
        "python3", description="Python 3.8 or newer on the workers.", examples=["/opt/python/bin/python3"]
    )
    folder: Annotated[str, Field(pattern=WORKER_FOLDER_PATTERN)] = Field(
        "~/.trialwise",
        description="Folder on the workers under which everything of ours stands.",
        examples=["/scratch/me/trialwise"],
    )
    reconnect: Duration = Field(
        600.0,
        description="How long a worker that was reached before is tried again until it counts as lost.",
        examples=["1h"],
    )
    heartbeat: PositiveDuration = Field(
        30.0,
        description="After so much silence a worker is asked whether it is there; shorter trials see no traffic.",
        examples=["5min"],
    )
