"""criterion.rs: the folder `target/criterion`, and what it prints.

In the mode "Linear" the number of iterations grows from sample to sample, and the first samples are noisy: the value is the slope
then. In the mode "Flat" it is the mean. Criterion prints the same (`src/analysis/mod.rs`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from math import fsum
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, Field, model_validator

from trialwise.errors import AnalysisError
from trialwise.readers.content import Content
from trialwise.readers.declared import NO_UNIT, Found, Reader
from trialwise.readers.forms import valid
from trialwise.readers.long_lists import is_list
from trialwise.readers.records import Inside, Summary, listed
from trialwise.readers.units import normalised

_DEEPEST = 3
_MOST_BENCHMARKS = 20_000
_OWN = ("new", "base", "change", "report")
"""The folders of a benchmark to which criterion gives the names; each other one is a baseline."""
_FILES = ("benchmark.json", "estimates.json", "sample.json")
_NANOSECONDS = 1e-9
_INTERVAL = re.compile(r"(time|thrpt): +\[([\d.]+) (\S{1,12}) ([\d.]+) (\S{1,12}) ([\d.]+) (\S{1,12})\]")
_SIGNATURE = re.compile(r"\btime: +\[[\d.]+ (?:ps|ns|µs|μs|us|ms|s) [\d.]+ ")
_RATE = re.compile(r"([KMGT]?)(i?)(elem|B|b)/s")
_POWERS = ("", "K", "M", "G", "T")
_LEVEL = 0.95
_Form = TypeVar("_Form", bound=BaseModel)


class Identity(BaseModel):
    """`benchmark.json`: names of directories are mangled, so that these count."""

    group_id: str
    function_id: str | None = None
    value_str: str | None = None
    full_id: str = ""


class Sample(BaseModel):
    """`sample.json`: nanoseconds for each number of iterations; old versions wrote two lists."""

    sampling_mode: str = ""
    iters: list[float] = Field(min_length=1)
    times: list[float] = Field(min_length=1)

    @model_validator(mode="before")
    @classmethod
    def _named(cls, told: Any) -> Any:  # noqa: ANN401  any JSON
        if is_list(told):
            return dict(zip(("iters", "times"), told, strict=False))
        return told

    @property
    def seconds(self) -> list[float]:
        """Seconds per iteration of each sample."""
        return [
            time * _NANOSECONDS / count for time, count in zip(self.times, self.iters, strict=False) if count
        ]


class Estimate(BaseModel):
    """A number of `estimates.json`, in nanoseconds."""

    point_estimate: float


class Estimates(BaseModel):
    """`estimates.json`."""

    slope: Estimate | None = None


def _parts(folder: Path) -> Sequence[Path]:
    """Return the files of the last run of each benchmark, in `new`, or of the run whose own folder this is.

    `base` is the run before, and other folders beside `new` are baselines that were given a name.
    """
    if (folder / "sample.json").is_file() and (folder / "benchmark.json").is_file():
        return [folder / name for name in _FILES if (folder / name).is_file()]
    inner = folder / "criterion"
    root = inner if folder.name == "target" and inner.is_dir() else folder
    if root is folder and inner.is_dir():
        return ()
    found = [
        path.parent
        for depth in range(1, _DEEPEST + 1)
        for path in islice(root.glob(f"{'*/' * depth}new/sample.json"), _MOST_BENCHMARKS)
        if (path.parent / "benchmark.json").is_file()
    ]
    return sorted(place / name for place in found for name in _FILES if (place / name).is_file())


def _never(_: Content) -> bool:
    return False


def _read_folder(content: Content, found: Found) -> None:
    benchmarks: dict[Path, dict[str, Content]] = {}
    for part in content.parts:
        benchmarks.setdefault(part.path.parent, {})[part.name] = part
    for folder, files in benchmarks.items():
        where = str(folder.relative_to(content.path))
        try:
            _add(found, files, where)
        except AnalysisError as error:
            found.note("partial", what=f"{where} is damaged: {error}")
    found.note("within_process")
    if names := sorted(
        {name for folder in benchmarks if folder != content.path for name in _baselines(folder)}
    ):
        told = listed(names)
        found.remark(f"baselines with names are left out, and read if their folders are named: {told}")


def _baselines(folder: Path) -> Iterator[str]:
    """Yield the names of the baselines beside the last run of a benchmark."""
    if folder.name == "new":
        beside = (path for path in islice(folder.parent.iterdir(), _MOST_BENCHMARKS) if path.name not in _OWN)
        yield from (path.name for path in beside if (path / "sample.json").is_file())


def _add(found: Found, files: dict[str, Content], where: str) -> None:
    identity = _form(Identity, files["benchmark.json"])
    sample = _form(Sample, files["sample.json"])
    seconds = sample.seconds
    if not seconds:
        raise found.wrong("no sample has iterations")
    slope = _form(Estimates, files["estimates.json"]).slope if "estimates.json" in files else None
    linear = sample.sampling_mode == "Linear" and slope is not None
    value = slope.point_estimate * _NANOSECONDS if linear and slope else fsum(seconds) / len(seconds)
    found.add(
        _treatment(identity) | ({"baseline": found.content.path.name} if where == "." else {}),
        "time",
        value,
        "s",
        "lower",
        levels={"process": "1", "repetition": where},
        samples=Inside("sample", seconds, repeated=not linear),
        where=where,
    )


def _form(form: type[_Form], part: Content) -> _Form:
    return valid(form, part.path, part.document, "criterion")


def _treatment(identity: Identity) -> dict[str, str]:
    parts = {"group": identity.group_id, "function": identity.function_id, "value": identity.value_str}
    return {name: level for name, level in parts.items() if level is not None}


def _is_text(content: Content) -> bool:
    return not content.is_binary and _SIGNATURE.search(content.head) is not None


def _read_text(content: Content, found: Found) -> None:
    name = before = ""
    for number, line in enumerate(content.lines, 1):
        measured = _INTERVAL.search(line)
        if measured is None:
            before = line.strip() or before
            continue
        if measured[1] == "time":
            name = line[: measured.start()].strip() or before
        if name and "%" not in measured[3]:
            _add_interval(found, name, measured, number)


def _add_interval(found: Found, name: str, measured: re.Match[str], line: int) -> None:
    """Add the middle of three numbers; the lowest throughput stands first, as it belongs to the highest time."""
    try:
        three = [_in_normal(measured[place], measured[place + 1]) for place in (2, 4, 6)]
    except ValueError:
        found.note("partial", what=f"line {line} is not whole")
        return
    unit = three[1][1]
    is_time = measured[1] == "time"
    found.add(
        {"benchmark": name},
        "time" if is_time else "throughput",
        three[1][0],
        unit,
        "lower" if is_time else "higher",
        status="aggregated",
        summary=Summary(interval=(three[0][0], three[2][0]), level=_LEVEL),
        where=f"line {line}",
    )


def _in_normal(number: str, unit: str) -> tuple[float, str]:
    rate = _RATE.fullmatch(unit)
    if rate is None:
        return normalised(float(number), unit)
    factor = (1024.0 if rate[2] else 1000.0) ** _POWERS.index(rate[1])
    return float(number) * factor, {"elem": "1/s", "B": "byte/s", "b": "bit/s"}[rate[3]]


_TEST = "test "
_BENCH = "... bench:"
_MEASURED = re.compile(r" *([\d,.]+) ns/iter \(\+/- ([\d,.]+)\)(?: = ([\d,.]+) MB/s)?")
_OF_LIBTEST = re.compile(r"^test [^\n]{1,2000}\.\.\. bench: +[\d,.]+ ns/iter", re.MULTILINE)


def _is_libtest(content: Content) -> bool:
    return not content.is_binary and _OF_LIBTEST.search(content.head) is not None


def _read_libtest(content: Content, found: Found) -> None:
    """Read `test NAME ... bench: MEDIAN ns/iter (+/- MAX−MIN)`; how many samples there were is not printed."""
    for number, line in enumerate(content.lines, 1):
        if not line.startswith(_TEST):
            continue
        name, is_bench, told = line.removeprefix(_TEST).partition(_BENCH)
        treatment = {"benchmark": name.rstrip()}
        if is_bench:
            _add_libtest(found, treatment, told, number)
        elif line.endswith("... FAILED"):
            treatment = {"benchmark": line.removeprefix(_TEST).removesuffix("... FAILED").rstrip()}
            found.add(
                treatment,
                "time",
                None,
                "s",
                "lower",
                status="failed",
                reason="the benchmark failed",
                where=f"line {number}",
            )


def _add_libtest(found: Found, treatment: dict[str, str], told: str, line: int) -> None:
    measured = _MEASURED.match(told)
    try:
        numbers = [] if measured is None else [float(part.replace(",", "")) for part in _known(measured)]
    except ValueError:
        numbers = []
    if not numbers:
        found.note("partial", what=f"line {line} is not whole")
        return
    place = f"line {line}"
    found.add(treatment, "time", numbers[0], "ns", "lower", status="aggregated", where=place)
    if len(numbers) > 2:
        rate = numbers[2] * 1e6
        found.add(treatment, "throughput", rate, "byte/s", "higher", status="aggregated", where=place)


def _known(measured: re.Match[str]) -> Iterator[str]:
    return (part for part in measured.groups() if part is not None)


READERS = (
    Reader(
        name="criterion-directory",
        tool="criterion",
        how="`cargo bench`; name the folder `target/criterion`",
        replicated="process",
        unit="process (cargo bench run): 1",
        subjects=("group",),
        fits=_never,
        read=_read_folder,
        parts=_parts,
    ),
    Reader(
        name="criterion-text",
        tool="criterion",
        how="`cargo bench`, printed into a file",
        replicated="process",
        unit=NO_UNIT,
        subjects=("benchmark",),
        fits=_is_text,
        read=_read_text,
    ),
    Reader(
        name="libtest-bench-text",
        tool="libtest bench",
        how="`cargo bench` of the nightly compiler, or criterion's `--output-format bencher`, printed into a file",
        replicated="process",
        unit=NO_UNIT,
        subjects=("benchmark",),
        statistic="median",
        fits=_is_libtest,
        read=_read_libtest,
    ),
)
