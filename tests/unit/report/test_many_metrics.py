"""A report of many metrics stays small: what repeats for each metric is shown of the first, and the largest changes come first."""

import random
import re

import pytest

from trialwise.cli.main import app
from trialwise.report.many import MANY_METRICS

METRICS = MANY_METRICS + 8


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    folder = tmp_path_factory.mktemp("many")
    rng = random.Random(2)
    names = [f"m{at:02d} (ms)" for at in range(METRICS)]
    rows = [
        f"{scheme},{run},"
        + ",".join(
            f"{rng.gauss(100, 1) * (1.5 if scheme == 'b' and at == 17 else 1):.3f}" for at in range(METRICS)
        )
        for run in range(6)
        for scheme in "ab"
    ]
    (folder / "x.csv").write_text("\n".join([f"scheme,run,{','.join(names)}", *rows, ""]))
    for words in (
        ["import", folder / "x.csv", "-o", folder / "x"],
        ["report", folder / "x", "-o", folder / "x.html"],
    ):
        app([*map(str, words)], exit_on_error=False, result_action="return_value")
    return (folder / "x.html").read_text()


def test_tests_of_independence_are_those_of_the_metrics_that_are_drawn(page):
    assert len(set(re.findall(r"Independence tests of (m\d\d)", page))) == MANY_METRICS
    assert "the other 8 stand in" in re.sub("<[^>]*>", "", page)


def test_verdicts_are_one_table_with_the_largest_change_first(page):
    verdicts = page.partition(">Verdicts</h2>")[2]
    table = verdicts.partition("<tbody>")[2].partition("</tbody>")[0]
    first, *others = table.split("<tr>")[1:]
    assert "m17" in first
    assert "different" in first
    assert len(others) == METRICS - 1
