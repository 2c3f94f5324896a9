"""Installs a wheel into a new virtual environment and tries what it is for: look, ab, run, analyze and report.

Usage: python3 packaging/smoke.py WHEEL [--find-links FOLDER] [--keep FOLDER]

Standard library only, so that any Python from 3.11 on can run it where nothing else is. With --find-links, pip asks no index. No
package is built from source, no compiler is needed: PATH holds the environment's programs and those of the system.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path

EXPERIMENT = """\
[experiment]
name = "smoke"
[factors]
size = ["1000", "100000"]
[trial]
command = "python3 -c 'import zlib; zlib.compress(bytes({size}))'"
[metrics.time]
resource = "wall"
kpi = { percentile = 50, confidence = 95 }
"""
RESULTS = {
    "results": [
        {"command": name, "times": [base + n % 5 / 1000 for n in range(20)], "mean": base, "unit": "second"}
        for name, base in (("old", 0.2), ("new", 0.1))
    ]
}
TOOLS = ("cc", "gcc", "clang", "rustc", "cargo")
"""What must not be there where --bare is given."""


def main() -> int:
    """Install and try; 0 if each command ends as it must."""
    given = arguments()
    if given.bare:
        refuse_compilers()
    with tempfile.TemporaryDirectory(prefix="smoke-") as name:
        folder = given.keep or Path(name)
        folder.mkdir(parents=True, exist_ok=True)
        trialwise = installed(given.wheel, given.find_links, folder)
        sizes(folder)
        for words, codes, said in steps(folder):
            tried(trialwise, words, codes, said, folder)
    print(f"smoke: {given.wheel.name} works with Python {sys.version.split()[0]}")
    return 0


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("wheel", type=Path)
    parser.add_argument("--find-links", type=Path, help="the only place that pip looks for packages")
    parser.add_argument("--keep", type=Path, help="a new folder for what is made, which stays")
    parser.add_argument("--bare", action="store_true", help="refuse a machine that has a compiler or Rust")
    return parser.parse_args()


def refuse_compilers() -> None:
    """Exit where a compiler is on PATH: what is tried is that none is needed."""
    found = [tool for tool in TOOLS for part in os.get_exec_path() if Path(part, tool).exists()]
    if found:
        sys.exit(f"smoke: this machine has {', '.join(found)}, and --bare wants none")


def installed(wheel: Path, links: Path | None, folder: Path) -> Path:
    """Install the wheel into a new environment; the path of its program."""
    environment = folder / "venv"
    venv.create(environment, with_pip=True)
    where = [] if links is None else ["--no-index", "--find-links", str(links)]
    python = environment / "bin/python"
    words = [
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "--only-binary",
        ":all:",
        *where,
        str(wheel),
    ]
    begun = time.perf_counter()
    subprocess.run([python, "-m", "pip", *words], check=True)
    print(f"smoke: installed in {time.perf_counter() - begun:.1f} s")
    return environment / "bin/trialwise"


def sizes(folder: Path) -> None:
    """Print what the environment weighs without pip."""
    (packages,) = (folder / "venv/lib").glob("python3*/site-packages")
    weighed = {
        each.name: sum(part.stat().st_size for part in each.rglob("*") if part.is_file())
        for each in packages.iterdir()
        if not each.name.startswith("pip")
    }
    print(
        f"smoke: {sum(weighed.values()) / 1e6:.0f} MB, of which trialwise {weighed['trialwise'] / 1e6:.0f} MB"
    )


def steps(folder: Path) -> list[tuple[list[str], set[int], str]]:
    """Write the files of the steps; return the words, allowed exit codes and a part of what each prints."""
    (folder / "experiment.toml").write_text(EXPERIMENT)
    (folder / "hyperfine.json").write_text(json.dumps(RESULTS))
    python = "python3 -c 'import {}'"
    ab = ["ab", "--base", python.format("sys"), "--head", python.format("asyncio"), "--trials", "8"]
    return [
        (["--version"], {0}, "."),
        (["look", "hyperfine.json"], {0}, "new"),
        ([*ab, "--warmup", "0", "--margin", "5%"], {1, 3}, "head"),
        (["run", "experiment.toml"], {0}, ""),
        (["analyze", "smoke.results"], {0}, "median, upper bound"),
        (["report", "smoke.results", "--out", "smoke.html"], {0}, "smoke.html"),
        (["report", "smoke.results", "--pdf", "figures"], {2}, "trialwise[print]"),
    ]


def tried(trialwise: Path, words: list[str], codes: set[int], said: str, folder: Path) -> None:
    """Run one command; exit with what it printed unless it does what it must."""
    path = os.pathsep.join([str(trialwise.parent), "/usr/bin", "/bin"])
    environment = {"PATH": path, "HOME": str(folder), "LANG": "C.UTF-8"}
    begun = time.perf_counter()
    done = subprocess.run(
        [trialwise, *words], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    printed = done.stdout + done.stderr
    if done.returncode not in codes or said not in printed or "Traceback" in printed:
        sys.exit(f"smoke: trialwise {' '.join(words)} ended with {done.returncode}:\n{printed}")
    print(f"smoke: trialwise {words[0]} in {time.perf_counter() - begun:.1f} s: exit {done.returncode}")


if __name__ == "__main__":
    sys.exit(main())
