"""A commented template for an experiment with simulated trials."""

from __future__ import annotations

from trialwise.experiment.toml_writing import toml_value


def simulation_template(name: str) -> str:
    """Return an experiment file called `name`: two congestion controls over the same flows, until their tails are known."""
    return _TEXT.format(name=toml_value(name))


_TEXT = """\
# A simulation for trialwise: flows over a data-centre network, packet by packet, until what is asked for is known.
#   trialwise plan FILE --pilot     how many trials that will take, and how long
#   trialwise run FILE              run it on all cores, or go on with it
#   trialwise report DIRECTORY      what came out, with intervals
# Every key: docs/reference/experiment-file.md#simulated-trials and docs/reference/simulation.md

[experiment]
name = {name}
seed = 0                            # flows, marks and losses derive from it
description = ""

# What is varied on purpose; all treatments of a round meet the same flows.
[factors]
scheme = ["dctcp", "hpcc"]          # dcqcn, timely, newreno, cubic …, python:MODULE:CLASS
# load = ["30%", "60%"]             # with load = "{{load}}" below

[trial]
kind = "simulation"
scheme = "{{scheme}}"
topology = "dumbbell:10x10,100Gbit/s,1us"   # fat-tree:4,100Gbit/s,1us; leaf-spine:4x2x8,100Gbit/s,1us; a file
workload = {{ sizes = "websearch", load = "30%", duration = "5ms" }}
# network = {{ kmin = "400kB", buffer = "32MiB", pfc = true }}
# controller = {{ gain = 0.0625 }}
# warmup = "1ms"                    # flows that begin in it are set apart

# The mean or percentile of all flows of all trials; estimand = "per_trial" is the mean over trials of each one's.
[metrics.mean]
quantity = "fct"                    # also slowdown, throughput, peak_queue, drops, marks, pauses …
stop = {{ precision = "10%" }}        # half of the 95 % interval, of the estimate

[metrics.p99_small]
quantity = "slowdown"
sizes = "0B..100kB"
measure = "p99"
stop = {{ precision = "10%" }}
# margin = "5%"                     # the difference that would matter, for trialwise compare

[design]
max_trials = 10000                  # of each treatment
# rounds = 100                      # instead of a stop: so many
"""
