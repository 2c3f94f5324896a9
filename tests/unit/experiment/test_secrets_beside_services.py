"""A secret that would reach a program whose output is not masked is refused."""

from pathlib import Path

import pytest

from trialwise.errors import PlanError
from trialwise.experiment.reading import parse_experiment

FILE = """[experiment]
name = "e"
[trial]
command = "true"
{more}
[metrics.m]
resource = "wall"
[service.db]
start = "sleep 60"
ready = {{ command = "true" }}
"""


def test_a_secret_beside_services_is_refused(tmp_path: Path):
    parse_experiment(FILE.format(more=""), tmp_path / "e.toml")
    with pytest.raises(PlanError, match="what they print is not masked"):
        parse_experiment(FILE.format(more='secret = ["PGPASSWORD"]'), tmp_path / "e.toml")
