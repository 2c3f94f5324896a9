"""CCEval's Figure 8: one metric of one scheme by several engines to 1 % at 95 %, and how far each engine is from packets.

Usage: figure_8.py [FILE [FOLDER]]

FILE is an experiment with the factor `engine` (default figure-8.toml beside this script), FOLDER where results go (default here).
An experiment that was interrupted goes on. The report is FOLDER/NAME.html; the ratios of each engine to packets are also printed.
"""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

PACKETS = "trialwise"
MISSING = "learned: missing, as Trialwise has no engine that was trained (theirs is M3)"


def run(*words: object) -> int:
    """Run a command of Trialwise; its exit code."""
    return subprocess.run(
        [Path(sys.executable).with_name("trialwise"), *map(str, words)], check=False
    ).returncode


def main() -> int:
    """Run, report, and compare each engine with packets on the same flows; the exit code of the first command that fails."""
    given = [Path(word) for word in sys.argv[1:3]]
    file, folder = (*given, *(Path(__file__).with_name("figure-8.toml"), Path())[len(given) :])
    directory = folder / f"{file.stem}.results"
    if code := run("run", file, "--directory", directory):
        return code
    if code := run("report", directory, "--out", directory.with_suffix(".html")):
        return code
    engines = tomllib.loads(file.read_text())["factors"]["engine"]
    for engine in engines:
        if engine != PACKETS and (
            code := run("compare", directory, "--a", f"engine={PACKETS}", "--b", f"engine={engine}")
        ):
            return code
    print(MISSING)
    return 0


if __name__ == "__main__":
    sys.exit(main())
