"""What is generated from the model is up to date, and the examples of the reference are right."""

import json
import re
import runpy
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from trialwise.cli.schema import json_schema
from trialwise.experiment.reading import parse_experiment
from trialwise.experiment.simulation import SimulationSource
from trialwise.schemes import reading
from trialwise.schemes.library import scheme_files

ROOT = Path(__file__).resolve().parents[3]
GENERATOR = runpy.run_path(str(ROOT / "docs/generate_reference.py"))
GENERATED = dict(GENERATOR["files"]())


@pytest.mark.parametrize("path", GENERATED, ids=lambda path: path.name)
def test_up_to_date(path):
    assert path.read_text() == GENERATED[path], "run python docs/generate_reference.py"


def test_a_key_that_changes_changes_the_page():
    page = GENERATED[GENERATOR["PAGE"]]
    assert GENERATOR["page"](page.replace("- `seed`:", "- `sed`:")) == page


def test_every_section_of_the_model_has_a_list():
    page = GENERATED[GENERATOR["PAGE"]]
    assert set(re.findall(r"<!-- keys of (\w+) -->\n- `", page)) == set(json_schema("experiment")["$defs"])


def test_the_examples_of_the_page_are_experiments():
    examples = re.findall(r"```toml\n(.*?)```", GENERATED[GENERATOR["PAGE"]], re.DOTALL)
    names = [parse_experiment(example, Path("experiment.toml")).name for example in examples]
    assert names == ["compressors", "two-queues", "four-controllers"]


@pytest.mark.parametrize("name", ["experiment", "plan"])
def test_schemas_are_valid(name):
    Draft202012Validator.check_schema(json.loads((ROOT / f"schemas/{name}.json").read_text()))


def test_the_page_of_schemes_has_all_keys_placeholders_and_names():
    page = GENERATED[GENERATOR["SCHEME_PAGE"]]
    sections = {reading.SchemeDocument.__name__, *json_schema("scheme")["$defs"]}
    assert set(re.findall(r"<!-- keys of (\w+) -->\n- `", page)) == sections
    for name in (*reading.PLACEHOLDERS, "amount"):
        assert f"\n- `{{{name}}}`: " in page
    for name in scheme_files():
        assert f"`{name}`" in page


def test_the_query_of_segments_names_a_source_as_the_ledger_writes_it():
    text = (ROOT / "docs/reference/ledger.md").read_text()
    sources = re.findall(r"WHERE source = '([^']*)'", text)
    assert sources == [SimulationSource("fct").key]
