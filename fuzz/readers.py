"""Fuzz readers of foreign files, guided by the coverage of their Python code: `python fuzz/readers.py SECONDS [READER …]`.

It takes atheris, and the environment of `make setup`. The readers are those of `tests/foreign_readers.py`; each runs in a process
of its own, begins with sound files and with files near them, and keeps what reaches something new in `fuzz/found`. What fails stays
in `fuzz/artifacts`, and ends the run with code 1 after the others have had their time.
"""

from __future__ import annotations

import random
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "tests"))
SEEDS = 60
MOST_BYTES = 1 << 14
LIMITS = (f"-max_len={MOST_BYTES}", "-timeout=10", "-rss_limit_mb=1024", "-malloc_limit_mb=512")


def main(seconds: str, *names: str) -> int:
    """Fuzz each reader, one after the other."""
    from foreign_readers import READERS

    if unknown := set(names) - set(READERS):
        print(f"no reader: {', '.join(sorted(unknown))}; there are {', '.join(READERS)}", file=sys.stderr)
        return 2
    failed = [name for name in names or READERS if _fuzz(name, seconds)]
    print(f"{len(names or READERS)} readers, {len(failed)} failed: {', '.join(failed) or 'none'}")
    return 1 if failed else 0


def _fuzz(name: str, seconds: str) -> int:
    word = re.sub(r"\W+", "-", name)
    found, artifacts = HERE / "found" / word, HERE / "artifacts"
    found.mkdir(parents=True, exist_ok=True)
    artifacts.mkdir(exist_ok=True)
    words = [f"-artifact_prefix={artifacts}/{word}-", f"-max_total_time={seconds}", *LIMITS, str(found)]
    done = subprocess.run(
        [sys.executable, __file__, "--one", name, "-print_final_stats=1", *words],
        check=False,
        capture_output=True,
        text=True,
        errors="replace",
    )
    runs = re.search(r"number_of_executed_units: *(\d+)", done.stderr)
    print(f"{name}: {runs[1] if runs else '?'} files, exit {done.returncode}", flush=True)
    if done.returncode:
        print(done.stdout[-3000:], re.sub(r"(?m)^(INFO|WARNING): .*\n", "", done.stderr)[-3000:], flush=True)
    return done.returncode


def _one(name: str, words: list[str]) -> None:
    import atheris

    with atheris.instrument_imports(include=["trialwise"]):
        from foreign_readers import READERS, changed, read_or_refused
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "x.log")
        rng = random.Random(17)
        sound = READERS[name][0](Path(folder))
        for at, content in enumerate([sound, *(changed(sound, rng) for _ in range(SEEDS))]):
            Path(words[-1], f"seed-{at:02d}").write_bytes(content[:MOST_BYTES])
        atheris.Setup(["readers", *words], lambda content: read_or_refused(name, path, content))
        atheris.Fuzz()


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        _one(sys.argv[2], sys.argv[3:])
    elif len(sys.argv) < 2:
        sys.exit("usage: python fuzz/readers.py SECONDS [READER …]")
    else:
        sys.exit(main(*sys.argv[1:]))
