"""The demo: three of Linux's TCPs over an emulated path; where paths are not permitted, compressors.

Usage: demo.py TRIALWISE FOLDER
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

EXAMPLES = Path(__file__).parent
TRIALS_FAILED = 4


def refusal(trialwise: str) -> str | None:
    """Why this machine permits no emulated path, in a sentence; None where it does."""
    words = [trialwise, "path", "--delay", "1ms", "--quiet", "--", "true"]
    tried = subprocess.run(words, capture_output=True, text=True, check=False)
    return None if tried.returncode == 0 else tried.stderr.strip().splitlines()[0].removeprefix("trialwise: ")


def main() -> int:
    """Run, analyse and report; the exit code of the first command that fails."""
    trialwise, folder = sys.argv[1], Path(sys.argv[2])
    reason = refusal(trialwise)
    name = "tcp-over-12mbit" if reason is None else "compressors"
    if reason is not None:
        print(f"This demo compares compressors instead of congestion controls, because {reason}", flush=True)
    directory = folder / name
    code = run(trialwise, "run", EXAMPLES / name / "experiment.toml", "--directory", directory)
    if code == TRIALS_FAILED:  # a machine that is busy with something else makes trials invalid
        code = run(trialwise, "run", directory, "--again")
    if code not in (0, TRIALS_FAILED):
        return code
    return run(trialwise, "analyze", directory) or run(
        trialwise, "report", directory, "--out", f"{directory}.html"
    )


def run(trialwise: str, *words: str | Path) -> int:
    """Run one command; its exit code."""
    return subprocess.run([trialwise, *map(str, words)], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
