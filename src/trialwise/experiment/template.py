"""A commented template for an experiment file."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from trialwise.experiment.file.values import NAME
from trialwise.experiment.model import Level
from trialwise.experiment.toml_writing import toml_key, toml_value

_EXAMPLE_COMMAND = '''["python3", "-c", """
import argparse, pathlib, sys, time, zlib
data = pathlib.Path(argparse.__file__).read_bytes() * 5
start = time.perf_counter()
packed = zlib.compress(data, int(sys.argv[1]))
seconds = time.perf_counter() - start
print("speed", len(data) / seconds / 1e6)
print("ratio", len(data) / len(packed))
""", "{level}"]'''
_EXAMPLE_FACTORS: Mapping[str, Sequence[Level]] = {"level": (1, 6, 9)}
_EXAMPLE_METRICS = """\
[metrics.speed]
stdout = 'speed ([0-9.]+)'          # a regular expression with one group; also: json, csv, file, resource
unit = "MB/s"
better = "higher"
# What is to be claimed: with 95 % confidence, the median speed is at least …
kpi = { percentile = 50, confidence = 95 }
# … and how far that moves when the whole series is done again:
# variability = { percentile = 50, confidence = 75 }

[metrics.ratio]
stdout = 'ratio ([0-9.]+)'
better = "higher"
kpi = { percentile = 50, confidence = 95 }

[metrics.time]
resource = "wall"                   # wall, user, system (seconds) or max_rss (bytes)
kpi = { percentile = 50, confidence = 95 }
"""
_WALL = """\
[metrics.time]
resource = "wall"                   # wall, user, system (seconds) or max_rss (bytes)
kpi = { percentile = 50, confidence = 95 }
"""


def template(
    name: str,
    *,
    command: str | None = None,
    factors: Mapping[str, Sequence[Level]] | None = None,
    metrics: Mapping[str, str] | None = None,
) -> str:
    """Return the text of an experiment file with comments.

    Parameters
    ----------
    name
        Name of the experiment.
    command
        Command line of a trial; None for an example that runs wherever Python does.
    factors
        The levels of each factor.
    metrics
        For each metric a regular expression with one group, searched in standard output; without metrics, the duration of a trial is
        the metric.
    """
    is_example = command is None
    line = _EXAMPLE_COMMAND if command is None else toml_value(command)
    text = _EXAMPLE_METRICS if is_example and not metrics else _metrics(metrics or {})
    return _TEXT.format(
        name=toml_value(name),
        factors=_factors(_EXAMPLE_FACTORS if is_example and not factors else factors or {}),
        command=line,
        metrics=text,
    )


def usable_name(text: str) -> str:
    """Return the text as an experiment name; "experiment" if it cannot be one."""
    name = re.sub(r"[^A-Za-z0-9_.\-]+", "-", text).strip("-")
    return name if re.match(NAME, name) and len(name) <= 128 else "experiment"


def _factors(factors: Mapping[str, Sequence[Level]]) -> str:
    lines = [f"{toml_key(name)} = {toml_value(levels)}" for name, levels in factors.items()]
    return "\n".join(lines or ["# threads = [1, 2, 4]"])


def _metrics(patterns: Mapping[str, str]) -> str:
    tables = (
        f"[metrics.{toml_key(name)}]\nstdout = {toml_value(pattern)}\n"
        'unit = ""\n# better = "lower"\nkpi = { percentile = 50, confidence = 95 }\n'
        for name, pattern in patterns.items()
    )
    return "\n".join(tables) or _WALL


_TEXT = """\
# An experiment for trialwise.
#   trialwise plan FILE     how many trials it needs, in what order, and the time they take
#   trialwise run FILE      run it, or go on with it
# Every key: docs/reference/experiment-file.md; for editors: trialwise schema experiment

[experiment]
name = {name}
seed = 0                            # every order, draw and trial seed derives from it
description = ""

# What is varied on purpose; the treatments are all combinations.
[factors]
{factors}
# size = {{ draw = {{ low = 1000, high = 1000000, scale = "log" }} }}   # drawn at random for each round

# One execution of one treatment. Any text may use {{factor}}; {{{{word}}}} is the literal text.
[trial]
command = {command}
# environment = {{ LANG = "C" }}
# prepare = "sync"                  # before each trial, not measured
# timeout = "30s"
# runtime = "100ms"                 # as far as you know, for planning; or: trialwise plan FILE --pilot

# One number for each trial, and what is to be claimed about it.
{metrics}
[design]
order = "random"                    # of the treatments, anew in each round
rounds = "auto"                     # as many as the KPIs need
series = "auto"                     # as many as the variability scores need
# span = "1h"                       # spread the rounds of a series at random over this time
# warmup_trials = 1

# [reset]
# command = "sync"                  # before each round
"""
