"""The levels of an estimate as a plan states them."""

import dataclasses
from pathlib import Path

from document_text import piped
from trialwise.design.summary import LevelsSummary, LevelSummary, summarise
from trialwise.experiment.reading import parse_experiment
from trialwise.report.documents.plan import document

TEXT = """
[experiment]
name = "levels"
[trial]
kind = "simulation"
scheme = "dctcp"
topology = "dumbbell:4x4,10Gbit/s,1us"
workload = { sizes = "websearch", load = "30%", duration = "5ms" }
[metrics.fct]
stop = { precision = "5%", controls = "fluid", levels = "auto" }
[design]
looks = "geometric"
"""


def test_a_plan_states_lists_seconds_and_what_was_left_out() -> None:
    experiment = parse_experiment(TEXT, Path("levels.toml"))
    stop = experiment.metrics[0].stop
    assert stop is not None
    assert (stop.controls, stop.levels) == ("fluid", "auto")
    levels = LevelsSummary(
        "fct",
        "-",
        (
            LevelSummary("trialwise", 0.04, 1.5, 200),
            LevelSummary("links", 0.5, 0.02, 500),
            LevelSummary("fluid", 1.0, 0.0, None),
        ),
        4.25,
        ("paths",),
        200,
        50,
    )
    summary = dataclasses.replace(summarise(experiment), levels=(levels,))
    text = piped(document(summary, experiment, whole_order=False))
    assert "Levels (a pilot of 50 lists" in text
    assert "trialwise" in text
    assert "all that are drawn" in text
    assert (
        "expected gain in time about 4.2; the lists take about 10s before the first trial; left out, since they"
        in text
    )
    assert "next to nothing" in text
    for gain in (3.7e7, None):  # 50 lists do not show that
        many = dataclasses.replace(summary, levels=(dataclasses.replace(levels, gain=gain),))
        assert "expected gain in time over 100; " in piped(document(many, experiment, whole_order=False))
    assert "Levels (a pilot" not in piped(document(summarise(experiment), experiment, whole_order=False))
