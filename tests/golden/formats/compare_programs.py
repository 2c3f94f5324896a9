"""What the tools' own programs say of two sides, beside what Trialwise says of the same files.

`python tests/golden/formats/compare_programs.py` writes the tables of docs/how-to/other-compare-programs.md from what
`make_comparisons.py` recorded.
"""

import csv
import json
import math
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from pathlib import Path
from statistics import fmean, median, stdev

from scipy.stats import mannwhitneyu

ROOT = Path(__file__).resolve().parents[3]
if __name__ == "__main__":
    sys.path.insert(0, str(ROOT / "tests"))

from in_process import trialwise  # noqa: E402
from trialwise.readers.content import read_content  # noqa: E402
from trialwise.readers.register import recognised, recognised_folder  # noqa: E402

RECORDED = Path(__file__).parent / "comparisons"
PAGE = ROOT / "docs/how-to/other-compare-programs.md"
TABLE = re.compile(r"(<!-- figures -->\n).*?(<!-- end -->)", re.DOTALL)
SCALES = {"ms": 1e-3, "us": 1e-6, "μs": 1e-6, "ns": 1e-9, "%": 1.0, "": 1.0}


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure that a program printed: as `formula` computes it from the values that Trialwise reads, and what `compare` says.

    Without `why` both mean the same; with it, it tells what the difference rests on.
    """

    program: str
    what: str
    printed: str
    formula: float
    ours: float
    why: str = ""

    @property
    def number(self) -> str:
        """The digits that were printed."""
        return self.printed.split(" ")[0]

    @property
    def unit(self) -> str:
        """The unit that was printed."""
        return self.printed.partition(" ")[2]

    def like(self, value: float) -> str:
        """Return a value in the printed unit, with as many decimals."""
        sign = "+" if self.number[0] in "+-" else ""
        decimals = len(self.number.partition(".")[2])
        return f"{value / SCALES[self.unit]:{sign}.{decimals}f} {self.unit}".rstrip()

    def is_off(self, value: float) -> float:
        """Return by how much a value differs from what was printed, in units of the last digit."""
        step = 10.0 ** -len(self.number.partition(".")[2])
        return abs(value / SCALES[self.unit] - float(self.number)) / step


def printed(program: str) -> str:
    """Return what a program printed."""
    return (RECORDED / program / "printed.txt").read_text()


@cache
def compared(program: str, *words: str) -> dict:
    """Return what `trialwise compare` says of recorded files."""
    done = trialwise("compare", *words, "--json", cwd=RECORDED / program)
    return json.loads(done.stdout)


def row(document: dict, metric: str, *words: str) -> dict:
    """Return the row of a metric whose treatment has these words."""
    return next(
        each
        for each in document["rows"]
        if each["metric"] == metric and set(words) <= set(each["treatment"].split())
    )


def ratio(found: dict) -> float:
    """Return B / A of a row."""
    return found["means"][1] / found["means"][0]


@cache
def rows(program: str, name: str):
    """Return the rows that a reader finds in a recorded file or folder."""
    path = RECORDED / program / name
    if path.is_dir():
        reader, content = recognised_folder(path)
    else:
        content = read_content(path)
        reader = recognised(content)
    return reader.reading(content).rows


def values(program: str, name: str, metric: str, **levels: str) -> list[float]:
    """Return the values of trials with these levels."""
    return [
        each.value
        for each in rows(program, name)
        if each.metric == metric and levels.items() <= each.treatment.items()
    ]


def samples(program: str, name: str, metric: str, **levels: str) -> list[float]:
    """Return all repetitions inside the trials with these levels."""
    return [
        value
        for each in rows(program, name)
        if each.metric == metric and levels.items() <= each.treatment.items()
        for value in each.repetitions
    ]


def of_both(read: Callable[..., list[float]], program: str, names: Sequence[str], *words: str, **levels: str):
    """Return the values of both sides."""
    return [read(program, name, *words, **levels) for name in names]


def geometric(numbers: Sequence[float]) -> float:
    """Return the geometric mean."""
    return math.exp(fmean(map(math.log, numbers)))


def pyperf() -> Iterator[Figure]:
    """`pyperf compare_to` takes all values of all processes as one sample."""
    files = ("base.json", "head.json")
    document = compared("pyperf", *files)
    line = re.compile(
        r"^(\w+): Mean \+- std dev: \[base\] (\S+ \w+) \+- (\S+ \w+) -> \[head\] (\S+ \w+) \+- (\S+ \w+): (\S+)x (slower|faster)$",
        re.MULTILINE,
    )
    for name, before, spread, after, wider, times, way in line.findall(printed("pyperf")):
        found = row(document, "time", f"benchmark={name}")["summary"]
        spreads = row(document, "time", f"benchmark={name}")["difference"]["standard_deviations"]
        sides = of_both(samples, "pyperf", files, "time", benchmark=name)
        why = "pyperf: of all values; Trialwise: of the means of processes"
        for side, place, mean, deviation in (("base", 0, before, spread), ("head", 1, after, wider)):
            yield Figure(
                "pyperf", f"{name}, mean of {side}", mean, fmean(sides[place]), found["means"][place]
            )
            yield Figure(
                "pyperf", f"{name}, std dev of {side}", deviation, stdev(sides[place]), spreads[place], why
            )
        turn = 1 if way == "slower" else -1
        theirs = (fmean(sides[1]) / fmean(sides[0])) ** turn
        yield Figure("pyperf", f"{name}, {way}", times, theirs, ratio(found) ** turn)
    ratios = [
        fmean(after) / fmean(before)
        for name in ("sum", "sort")
        for before, after in [of_both(samples, "pyperf", files, "time", benchmark=name)]
    ]
    ((times, way),) = re.findall(r"Geometric mean: (\S+)x (slower|faster)", printed("pyperf"))
    turn = 1 if way == "slower" else -1
    ours = document["geometric_means"][0]["ratio"]["estimate"] ** turn
    why = "pyperf: of the ratios of means; Trialwise: of the values of each process"
    yield Figure("pyperf", f"geometric mean, {way}", times, geometric(ratios) ** turn, ours, why)


def benchstat() -> Iterator[Figure]:
    """benchstat compares medians."""
    files = ("base.txt", "head.txt")
    document = compared("benchstat", *files)
    cells = {each[0]: each for each in reversed(list(csv.reader(printed("benchstat").splitlines()))) if each}
    why = "benchstat: medians; Trialwise: means"
    medians = []
    for name in ("Join", "Sort"):
        cell = next(each for key, each in cells.items() if key.startswith(name))
        sides = of_both(values, "benchstat", files, "ns/op", benchmark=name)
        found = row(document, "ns/op", f"benchmark={name}")
        medians.append([median(side) for side in sides])
        for side, place, column in (("base", 0, 1), ("head", 1, 3)):
            yield Figure(
                "benchstat",
                f"{name}, sec/op of {side}",
                f"{float(cell[column]) * 1e9:.1f} ns",
                medians[-1][place] * 1e-9,
                found["summary"]["means"][place] * 1e-9,
                why,
            )
        p = mannwhitneyu(*sides, method="exact").pvalue
        yield Figure(
            "benchstat",
            f"{name}, p",
            re.sub(r"p=(\S+) n=\d+", r"\1", cell[6]),
            p,
            found["difference"]["p_value"],
            "benchstat: Mann and Whitney's test of ranks; Trialwise: Welch's of means",
        )
    theirs = [geometric(side) for side in zip(*medians, strict=True)]
    yield Figure(
        "benchstat",
        "geomean, sec/op",
        cells["geomean"][5].replace("%", " %"),
        100 * (theirs[1] / theirs[0] - 1),
        next(each for each in document["geometric_means"] if each["of"] == "ns/op")["percent"]["estimate"],
        "benchstat: of medians; Trialwise: of the values of each process",
    )


def hyperfine() -> Iterator[Figure]:
    """hyperfine's ratio is that of means."""
    text = printed("hyperfine")
    commands = re.findall(r"^Benchmark \d: (.+)$", text, re.MULTILINE)
    sides = [values("hyperfine", "runs.json", "time", command=command) for command in commands]
    words = ("--a", f"command={commands[0]}", "--b", f"command={commands[1]}")
    (found,) = [
        each for each in compared("hyperfine", "runs.json", *words)["rows"] if each["metric"] == "time"
    ]
    spreads = found["difference"]["standard_deviations"]
    told = re.findall(r"±\s+σ\):\s+(\S+ \w+) ±\s+(\S+ \w+)", text)
    for place, (command, (mean, deviation)) in enumerate(zip(commands, told, strict=True)):
        yield Figure(
            "hyperfine", f"`{command}`, mean", mean, fmean(sides[place]), found["summary"]["means"][place]
        )
        yield Figure("hyperfine", f"`{command}`, σ", deviation, stdev(sides[place]), spreads[place])
    ((times, off),) = re.findall(r"(\d\S+) ± (\S+) times faster", text)
    theirs = fmean(sides[1]) / fmean(sides[0])
    yield Figure("hyperfine", "ratio", times, theirs, ratio(found["summary"]))
    relative = math.hypot(*(stdev(side) / fmean(side) for side in sides))
    limits = found["difference"]["ratio"]
    yield Figure(
        "hyperfine",
        "±, of the ratio",
        off,
        theirs * relative,
        (limits["high"] - limits["low"]) / 2,
        "hyperfine: the spread of single runs; Trialwise: half of the interval",
    )


def asv() -> Iterator[Figure]:
    """`asv compare` compares medians."""
    text = printed("asv")
    before, after = re.findall(r"\[(\w{8})\]", text)[:2]
    commits = [
        next(
            each.treatment["commit"]
            for each in rows("asv", "results")
            if each.treatment["commit"].startswith(begin)
        )
        for begin in (before, after)
    ]
    words = ("--a", f"commit={commits[0]}", "--b", f"commit={commits[1]}")
    document = compared("asv", "results", *words)
    line = re.compile(
        r"^\|.*?\| ([\d.]+)(?:±[\d.]+)?(\S*) +\| ([\d.]+)(?:±[\d.]+)?(\S*) +\| ~?(\S+) +\| (\S+)\((\d+)\)",
        re.MULTILINE,
    )
    for first, unit, second, other, times, name, n in line.findall(text):
        kind = "track" if "track_" in name else "time"
        why = "" if kind == "track" else "asv: medians of samples; Trialwise: their means"
        found = row(document, kind, f"benchmark={name}", f"n={n}")["summary"]
        sides = [samples("asv", "results", kind, benchmark=name, n=n, commit=commit) for commit in commits]
        theirs = [median(side) for side in sides]
        what = f"{name.rpartition('.')[2]}({n})"
        for side, place, mean in (("before", 0, f"{first} {unit}"), ("after", 1, f"{second} {other}")):
            yield Figure("asv", f"{what}, {side}", mean.strip(), theirs[place], found["means"][place], why)
        yield Figure("asv", f"{what}, ratio", times, theirs[1] / theirs[0], ratio(found), why)


def figures() -> list[Figure]:
    """Return all figures."""
    return [figure for program in (pyperf, benchstat, hyperfine, asv) for figure in program()]


def tables() -> Iterator[str]:
    """Yield the lines of the tables, one for each program."""
    versions = json.loads((RECORDED / "versions.json").read_text())
    for program, found in groupby(figures(), key=lambda each: each.program):
        yield from ("", f"**{program} {versions[program]}**", "")
        yield "| figure | it prints | `trialwise compare` | why they differ |"
        yield "|---|---|---|---|"
        for each in found:
            yield f"| {each.what} | {each.printed} | {each.like(each.ours)} | {each.why} |"
    yield ""


def page(text: str) -> str:
    """Return the page with its tables written anew."""
    return TABLE.sub(lambda found: found[1] + "\n".join(tables()) + "\n" + found[2], text)


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text()))
