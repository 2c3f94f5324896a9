"""Experiment files of kind simulation: read, refused, written."""

from pathlib import Path

import pytest

from trialwise.errors import PlanError
from trialwise.experiment.reading import parse_experiment
from trialwise.experiment.simulation import SimulationSource, SimulationTrial, Workload
from trialwise.experiment.simulation_quantities import size_class
from trialwise.experiment.writing import write_experiment

FILE = """
[experiment]
name = "data-centre"
[factors]
scheme = ["dctcp", "hpcc"]
kmin = ["100kB", "400kB"]
[trial]
kind = "simulation"
scheme = "{scheme}"
topology = "dumbbell:10x10,100Gbit/s,1us"
workload = { sizes = "websearch", load = 0.3, duration = "20ms", pattern = "one-way" }
network = { kmin = "{kmin}", pfc = true }
warmup = "2ms"
cooldown = "1ms"
[metrics.small]
quantity = "fct"
sizes = "0B..100kB"
measure = "p99"
[metrics.slowdown]
phase = "all"
[metrics.drops]
"""


def read(text: str = FILE):
    return parse_experiment(text, Path("/somewhere/experiment.toml"))


def test_the_file_becomes_the_model() -> None:
    experiment = read()
    assert experiment.trial == SimulationTrial(
        scheme="{scheme}",
        topology="dumbbell:10x10,100Gbit/s,1us",
        workload=Workload(sizes="websearch", load="0.3", duration="20ms", pattern="one-way"),
        network=(("kmin", "{kmin}"), ("pfc", "true")),
        warmup=0.002,
        cooldown=0.001,
    )
    assert experiment.metric("small").source == SimulationSource("fct", "0B..100kB")
    assert experiment.metric("small").unit == "s"
    assert experiment.metric("slowdown").source == SimulationSource("slowdown", phase="all")
    assert experiment.metric("drops").better == "lower"
    assert experiment.warmup == 0.0


@pytest.mark.parametrize(
    "text",
    [
        FILE,
        FILE.replace(
            'workload = { sizes = "websearch", load = 0.3, duration = "20ms", pattern = "one-way" }',
            'workload = { flows = "flows.csv" }\nmode = "compatible"\nrecords = "drop"\nsampling = "1us"\n'
            'controller = { gain = 0.0625 }\nroutes = "routes.txt"',
        ),
        FILE.replace("cooldown = ", 'engine = "ns3"\ntimeout = "5s"\ncooldown = '),
        FILE.replace("cooldown = ", 'timeout = "5s"\ncooldown = '),
    ],
)
def test_what_is_written_reads_back_the_same(text: str) -> None:
    experiment = read(text)
    assert read(write_experiment(experiment)) == experiment


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('topology = "dumbbell:10x10,100Gbit/s,1us"\n', "", "trial.topology: missing"),
        ("[metrics.drops]", "[metrics.dops]", 'did you mean "drops"'),
        ("[metrics.drops]", '[metrics.drops]\nsizes = "0B..1kB"', "of the whole network"),
        ("0B..100kB", "100kB", "two ends"),
        ("0B..100kB", "100kB..1kB", "holds no size"),
        ("0B..100kB", "0..x", "is not a size"),
        ("load = 0.3, ", "", "trial.workload.load: missing"),
        ("load = 0.3, ", 'load = 0.3, flows = "x.csv", ', "does not go with flows"),
        ("load = 0.3, ", "laod = 0.3, load = 0.3, ", 'did you mean "load"'),
        ("cooldown = ", 'engine = "emulated"\ncooldown = ', '"emulated" is not an engine of kind = "simulation"'),
        ("cooldown = ", 'path = "x"\ncooldown = ', 'trial.path: only valid with kind = "path"'),
        ('{ kmin = "{kmin}"', '{ kmin = "1kB"', "factors.kmin: no text of the trial uses this factor"),
        ('kind = "simulation"', 'kind = "path"\nruntime = "1s"', 'trial.topology: only valid with kind = "simulation"'),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_with_its_key(old: str, new: str, said: str) -> None:
    assert old in FILE
    with pytest.raises(PlanError) as raised:
        read(FILE.replace(old, new))
    assert said in str(raised.value)


def test_classes_of_sizes_may_be_open() -> None:
    assert (size_class("1MB..").low, size_class("1MB..").high) == (1_000_000, None)
    assert (size_class("..10KiB").low, size_class("..10KiB").high) == (0, 10_240)
