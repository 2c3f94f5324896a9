"""Real paths in experiment files: what is read, what is refused, and that it is written as it was read."""

import pytest

from trialwise.errors import PlanError
from trialwise.experiment.reading import read_experiment
from trialwise.experiment.trials import RealEnds
from trialwise.experiment.writing import write_experiment

FILE = """[experiment]
name = "real"
seed = 1
[trial]
kind = "path"
scheme = "cubic"
runtime = "3s"
path = {{ {path} }}
[metrics.throughput]
measure = "mean"
[design]
series = 1
rounds = 1
"""


def read(tmp_path, path):
    file = tmp_path / "experiment.toml"
    file.write_text(FILE.format(path=path))
    return read_experiment(file)


def test_ends_are_read_and_written_again(tmp_path):
    where = 'from = "local", to = "ssh://me@far:2222", listens = "from", address = "192.0.2.1", port = 7000'
    text = where + ', quiet = "1s", clocks = "1ms", see = "tunnel", inside = "ipv6"'
    experiment = read(tmp_path, text)
    named = "local", "ssh://me@far:2222", "from", "192.0.2.1", 7000
    wanted = RealEnds(*named, quiet=1.0, clocks=1e-3, see="tunnel", inside="ipv6")
    assert experiment.trial.path.ends == wanted
    assert experiment.trial.traits.runs == "trialwise.execution.ends.kind:EndsKind"
    again = tmp_path / "again.toml"
    again.write_text(write_experiment(experiment))
    assert read_experiment(again).trial.path == experiment.trial.path


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        ('from = "local"', "from stands there without to"),
        ('to = "ssh://far"', "to stands there without from"),
        ('from = "local", to = "local"', "from and to are the same end"),
        ('from = "local", to = "machine1"', "experiment.toml:8: trial.path: to: 'machine1' names no machine"),
        ('from = "ssh://-oProxyCommand=x", to = "local"', "from: .* names no machine"),
        (f'from = "local", to = "ssh://far:{"9" * 5000}"', "to: .* names no machine"),
        ('from = "local", to = "ssh://far", rate = "5Mbit/s"', "rate stands beside from and to"),
        ('from = "local", to = "ssh://far", mahimahi = "mm-delay 5"', "mahimahi stands beside from and to"),
        ('from = "local", to = "ssh://far", port = 80', "port"),
        ('from = "local", to = "ssh://far", inside = "ipv6"', "inside stands there without a tunnel"),
        ('from = "local", to = "ssh://far", rate_cap = "fast"', "rate_cap"),
        ('from = "local", to = "ssh://far", bytes_cap = "much"', "bytes_cap"),
    ],
)
def test_what_is_no_real_path_is_refused_when_it_is_read(tmp_path, path, problem):
    with pytest.raises(PlanError, match=problem):
        read(tmp_path, path)
