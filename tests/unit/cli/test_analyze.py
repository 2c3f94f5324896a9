from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from example_directory import write_example
from trialwise.cli.analyze import analyze
from trialwise.cli.main import app
from trialwise.cli.report import report
from trialwise.cli.tables import TableOptions, objective
from trialwise.errors import AnalysisError
from trialwise.experiment.model import Kpi


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_example(
        tmp_path_factory.mktemp("cli") / "results", algorithms=("a", "b"), levels=(1,), rounds=4, series=1
    )


@pytest.fixture
def constant(tmp_path: Path) -> Path:
    path = tmp_path / "constant.csv"
    path.write_text("v\n" + "5\n" * 60)
    return path


def _run(*arguments: str) -> object:
    return app(list(arguments), exit_on_error=False, result_action="return_value")


def test_constant_data_are_no_error(constant: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert _run("analyze", str(constant), "--value", "v", "--objective", "percentile=95,confidence=95") == 0
    assert "at least 95 % of trials have a v of at most 5" in " ".join(capsys.readouterr().out.split())


def test_failed_tests_are_no_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "trend.csv"
    path.write_text("v\n" + "".join(f"{value}\n" for value in range(60)))
    assert (
        _run("analyze", str(path), "--value", "v", "--objective", "percentile=95", "--method", "paper") == 0
    )
    assert "Descriptive only" in capsys.readouterr().out


def test_json_is_the_document_of_the_directory(example: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert analyze(example, json=True) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["format"] == "trialwise.analysis/1"
    assert [found["metric"]["name"] for found in document["metrics"]] == ["speed", "latency", "ratio"]


def test_csv_and_latex_go_to_standard_output(constant: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = TableOptions(value=("v",), objective=("percentile=50",))
    assert analyze(constant, csv=True, table=table) == 0
    assert capsys.readouterr().out.count("\n") == 61
    assert analyze(constant, latex=True, table=table) == 0
    assert "\\toprule" in capsys.readouterr().out


def test_a_table_needs_a_column(constant: Path) -> None:
    with pytest.raises(AnalysisError, match="add --value COLUMN"):
        analyze(constant)


def test_a_directory_takes_no_columns(example: Path) -> None:
    with pytest.raises(AnalysisError, match="are for tables"):
        analyze(example, table=TableOptions(value=("v",)))


def test_unreadable_data_exit_with_7(tmp_path: Path) -> None:
    command = [
        Path(sys.executable).with_name("trialwise"),
        "analyze",
        str(tmp_path / "none.csv"),
        "--value",
        "v",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (7, "")
    assert "no such file" in done.stderr


@pytest.mark.parametrize(
    ("text", "kpi"),
    [
        ("percentile=95,confidence=90,bound=lower", Kpi(95, 90, "lower")),
        ("percentile=95", Kpi(95, 95, "upper")),
        ("confidence=75, percentile=25", Kpi(25, 75, "lower")),
        ("percentile=50", Kpi(50, 95, "lower")),
    ],
)
def test_objectives(text: str, kpi: Kpi) -> None:
    assert objective(text, "higher") == kpi


@pytest.mark.parametrize(
    "text",
    [
        "95",
        "percentile=95,bound=both",
        "confidence=95",
        "percentile=0",
        "percentile=x",
        "percentile=95,level=3",
    ],
)
def test_wrong_objectives_are_named(text: str) -> None:
    with pytest.raises(AnalysisError, match="--objective"):
        objective(text, None)


def test_a_report_of_a_table_stands_beside_it(constant: Path) -> None:
    assert report(constant, table=TableOptions(value=("v",)), latex=constant.parent / "tex") == 0
    assert (constant.parent / "constant.report.html").stat().st_size > 500_000
    assert sorted(path.name for path in (constant.parent / "tex").iterdir()) == [
        "claims.tex",
        "numbers.tex",
        "tables.tex",
    ]


def test_a_place_that_cannot_be_written_is_named(constant: Path, tmp_path: Path) -> None:
    from trialwise.errors import StoreError

    with pytest.raises(StoreError, match="cannot be written"):
        report(constant, out=tmp_path / "none" / "r.html", table=TableOptions(value=("v",)))
