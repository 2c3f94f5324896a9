from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import numpy as np
import pytest

from example_directory import analyse_example, write_example
from trialwise.analysis.table import TableColumns, analyse_table
from trialwise.exchange.analysis_json import analysis_document, analysis_schema
from trialwise.exchange.plain import plain
from trialwise.exchange.trials_csv import trials_csv
from trialwise.experiment.model import Kpi, Metric, Variability
from trialwise.experiment.sources import ReturnSource

SCHEMA = Path(__file__).parents[3] / "schemas" / "analysis.json"


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_example(tmp_path_factory.mktemp("json") / "results", rounds=6, series=2)


def test_the_schema_in_the_repository_is_that_of_the_records() -> None:
    assert json.loads(SCHEMA.read_text()) == analysis_schema(), "regenerate it with make schemas"


@pytest.mark.parametrize("method", ["default", "paper"])
def test_documents_keep_to_the_schema(example: Path, method: str) -> None:
    document = analysis_document(analyse_example(example, method))
    text = json.dumps(document, allow_nan=False)
    jsonschema.validate(json.loads(text), analysis_schema(), cls=jsonschema.Draft202012Validator)
    assert document["format"] == "trialwise.analysis/1"
    assert document["method"] == method


def test_documents_of_tables_keep_to_the_schema(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("v\n" + "3\n" * 7)
    metric = Metric("v", ReturnSource("v"), kpis=(Kpi(95, 95, "upper"),), variability=Variability(50, 75))
    document = analysis_document(analyse_table(path, TableColumns(), [metric]))
    jsonschema.validate(
        json.loads(json.dumps(document)), analysis_schema(), cls=jsonschema.Draft202012Validator
    )


def test_an_unknown_key_breaks_the_schema(example: Path) -> None:
    document = {**analysis_document(analyse_example(example)), "extra": 1}
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(document, analysis_schema(), cls=jsonschema.Draft202012Validator)


def test_numbers_stand_beside_what_they_rest_on(example: Path) -> None:
    kpi = analysis_document(analyse_example(example))["metrics"][0]["kpis"][0]["result"]  # type: ignore[index, call-overload]
    assert {"value", "n", "confidence", "percentile", "method", "note"} <= set(kpi)  # type: ignore[arg-type]


def test_what_json_lacks_becomes_null() -> None:
    assert plain(
        {"a": float("nan"), "b": [np.float64("inf"), np.int64(3)], "c": np.array([1.0, np.nan])}
    ) == {
        "a": None,
        "b": [None, 3],
        "c": [1.0, None],
    }
    with pytest.raises(TypeError, match="complex"):
        plain(1j)


def test_csv_has_a_row_for_each_trial_and_metric(example: Path) -> None:
    analysis = analyse_example(example)
    lines = trials_csv(analysis).splitlines()
    assert lines[0].startswith("metric,unit,trial,")
    assert lines[0].endswith("algorithm,level,prefix")
    assert len(lines) == 1 + sum(len(found.trials) for found in analysis.metrics)
