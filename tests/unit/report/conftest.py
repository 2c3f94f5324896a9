from __future__ import annotations

import pytest

from example_directory import analyse_example, write_example
from trialwise.analysis.results import Analysis
from trialwise.exchange.analysis_json import analysis_document
from trialwise.exchange.plain import Json


@pytest.fixture(scope="session")
def analysis(tmp_path_factory: pytest.TempPathFactory) -> Analysis:
    return analyse_example(write_example(tmp_path_factory.mktemp("example") / "results"))


@pytest.fixture(scope="session")
def document(analysis: Analysis) -> dict[str, Json]:
    return analysis_document(analysis)
