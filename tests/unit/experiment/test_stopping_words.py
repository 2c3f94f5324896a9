"""What a file may say of margins and of when to stop."""

from pathlib import Path

import pytest

from trialwise.errors import PlanError
from trialwise.experiment import model
from trialwise.experiment.reading import parse_experiment

FILE = """
[experiment]
name = "x"
[factors]
flavour = ["none", "probe"]
load = [1, 2]
[trial]
command = "true {flavour} {load}"
[metrics.time]
resource = "wall"
"""


def read(metric="", design=""):
    return parse_experiment(f"{FILE}{metric}\n[design]\n{design}\n", Path("x.toml"))


def test_a_margin_is_a_percentage_or_an_amount():
    assert read('margin = "3%"').metrics[0].margin == model.Extent(3.0, relative=True)
    assert read('margin = " 2.5 % "').metrics[0].margin == model.Extent(2.5, relative=True)
    assert read("margin = 0.25").metrics[0].margin == model.Extent(0.25, relative=False)


@pytest.mark.parametrize("margin", ['"3"', '"-3%"', "0", "-1", '"0%"', "true", "[3]", "nan"])
def test_a_margin_that_is_neither_is_refused(margin):
    with pytest.raises(PlanError, match=r'a percentage as "3%", or a number above 0|finite'):
        read(f"margin = {margin}")


def test_what_is_to_be_known_is_the_median_unless_said():
    assert read('stop = { precision = "3%" }').metrics[0].stop == model.Stop(model.Extent(3.0, relative=True))
    assert read('stop = { precision = 1, of = "mean", confidence = 90 }').metrics[0].stop == model.Stop(
        model.Extent(1.0, relative=False), 90.0, "mean"
    )
    assert read('stop = { precision = "3%", of = 90 }').metrics[0].stop.of == 90.0


def test_a_claim_stops_at_its_own_percentile():
    metric = read(
        'kpi = { percentile = 25, stop = { precision = "5%" } }\n'
        'variability = { percentile = 75, stop = { precision = "10%" } }'
    ).metrics[0]
    assert metric.kpis[0].stop.of == 25.0
    assert metric.variability.stop.of == 75.0


def test_a_verdict_needs_a_margin():
    with pytest.raises(PlanError, match="no metric has one"):
        read(design='stop = "verdict"')
    assert read('margin = "3%"', 'stop = "verdict"').design.stop == "verdict"


def test_the_base_is_a_level_of_a_factor():
    assert read(design='base = "flavour=none"').design.base == ("flavour", "none")
    assert read(design='base = "load=2"').design.base == ("load", 2)
    with pytest.raises(PlanError, match="no factor 'flavor'"):
        read(design='base = "flavor=none"')
    with pytest.raises(PlanError, match="flavour has no level 'nothing'"):
        read(design='base = "flavour=nothing"')
    with pytest.raises(PlanError, match="factor=level"):
        read(design='base = "flavour"')
