"""What each kind of trial and each source answers: the consequences that other stages act on."""

from __future__ import annotations

from dataclasses import asdict, fields
from pathlib import Path

import pytest

from trialwise.design.timing import stated_times
from trialwise.experiment.instruments import instrument_unit
from trialwise.experiment.reading import parse_experiment
from trialwise.experiment.traits import SourceTraits, Traits

COMMAND = 'command = "true"\n'
PYTHON = 'kind = "python"\ncall = "module:function"\n'
PATH = 'kind = "path"\npath = { rate = "12Mbit/s" }\nscheme = "cubic"\nruntime = "10s"\n'
SIMULATION = (
    'kind = "simulation"\nscheme = "dctcp"\ntopology = "dumbbell:1x1,10Gbit/s,1us"\nworkload = { WORKLOAD }\n'
)
DRAWN = 'sizes = "websearch", load = "30%", duration = "20ms"'
COMPUTED = {
    "computed": True,
    "cheap": True,
    "workload": "drawn",
    "flow_records": "keep",
    "runs": "trialwise.trials.simulation:SimulationKind",
}


def experiment(trial: str, metric: str, more: str = ""):
    text = f'[experiment]\nname = "x"\n[trial]\n{trial}\n[metrics.m]\n{metric}\n{more}'
    return parse_experiment(text, Path("experiment.toml"))


def simulation(workload: str = DRAWN, more: str = "") -> str:
    return SIMULATION.replace("WORKLOAD", workload) + more


@pytest.mark.parametrize(
    ("trial", "metric", "more", "said"),
    [
        (
            COMMAND,
            'resource = "wall"',
            "",
            {
                "runs": "trialwise.trials.command:CommandKind",
                "kept": {"output"},
                "here_only": "",
            },
        ),
        (
            COMMAND + 'keep = ["out"]\n',
            'resource = "wall"',
            "",
            {
                "runs": "trialwise.trials.command:CommandKind",
                "kept": {"output", "file"},
                "here_only": "",
            },
        ),
        (
            PYTHON,
            "",
            "",
            {
                "runs": "trialwise.trials.python:PythonKind",
                "here_only": "the callable would need Trialwise there",
            },
        ),
        (
            PYTHON + 'process = "shared"\n',
            "",
            "",
            {
                "runs": "trialwise.trials.shared_python:SharedPythonKind",
                "shares_processes": True,
                "here_only": "the callable would need Trialwise there",
            },
        ),
        (
            PATH,
            'quantity = "throughput"',
            "",
            {
                "runs": "trialwise.trials.path:PathKind",
                "own_namespaces": True,
                "here_only": "an emulated path would need Trialwise and its privileges there",
            },
        ),
        (
            PATH + 'engine = "simulated"\n',
            'quantity = "throughput"',
            "",
            {
                "runs": "trialwise.trials.simulated_path:SimulatedPathKind",
                "computed": True,
                "random": False,
                "simulates_runtime": True,
                "own_namespaces": True,
                "here_only": "an emulated path would need Trialwise and its privileges there",
            },
        ),
        (simulation(), 'quantity = "fct"', "", COMPUTED),
        (
            simulation(more='warmup = "1ms"\ncooldown = "2ms"\nrecords = "drop"\n'),
            'quantity = "fct"',
            "",
            COMPUTED | {"set_apart": (0.001, 0.002), "flow_records": "drop"},
        ),
        (
            simulation('flows = "flows.csv"'),
            'quantity = "fct"',
            "",
            COMPUTED | {"workload": "given", "random": False},
        ),
        (
            simulation(f'{DRAWN}, sampling = "sobol"'),
            'quantity = "fct"',
            "[design]\nrounds = 512\n",
            COMPUTED | {"block": 256},
        ),
        (
            simulation(f'{DRAWN}, tilt = "t"'),
            'quantity = "fct"\nmeasure = "p99"',
            '[tilts.t]\nmethod = "none"\n',
            COMPUTED | {"weighted": True},
        ),
    ],
)
def test_a_trial_differs_from_a_measured_one_by_this_alone(
    trial: str, metric: str, more: str, said: dict[str, object]
) -> None:
    usual = {field.name: getattr(Traits(runs=""), field.name) for field in fields(Traits)}
    assert asdict(experiment(trial, metric, more).trial.traits) == usual | said


@pytest.mark.parametrize(
    ("traits", "in_blocks", "repeats"),
    [
        (Traits(runs=""), False, False),
        (Traits(runs="", block=256, computed=True), True, False),
        (Traits(runs="", computed=True, random=False), False, True),
        (Traits(runs="", random=False), False, False),
    ],
)
def test_what_follows_from_others(traits: Traits, *, in_blocks: bool, repeats: bool) -> None:
    assert (traits.in_blocks, traits.repeats) == (in_blocks, repeats)


@pytest.mark.parametrize(
    ("trial", "metric", "key", "said"),
    [
        (COMMAND, 'resource = "wall"', "resource:wall", {"unit": "s", "better": "lower", "of_program": True}),
        (
            COMMAND,
            'resource = "max_rss"',
            "resource:max_rss",
            {"unit": "B", "better": "lower", "of_program": True},
        ),
        (
            COMMAND,
            "stdout = '([0-9]+)'",
            "stdout|pattern:([0-9]+)",
            {"read_from": "output", "of_program": True},
        ),
        (
            COMMAND,
            'json = "/a"',
            "stdout|json:/a",
            {"samples": "many", "read_from": "output", "of_program": True},
        ),
        (
            COMMAND,
            'file = "out"\ncsv = "a"\ntime = "t"',
            "file:out|csv:a|time:t",
            {"samples": "timed", "read_from": "file", "of_program": True},
        ),
        (COMMAND, 'source = "a.b"', "stream:a.b", {"samples": "timed"}),
        (PYTHON, "", "return:m", {"samples": "timed", "of_program": True}),
        (
            PATH,
            'quantity = "throughput"',
            "path:throughput|bin:0.1",
            {"unit": "Mbit/s", "better": "higher", "samples": "timed", "own_clock": True},
        ),
        (
            PATH,
            'quantity = "loss"\nflow = 1',
            "path:loss|flow:1",
            {"unit": "%", "better": "lower", "own_clock": True},
        ),
        (
            PATH,
            'quantity = "completion_time"',
            "path:completion_time",
            {
                "unit": "s",
                "better": "lower",
                "samples": "timed",
                "own_clock": True,
                "is_estimated": True,
            },
        ),
        (
            simulation(),
            'quantity = "slowdown"\nsizes = "1MB.."',
            "simulation:slowdown|sizes:1MB..",
            {"better": "lower", "samples": "many", "pools": True, "is_sample": True, "is_estimated": True},
        ),
        (
            simulation(),
            'quantity = "queue"',
            "simulation:queue",
            {
                "unit": "B",
                "better": "lower",
                "samples": "many",
                "is_sample": True,
                "is_estimated": True,
            },
        ),
        (
            simulation(),
            'quantity = "flows"\nphase = "all"',
            "simulation:flows|phase:all",
            {"is_sample": True, "is_estimated": True},
        ),
    ],
)
def test_a_source_differs_from_a_single_number_by_this_alone(
    trial: str, metric: str, key: str, said: dict[str, object]
) -> None:
    source = experiment(trial, metric).metrics[0].source
    assert (source.key, asdict(source.traits)) == (key, asdict(SourceTraits()) | said)


def test_an_instrument_has_its_unit() -> None:
    found = experiment(COMMAND, 'instrument = "user"', "[instrumentation]\nresources = true\n")
    assert found.metrics[0].source.traits == SourceTraits(unit=instrument_unit("user"))


@pytest.mark.parametrize(("engine", "seconds"), [("emulated", 10.0), ("simulated", None)])
def test_a_simulated_runtime_says_nothing_of_how_long_trials_take(engine: str, seconds: float | None) -> None:
    times = stated_times(experiment(PATH + f'engine = "{engine}"\n', 'quantity = "throughput"'))
    assert (times and times.round_seconds) == seconds
