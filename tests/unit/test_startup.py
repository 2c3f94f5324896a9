"""What commands import before their first trial: not what takes longer than all else, and only some analyses use."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from trialwise import statistics as st
from trialwise import study

PARTS = {"scipy.optimize", "scipy.signal", "scipy.stats", "scipy.sparse", "scipy.linalg", "scipy.interpolate"}
"""Parts of SciPy that take longer than all else."""
NETWORK = {"ssl", "http.client", "asyncio", "multiprocessing.forkserver"}
TABLES = {
    "polars",
    "scipy.special",
    "trialwise.analysis.trial_set",
    "trialwise.readers",
    "trialwise.exchange",
}
"""What reads tables, and judges."""


def loaded_by(code: str, folder: Path | None = None) -> set[str]:
    """Return the modules of a process that executes the code."""
    words = [sys.executable, "-c", f"import sys\n{code}\nprint(*sys.modules, file=sys.__stderr__)"]
    done = subprocess.run(words, capture_output=True, text=True, check=True, cwd=folder)
    return set(done.stderr.split())


UNUSED = {"numpy.f2py", "numpy.polynomial", "numpy.ctypeslib", "numpy.testing", "unittest"}
"""Parts of NumPy that a plain import of scipy.special takes along."""


def test_special_functions_come_without_the_rest_of_numpy() -> None:
    code = """import numpy
before = sorted(numpy.__all__), sorted(dir(numpy))
from trialwise.special import ndtri
assert before == (sorted(numpy.__all__), sorted(dir(numpy)))
assert abs(ndtri(0.975) - 1.959963984540054) < 1e-15"""  # qnorm(0.975) of R
    assert not loaded_by(code) & {*UNUSED, "numpy.ma", "numpy.random"}
    assert loaded_by("import scipy.special") >= UNUSED  # else the module special has no purpose any more


def test_special_functions_are_imported_at_one_place() -> None:
    source = Path(str(st.__file__)).parents[1]
    found = [path.name for path in source.rglob("*.py") if "from scipy.special" in path.read_text()]
    assert found == ["special.py"]


def test_ab_starts_without_what_only_some_analyses_use() -> None:
    loaded = loaded_by("import trialwise.cli.ab; from trialwise import study; study.run, study.analyse")
    assert {"trialwise.study.running", "trialwise.study.reading"} <= loaded
    assert not loaded & (PARTS | NETWORK | UNUSED)


def test_ab_imports_no_table_and_no_special_function_before_its_trials(tmp_path: Path) -> None:
    """Together they take half a second, and Polars writes into the environment that trials inherit."""
    code = """from trialwise.cli.main import main
import trialwise.versions
def judge(*_, **__):
    print(*sys.modules, file=sys.__stderr__)
    raise SystemExit(9)
trialwise.versions.run_versions = judge
sys.argv = ["trialwise", "ab", "true", "false", "--quiet"]
try:
    main()
except SystemExit as ending:
    assert ending.code == 9, ending.code"""
    loaded = loaded_by(code, tmp_path)
    assert "trialwise.analysis.versions.looks" in loaded
    assert not loaded & {"polars", "scipy"}


@pytest.mark.parametrize("given", [None, "narenas:1"])
def test_polars_leaves_the_environment_of_trials_as_it_was(given: str | None) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "_RJEM_MALLOC_CONF"}
    environment |= {"_RJEM_MALLOC_CONF": given} if given else {}
    code = """import os, subprocess, sys
from trialwise.late import pl
pl.DataFrame({"a": [1]})
show = "import os; print(os.environ.get('_RJEM_MALLOC_CONF'))"
subprocess.run([sys.executable, "-c", show], check=True)"""
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == str(given)
    assert "_RJEM_MALLOC_CONF" in loaded_by_polars()  # else nothing has to be taken back any more


def loaded_by_polars() -> str:
    code = "import polars, os; print(*os.environ)"
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


def test_comparing_takes_none_of_the_slow_parts_of_scipy() -> None:
    code = """from trialwise import statistics as st
a, b = [1.0, 1.2, 1.1, 1.3], [1.2, 1.5, 1.3, 1.1]
st.difference(a, b, margin=0.03)
from trialwise.statistics.estimates.moments import Moments
from trialwise.statistics.sequential.forecast import trials_to_decide
trials_to_decide(Moments(4, 1.0, 0.2), Moments(4, 1.1, 0.3), None, 0.05)"""
    loaded = loaded_by(code)
    assert "trialwise.statistics.comparing.fieller" in loaded
    assert not loaded & PARTS


EXPERIMENT = """\
[experiment]
name = "e"
[trial]
kind = "command"
command = "true {n}"
[factors]
n = [1, 2]
[design]
rounds = 1
[metrics.t]
resource = "wall"
"""


def test_a_run_needs_nothing_that_analyses(tmp_path: Path) -> None:
    (tmp_path / "e.toml").write_text(EXPERIMENT)
    code = """from trialwise.cli.main import main
sys.argv = ["trialwise", "run", "e.toml", "--quiet"]
try:
    main()
except SystemExit as ending:
    assert not ending.code, ending.code"""
    loaded = loaded_by(code, tmp_path)
    assert "trialwise.execution.runner" in loaded
    assert not loaded & (PARTS | NETWORK | TABLES)


def test_a_plan_reads_no_table(tmp_path: Path) -> None:
    (tmp_path / "e.toml").write_text(EXPERIMENT)
    code = """from trialwise.cli.main import main
sys.argv = ["trialwise", "plan", "e.toml"]
try:
    main()
except SystemExit as ending:
    assert not ending.code, ending.code"""
    loaded = loaded_by(code, tmp_path)
    assert "trialwise.report.documents.plan" in loaded
    assert not loaded & (PARTS | NETWORK | UNUSED | (TABLES - {"scipy.special"}))


@pytest.mark.parametrize(
    "module", ["claims.judging", "claims.reproduction", "claims.telescopes", "versions.suites"]
)
def test_claims_and_suites_start_without_the_slow_parts_of_scipy(module: str) -> None:
    assert not loaded_by(f"import trialwise.analysis.{module}") & (PARTS | UNUSED)


def test_names_of_statistics_come_with_their_first_use() -> None:
    code = "import sys; from trialwise import statistics as st; print(*sys.modules); print(st.samples_needed(95, 95))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    modules, number = done.stdout.splitlines()
    assert not [
        name for name in modules.split() if name.startswith(("scipy", "numpy", "trialwise.statistics."))
    ]
    assert int(number) == 59
    assert {"kpi", "Difference", "variability"} <= set(dir(st))
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = st.nothing  # pyright: ignore[reportAttributeAccessIssue]


@pytest.mark.parametrize("package", [st, study])
def test_each_name_of_a_stub_is_in_its_module(package: object) -> None:
    assert all(getattr(package, name) is not None for name in dir(package))


@pytest.mark.parametrize("package", [st, study])
def test_no_module_has_the_name_of_what_comes_with_its_first_use(package: object) -> None:
    """Importing such a module would put it in the place of the name."""
    (folder,) = package.__path__  # type: ignore[attr-defined]
    assert not {path.stem for path in Path(folder).iterdir()} & set(dir(package))
