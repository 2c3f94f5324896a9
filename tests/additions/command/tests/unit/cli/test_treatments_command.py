"""`trialwise treatments` lists them."""

from __future__ import annotations

import json
from pathlib import Path

from in_process import trialwise

EXPERIMENT = """
[experiment]
name = "sorting"
[factors]
size = [1, 2]
[trial]
command = "echo {size}"
[metrics.time]
resource = "wall"
"""


def test_treatments_are_listed(tmp_path: Path):
    file = tmp_path / "experiment.toml"
    file.write_text(EXPERIMENT)
    assert trialwise("treatments", file, cwd=tmp_path).stdout == "size=1\nsize=2\n"
    found = json.loads(trialwise("treatments", file, "--json", cwd=tmp_path).stdout)
    assert found == {"format": "trialwise.treatments/1", "treatments": ["size=1", "size=2"]}
