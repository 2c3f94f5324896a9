"""What analyses, reports, simulates and reads, without what is built on Linux alone, what Unix alone has, and extras."""

from __future__ import annotations

import subprocess
import sys

WITHOUT = """
import sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        unix = {"fcntl", "resource", "pty", "tty", "termios", "pwd", "grp"}
        if name in unix | {"vl_convert", "typst", "zstandard", "distributed"}:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Missing())
from trialwise import _core
del _core._linux
"""
IMPORTED = """
import importlib, pkgutil
import trialwise
for room in ("statistics", "experiment", "design", "store", "analysis", "report", "exchange"):
    package = importlib.import_module(f"trialwise.{room}")
    for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        importlib.import_module(found.name)
for name in ("simulating", "fabrics"):
    importlib.import_module(f"trialwise.trials.{name}")
try:
    import trialwise._linux
except ImportError as error:
    print(error)
"""
DONE = """
from pathlib import Path
from trialwise import statistics as st
from trialwise.analysis.table import TableColumns, analyse_table
from trialwise.experiment.model import Kpi, Metric
from trialwise.experiment.sources import TextSource
from trialwise.report.html import html_report

table = Path("runs.csv")
table.write_text("group,v\\n" + "".join(f"{'ab'[n % 2]},{n % 7}\\n" for n in range(40)))
metric = Metric(name="v", source=TextSource(path=str(table), csv="v"), kpis=(Kpi(50, 95, "upper"),))
page = html_report(analyse_table(table, TableColumns(("group",)), [metric]))
packets = _core.simulate_path
flows = _core.parse_flows("1\\n0 1 3 100 1000 0\\n")
print(len(page) > 100_000, st.median_interval([1, 2, 3, 4, 5, 6.0], 90).median, len(flows["size_bytes"]))
"""


def run(code: str, folder: str | None = None) -> str:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT + code], capture_output=True, text=True, check=False, cwd=folder
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_module_of_these_rooms_can_be_imported() -> None:
    assert "trialwise measures on Linux alone" in run(IMPORTED)


def test_a_table_is_analysed_and_reported(tmp_path) -> None:
    assert run(DONE, str(tmp_path)).split() == ["True", "3.5", "1"]
