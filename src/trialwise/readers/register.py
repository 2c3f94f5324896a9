"""The formats that are read, in the order in which they are recognised."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path

from trialwise.readers.content import Content, read_folder
from trialwise.readers.declared import Reader

MODULES = (
    "hyperfine",
    "pyperf",
    "go_bench",
    "google_benchmark",
    "pytest_benchmark",
    "jmh",
    "iperf3",
    "fio",
    "wrk",
    "k6",
    "ping",
    "perf_stat",
    "gnu_time",
    "vegeta",
    "load_json",
    "hey",
    "ab",
    "sysbench",
    "ycsb",
    "hdr_log",
    "irtt",
    "netperf",
    "iperf2",
    "flent",
    "owping",
    "fct",
    "benchmark_dotnet",
    "criterion",
    "divan",
    "asv",
    "catch2",
    "junit",
    "summaries",
    "numpy_arrays",
    "ordersage",
    "oml_text",
    "oml_sqlite",
)
"""Modules of `trialwise.readers.formats`; each declares `READERS`."""

_ENCODINGS = {"json", "csv", "text", "xml", "tsv", "terse", "keyval", "directory", "results", "console"}
"""Ends of names of formats that say how a result is written."""


@cache
def readers() -> tuple[Reader, ...]:
    """Return all readers."""
    return tuple(_declared())


def families() -> list[str]:
    """Return the formats without their encodings, as go-bench for go-bench-text and go-bench-json, in alphabetical order."""
    return sorted({family(reader.name) for reader in readers() if reader.holds_results})


def family(name: str) -> str:
    """Return the name of a format without its encoding."""
    stem, _, encoding = name.rpartition("-")
    return stem if stem and encoding in _ENCODINGS else name


def readers_named(name: str) -> list[Reader]:
    """Return the readers of a format, or of a family of formats."""
    return [
        reader for reader in readers() if reader.holds_results and name in (reader.name, family(reader.name))
    ]


def statistic_of(name: str) -> str:
    """Return what the values of files of a format are that hold no values of trials: means, or medians."""
    return next((reader.statistic for reader in readers() if reader.name == name), "mean")


def _declared() -> Iterator[Reader]:
    for name in MODULES:
        yield from import_module(f"trialwise.readers.formats.{name}").READERS


def recognised(content: Content) -> Reader | None:
    """Return the reader of a file by its content; None if its format is not known."""
    return next((reader for reader in readers() if reader.fits(content)), None)


def is_one_result(folder: Path) -> bool:
    """Return True if a folder is one result as a whole."""
    return any(reader.parts is not None and bool(reader.parts(folder)) for reader in readers())


def recognised_table(content: Content) -> Reader | None:
    """Return the reader of a table of which nobody said what its columns are for; None if it is no table.

    Raises
    ------
    AnalysisError
        It is a table that cannot be read.
    """
    from trialwise.readers.tables.reader import READERS

    return next((reader for reader in READERS if reader.fits(content)), None)


def recognised_folder(folder: Path) -> tuple[Reader, Content] | None:
    """Return the reader of a folder that is one result, and its content; None if it is none.

    Raises
    ------
    AnalysisError
        It is one, but a file of it cannot be read.
    """
    for reader in readers():
        if reader.parts is not None and (parts := reader.parts(folder)):
            return reader, read_folder(folder, parts)
    return None
