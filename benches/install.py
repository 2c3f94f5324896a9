"""What Trialwise and its dependencies weigh when they are installed, what each is used for, and what extras add.

The packages are those of the environment that runs this; Trialwise itself is the wheel in dist/ (`make wheel`), if it is there. Of
the largest three it also says what commands load: the size of the compiled files that are mapped when a command ends.

Run: .venv/bin/python benches/install.py. The result is kept in benches/results/install.json; docs/decisions has the table.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from importlib.metadata import Distribution, distribution
from pathlib import Path

from measuring import write

sys.path.insert(0, str(Path(__file__).parents[1] / "packaging"))

from smoke import steps

ROOT = Path(__file__).parents[1]
ALLOWED = {"wheel": 60.0, "installed": 250.0}
"""Megabytes."""
USED_FOR = {
    "altair": "descriptions of figures in pages",
    "cyclopts": "the command line",
    "jinja2": "HTML pages",
    "numpy": "arrays in every statistic",
    "polars": "the ledger, samples (Parquet), tables of others",
    "pydantic": "checking files and documents of others, JSON Schemas",
    "starlette": "answers of the page of `serve`",
    "uvicorn": "HTTP of the page of `serve`",
    "rich": "tables and progress in terminals",
    "scipy": "distributions, tests, optimisation, spectra",
    "tomlkit": "editing experiment files",
    "typst": "PDF",
    "vl-convert-python": "SVG and PNG of figures",
    "zstandard": "archives .tar.zst",
    "cryptography": "certificates of clusters",
    "dask-jobqueue": "clusters under SLURM",
    "distributed": "simulated trials on many machines",
}
LARGEST = ("polars", "scipy", "numpy")
COMMANDS = {
    "look": "look hyperfine.json",
    "ab": "ab true false --trials 5 --quiet",
    "run": "run experiment.toml --quiet",
    "analyze": "analyze smoke.results",
    "report": "report smoke.results --out smoke.html",
}
"""Those of packaging/smoke.py."""
LOADED = """\
import json, os, sys
from pathlib import Path
from trialwise.cli.main import main
try:
    main()
except SystemExit:
    pass
files = {line.split()[-1] for line in Path("/proc/self/maps").read_text().splitlines() if ".so" in line}
part = lambda name: sum(os.path.getsize(f) for f in files if any(p.startswith((name, "_" + name)) for p in f.split("/")))
sys.stderr.write("\\n" + json.dumps({name: round(part(name) / 1e6, 1) for name in %r}))
"""
_NAME = re.compile(r"[A-Za-z0-9._-]+")


def normal(name: str) -> str:
    """A name of a package as PyPI compares it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def needed(requirements: Iterable[str], seen: set[str]) -> Iterator[str]:
    """Yield the packages that requirements bring and that are not seen yet, without extras of others."""
    for line in requirements:
        if "extra ==" in line or ("sys_platform" in line and "win32" in line) or "python_version <" in line:
            continue
        found = _NAME.match(line)
        if found is None or normal(found[0]) in seen:
            continue
        name = normal(found[0])
        seen.add(name)
        yield name
        yield from needed(distribution(name).requires or [], seen)


def megabytes(found: Distribution) -> float:
    """Size of the installed files of a package, in MB, with the compiled Python files that pip makes."""
    files = (Path(str(file.locate())) for file in found.files or [])
    return sum(file.stat().st_size for file in files if file.exists()) / 1e6


def rows_of(part: str, requirements: Sequence[str], seen: set[str]) -> list[dict[str, object]]:
    """Weigh each direct dependency of a part, with what comes by it and is no direct dependency itself."""
    direct = [normal(found[0]) for line in requirements if (found := _NAME.match(line))]
    seen.update(direct)
    rows: list[dict[str, object]] = []
    for name in direct:
        others = list(needed(distribution(name).requires or [], seen))
        mb = sum(megabytes(distribution(each)) for each in (name, *others))
        rows.append(
            {
                "part": part,
                "package": name,
                "mb": round(mb, 1),
                "with": len(others),
                "used_for": USED_FOR[name],
            }
        )
    return sorted(rows, key=lambda row: -float(str(row["mb"])))


def own() -> list[dict[str, object]]:
    """Weigh the wheel of dist/, packed and unpacked."""
    wheels = sorted((ROOT / "dist").glob("trialwise-*.whl"))
    if not wheels:
        return []
    with zipfile.ZipFile(wheels[-1]) as packed:
        unpacked = sum(each.file_size for each in packed.infolist()) / 1e6
    return [
        {
            "part": "core",
            "package": "trialwise",
            "mb": round(unpacked, 1),
            "wheel_mb": round(wheels[-1].stat().st_size / 1e6, 1),
            "used_for": "everything",
        }
    ]


def loaded() -> Iterator[dict[str, object]]:
    """Run each command in a process of its own; yield what it maps of the largest packages, in MB."""
    with tempfile.TemporaryDirectory() as name:
        steps(Path(name))
        for command, words in COMMANDS.items():
            program = [sys.executable, "-c", LOADED % (LARGEST,), *words.split()]
            done = subprocess.run(program, cwd=name, capture_output=True, text=True, check=False)
            mapped = json.loads(done.stderr.rpartition("\n")[2])
            yield {"part": "loaded", "command": command, **{f"{each}_mb": mapped[each] for each in LARGEST}}


def main() -> int:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    seen: set[str] = set()
    rows = [*own(), *rows_of("core", project["dependencies"], seen)]
    core = sum(float(str(row["mb"])) for row in rows)
    for extra in ("print", "zstd", "serve", "cluster"):
        rows += rows_of(extra, project["optional-dependencies"][extra], set(seen))
    rows.append(
        {
            "part": "core",
            "package": "all",
            "mb": round(core, 1),
            "of_allowed": round(core / ALLOWED["installed"], 2),
        }
    )
    rows += loaded()
    write("install", rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
