"""airspeed velocity: the folder `results` (version 2 of its files), and what `asv run` prints.

Samples come from several processes, whose boundaries are not stored; `result` is their median.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, product
from math import isnan
from pathlib import Path
from typing import Any

from pydantic import BaseModel, Field

from trialwise.errors import AnalysisError
from trialwise.readers.content import Content
from trialwise.readers.declared import NO_UNIT, Found, Reader
from trialwise.readers.forms import valid
from trialwise.readers.long_lists import is_list
from trialwise.readers.records import Better, Inside

_BENCHMARKS = "benchmarks.json"
_MACHINE = "machine.json"
_MOST_FILES = 20_000
_MOST_COMBINATIONS = 1_000_000
_COLUMNS = (
    "result", "params", "version", "started_at", "duration", "stats_ci_99_a", "stats_ci_99_b", "stats_q_25",
    "stats_q_75", "stats_number", "stats_repeat", "samples", "profile",
)  # fmt: skip
_BETTER: Mapping[str, Better] = {"time": "lower"}
_UNITS = {"time": "seconds", "peakmemory": "bytes", "memory": "bytes"}
_KINDS = (("time_", "time"), ("timeraw_", "time"), ("peakmem_", "peakmemory"), ("mem_", "memory"))


class Benchmark(BaseModel):
    """What `benchmarks.json` tells of a benchmark."""

    param_names: list[str] = Field(default_factory=list)
    type: str = ""
    unit: str = ""
    version: str = ""


class Results(BaseModel):
    """A file of results: one commit in one environment; rows end at the last column that has a value."""

    commit_hash: str
    env_name: str = ""
    date: float | None = None
    params: dict[str, Any] = Field(default_factory=dict)
    result_columns: list[str] = Field(default_factory=lambda: list(_COLUMNS))
    results: dict[str, list[Any] | None]


def _parts(folder: Path) -> Sequence[Path]:
    listed = folder / _BENCHMARKS
    if not listed.is_file():
        return ()
    found = [path for path in islice(folder.glob("*/*.json"), _MOST_FILES) if path.name != _MACHINE]
    return [listed, *sorted(found)] if found else ()


def _never(_: Content) -> bool:
    return False


def _read_folder(content: Content, found: Found) -> None:
    listed, *files = content.parts
    known: dict[str, Benchmark] = {}
    for name, told in listed.keys.items():
        if name != "version":
            known[name] = valid(Benchmark, listed.path, told, "asv")
    results: list[tuple[str, Results]] = []
    for part in files:
        try:
            where = str(part.path.relative_to(content.path))
            results.append((where, valid(Results, part.path, part.keys, "asv")))
        except AnalysisError as error:
            found.note("partial", what=str(error))
    labels = _labels([each for _, each in results])
    found.commits |= {
        each.commit_hash: None if each.date is None else each.date / 1000 for _, each in results
    }
    for (where, each), label in zip(results, labels, strict=True):
        for name, row in each.results.items():
            _add_benchmark(found, each, name, row, known.get(name, Benchmark()), label, where)


def _labels(results: Sequence[Results]) -> list[dict[str, str]]:
    """Return machine, environment and commit of each file, without those that are the same everywhere."""
    told = [
        {
            "machine": str(each.params.get("machine", "")),
            "environment": each.env_name,
            "commit": each.commit_hash,
        }
        for each in results
    ]
    kept = [name for name in ("machine", "environment", "commit") if len({each[name] for each in told}) > 1]
    return [{name: each[name] for name in kept} for each in told]


def _add_benchmark(
    found: Found,
    file: Results,
    name: str,
    row: list[Any] | None,
    known: Benchmark,
    labels: Mapping[str, str],
    where: str,
) -> None:
    cells: dict[str, Any] = dict(zip(file.result_columns, row or [], strict=False))
    if known.version and cells.get("version") not in (None, known.version):
        found.remark(f"{name} was another benchmark when {file.commit_hash[:8]} was measured")
    kind = known.type or next((kind for begin, kind in _KINDS if begin in name), "track")
    started, duration = _number(cells.get("started_at")), _number(cells.get("duration"))
    start = None if started is None else started / 1000
    for place, (levels, value, samples) in enumerate(_combinations(cells, known)):
        number = _number(value)
        failed, skipped = value is None, number is not None and isnan(number)
        found.add(
            {"benchmark": name, **levels, **labels},
            kind,
            None if skipped else number,
            known.unit or _UNITS.get(kind, ""),
            _BETTER.get(kind),
            as_written=True,
            levels={
                "host": str(file.params.get("machine", "")),
                "build": file.commit_hash,
                "process": f"{where}/{name}/{place}",
            },
            status="failed" if failed else "finished",
            reason="it raised an error" if failed else "skipped" if skipped else "",
            start=start,
            end=None if start is None or duration is None else start + duration,
            samples=Inside("sample", samples, repeated=True) if samples and number is not None else None,
            where=f"{where}: {name}",
        )


def _combinations(
    cells: Mapping[str, Any], known: Benchmark
) -> Iterator[tuple[dict[str, str], object, list[float]]]:
    """Return the levels, value and samples of each combination of parameters, the last of which varies fastest."""
    axes: list[list[object]] = [list(axis) for axis in _list(cells.get("params")) if is_list(axis)]
    names = [
        *known.param_names,
        *(f"param{number}" for number in range(len(known.param_names) + 1, len(axes) + 1)),
    ]
    values, samples = cells.get("result"), _list(cells.get("samples"))
    for place, levels in enumerate(islice(product(*axes), _MOST_COMBINATIONS)):
        value = _at(values, place)
        inside = [number for each in _list(_at(samples, place)) if (number := _number(each)) is not None]
        yield dict(zip(names, map(str, levels), strict=False)), value, inside


def _list(told: object) -> Sequence[Any]:
    return told if is_list(told) else ()


def _at(told: object, place: int) -> object:
    entries = _list(told)
    return entries[place] if place < len(entries) else None


def _number(told: object) -> float | None:
    try:
        return float(told) if isinstance(told, int | float) and not isinstance(told, bool) else None
    except OverflowError:
        return None


_LINE = re.compile(r"^\[ *[\d.]+%\] ·+ (\S+) +([\d.]+)(?:±([\d.]+))?(ns|[µμu]s|ms|s|[kMG]?)$")
_SIGNATURE = re.compile(r"^· Running \d+ total benchmarks|^\[ *[\d.]+%\] ·+ ", re.MULTILINE)
_FAILED = re.compile(r"^\[ *[\d.]+%\] ·+ (\S+) +failed$")


def _is_text(content: Content) -> bool:
    return not content.is_binary and _SIGNATURE.search(content.head) is not None


def _read_text(content: Content, found: Found) -> None:
    """Read the benchmarks without parameters; those of others are printed as tables, which the folder has exactly."""
    tables = 0
    for number, line in enumerate(content.lines, 1):
        text, where = line.rstrip(), f"line {number}"
        if failed := _FAILED.match(text):
            reason = "it raised an error"
            names = {"benchmark": failed[1]}
            found.add(names, "time", None, "s", "lower", status="failed", reason=reason, where=where)
        elif (measured := _LINE.match(text)) is not None and measured[4].endswith("s"):
            try:
                value = float(measured[2])
            except ValueError:
                found.note("partial", what=f"line {number} is not whole")
                continue
            names = {"benchmark": measured[1]}
            found.add(names, "time", value, measured[4], "lower", status="aggregated", where=where)
        tables += text.endswith(" ok")
    found.note("rounded", what="the digits that were printed")
    if tables:
        found.remark(
            f"{tables} benchmarks with parameters are left out: name the folder of results, which has them"
        )


READERS = (
    Reader(
        name="asv-results",
        tool="asv",
        how="`asv run --record-samples`; name the folder `results`",
        replicated="process",
        unit="process (rounds; boundaries not stored)",
        subjects=("benchmark",),
        fits=_never,
        read=_read_folder,
        parts=_parts,
    ),
    Reader(
        name="asv-console",
        tool="asv",
        how="`asv run`, printed into a file",
        replicated="process",
        unit=NO_UNIT,
        subjects=("benchmark",),
        fits=_is_text,
        read=_read_text,
    ),
)
