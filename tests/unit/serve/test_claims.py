"""The parts of a page, from a directory: stated claims."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from trialwise.serve.parts import slow
from trialwise.serve.places import places

CLAIMS = """
format = "trialwise-claims-1"
[data]
directory = "{}"
[[claim]]
id = "C1"
text = "The <b>long</b> flavour takes more than 10 ms"
metric = "time"
value = {{ treatment = {{ flavour = "\\u202edesrever" }}, measure = "mean", at_least = "10ms" }}
"""


@pytest.mark.parametrize(
    ("directory", "beside", "said"),
    [
        ("hostile.results", True, "supported"),
        (".", False, "supported"),
        ("../elsewhere.results", True, "outside"),
        ("/elsewhere.results", True, "outside"),
    ],
)
def test_stated_claims_stand_with_what_the_experiment_waits_for(
    folder: Path, tmp_path: Path, directory: str, beside: bool, said: str
) -> None:
    """In the folder or beside the experiment, but nothing that is outside of what was named."""
    copied = tmp_path / "served"
    shutil.copytree(folder, copied)
    home = copied if beside else copied / "hostile.results"
    (home / "claims.toml").write_text(CLAIMS.format(directory))
    (place,) = places((copied,)).values()
    told = slow(place).parts["claims"].html
    assert said in told
    assert "<b>" not in told


def test_claims_beside_the_named_folder_are_left_alone(folder: Path, tmp_path: Path) -> None:
    copied = tmp_path / "served"
    shutil.copytree(folder, copied)
    (copied / "claims.toml").write_text(CLAIMS.format("hostile.results"))
    (place,) = places((copied / "hostile.results",)).values()
    assert place.claims() is None
