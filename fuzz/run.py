"""Fuzz everything that reads foreign files and connections, each for so much processor time: `python fuzz/run.py SECONDS [NAME …]`.

The names are the parsers of `tests/foreign_readers.py` (these take atheris) and the targets of `fuzz_targets` (these are run where
`cargo +nightly fuzz build` has built them). Each runs in a process of its own, one after the other. What reaches something new is kept
in `fuzz/found`, what fails in `fuzz/artifacts`; one that fails goes on until it has failed a few times. `fuzz/found/figures.json`
knows how far each has come: the same command goes on where it was stopped, or begins anew if all was done. `--figures FILE` gets a
line for each when it is done.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import zipfile
from dataclasses import asdict, dataclass
from pathlib import Path

from readers import READY

from foreign_readers import PARSERS, kept, read_or_refused, word

HERE = Path(__file__).parent
FOUND, ARTIFACTS = HERE / "found", HERE / "artifacts"
KEPT = FOUND / "figures.json"
MEMORY_FOLDER = Path("/dev/shm")  # noqa: S108  a file system in memory, where inputs are written ten times as fast
BUILT = HERE / "target" / "x86_64-unknown-linux-gnu" / "release"
MAX_FINDINGS = 5
TICKS = os.sysconf("SC_CLK_TCK")
# Hangs are told by processor time (the readers do so themselves); libFuzzer's own bound is of a clock, which a busy machine passes.
OPTIONS = ("-timeout=300", "-rss_limit_mb=2048", "-print_final_stats=1", "-reload=0")
READER_OPTIONS = (
    "-runs=100000",
)  # then a new process goes on: what libraries keep for each call adds up to their bound of memory
TARGET_OPTIONS = ("-max_len=2048", "-malloc_limit_mb=16", "-rss_limit_mb=512")
MEMORY = {True: r"peak_rss_mb: *(\d+)", False: r"held (\d+) MiB"}


@dataclass
class Figures:
    """What fuzzing one parser or target has come to."""

    seconds: float = 0.0
    """Processor time since the first input."""
    inputs: int = 0
    reached: int = 0
    """Points of the code: libFuzzer's `cov`, of the last run."""
    findings: int = 0
    memory: int = 0
    """MiB: of a parser the most that a file took beside what there was, of a target all that the process held."""

    def line(self, name: str) -> str:
        return (
            f"| {name} | {self.seconds:.0f} | {self.inputs:,} | {self.reached:,} "
            f"| {self.findings} | {self.memory} |"
        )


HEADER = "| parser | processor time, s | inputs | points reached | findings | most memory, MiB |\n|---|---|---|---|---|---|\n"


def main() -> int:
    """Give each its time, and say what came out."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("seconds", type=float)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--figures", type=Path, help="a file that gets a line for each when it is done")
    parser.add_argument(
        "--keep",
        action="store_true",
        help="keep the fewest inputs of each parser that reach everything in corpus/readers",
    )
    given = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    FOUND.mkdir(exist_ok=True)
    ARTIFACTS.mkdir(exist_ok=True)
    names = given.names or every_name()
    figures = begun_figures(names, given.seconds)
    for name in names:
        if is_done(figures[name], given.seconds):
            continue
        while not is_done(figures[name], given.seconds):
            try:
                fuzz(name, figures[name], given.seconds - figures[name].seconds)
            finally:
                KEPT.write_text(json.dumps({each: asdict(one) for each, one in figures.items()}, indent=1))
        tell(figures[name].line(name), given.figures)
        if given.keep and not is_target(name):
            keep(name)
    failed = [name for name in names if figures[name].findings]
    print(f"{len(names)} fuzzed, {len(failed)} failed: {', '.join(failed) or 'none'}")
    return 1 if failed else 0


def begun_figures(names: list[str], seconds: float) -> dict[str, Figures]:
    """How far each has come; of those that are named from the beginning, if all of them are done."""
    kept = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    figures = {name: Figures(**each) for name, each in kept.items()}
    again = all(name in figures and is_done(figures[name], seconds) for name in names)
    return figures | {name: Figures() for name in names if again or name not in figures}


def is_done(figures: Figures, seconds: float) -> bool:
    return figures.seconds >= seconds - 1 or figures.findings >= MAX_FINDINGS


def every_name() -> list[str]:
    """The targets that are built, and the parsers if atheris is there."""
    targets = [file.stem for file in sorted(HERE.glob("fuzz_targets/*.rs")) if (BUILT / file.stem).exists()]
    if importlib.util.find_spec("atheris") is None:
        return targets
    return [*targets, *PARSERS]


def fuzz(name: str, figures: Figures, seconds: float) -> None:
    """Let one process go on until its processor time is over, or something fails."""
    corpus, log = FOUND / word(name), FOUND / f"{word(name)}.log"
    corpus.mkdir(exist_ok=True)
    unpack(name, corpus)
    options = [f"-artifact_prefix={ARTIFACTS}/{word(name)}-", *OPTIONS]
    with (
        tempfile.TemporaryDirectory(dir=MEMORY_FOLDER if MEMORY_FOLDER.is_dir() else None) as folder,
        log.open("w") as errors,
    ):
        if is_target(name):
            words = [str(BUILT / name), *options, *TARGET_OPTIONS, str(corpus), str(HERE / "corpus" / name)]
        else:
            words = [*reader(name, folder), *options, *READER_OPTIONS, str(corpus)]
        started = subprocess.Popen(words, stdout=errors, stderr=errors)
        before, begun, is_ready = figures.seconds, 0.0, is_target(name)
        try:
            while started.poll() is None:
                time.sleep(0.5)
                used = processor_time(started.pid)
                if not is_ready:
                    is_ready, begun = READY in log.read_text(errors="replace"), used
                figures.seconds = max(figures.seconds, before + used - begun)
                if figures.seconds >= before + seconds:
                    started.send_signal(signal.SIGUSR1)  # libFuzzer ends in good order
        finally:
            started.send_signal(signal.SIGUSR1)
            code = started.wait()
    said = log.read_text(errors="replace")
    if not is_ready:
        raise RuntimeError(f"{name} did not start; see {log}\n{said[-2000:]}")
    figures.inputs += last_number(r"number_of_executed_units: *(\d+)", said)
    figures.reached = last_number(r"\bcov: (\d+)", said) or figures.reached
    figures.memory = max(figures.memory, last_number(MEMORY[is_target(name)], said))
    if code:
        figures.findings += 1
        Path(ARTIFACTS, f"{word(name)}-{figures.findings}.log").write_text(said[-20_000:])
        print(f"{name}: exit {code}\n{said[-3000:]}", flush=True)


def is_target(name: str) -> bool:
    """Whether a name is that of a parser in Rust."""
    return Path(HERE, "fuzz_targets", f"{name}.rs").exists()


def reader(name: str, folder: str) -> list[str]:
    """The command that fuzzes a parser in Python, but for its options."""
    return [sys.executable, str(HERE / "readers.py"), name, folder]


def unpack(name: str, corpus: Path) -> None:
    """Begin with the inputs that are kept, where nothing was found yet."""
    if not any(corpus.iterdir()) and kept(name).exists():
        shutil.unpack_archive(kept(name), corpus)


def keep(name: str) -> None:
    """Keep the shortest inputs that together take all branches that what was found takes; it takes coverage.py."""
    from coverage import Coverage

    found = (FOUND / word(name)).iterdir()
    inputs = sorted((each.read_bytes() for each in found), key=lambda content: (len(content), content))
    taken: set[tuple[str, int, int]] = set()
    kept(name).parent.mkdir(exist_ok=True)
    with zipfile.ZipFile(kept(name), "w") as archive, tempfile.TemporaryDirectory() as folder:
        for content in filter(None, inputs):
            coverage = Coverage(data_file=None, branch=True, include=[f"{HERE.parent}/src/trialwise/*"])
            coverage.set_option("run:disable_warnings", ["no-data-collected"])
            with coverage.collect():
                read_or_refused(
                    PARSERS[name][content[0] % len(PARSERS[name])], Path(folder, "x.log"), content[1:]
                )
            data = coverage.get_data()
            arcs = {(file, *arc) for file in data.measured_files() for arc in data.arcs(file) or ()}
            if not arcs <= taken:
                taken |= arcs
                archive.writestr(
                    zipfile.ZipInfo(f"{len(archive.namelist()):03}"), content, zipfile.ZIP_DEFLATED
                )
        print(
            f"{name}: {len(archive.namelist())} of {len(inputs)} inputs kept, {len(taken):,} branches",
            flush=True,
        )


def processor_time(process: int) -> float:
    """Seconds of a process, or 0 when it is over."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / TICKS


def last_number(pattern: str, text: str) -> int:
    found = re.findall(pattern, text)
    return int(found[-1]) if found else 0


def tell(line: str, file: Path | None) -> None:
    print(line, flush=True)
    if file is not None:
        is_new = not file.exists()
        with file.open("a") as lines:
            lines.write((HEADER if is_new else "") + line + "\n")


if __name__ == "__main__":
    sys.exit(main())
