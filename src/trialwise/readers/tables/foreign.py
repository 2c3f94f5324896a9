"""Detection by content of files that are not tables, and the command that reads them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from trialwise.errors import AnalysisError
from trialwise.readers.content import Content
from trialwise.readers.register import recognised

_HEAD = 8192
_MAX_JSON = 64 << 20
_AS_TABLE = "write its values as a CSV file with a row for each trial"
_COMPARED = "`trialwise compare` reads it"
_PACKETS = "`trialwise packets` reads it"


@dataclass(frozen=True, slots=True)
class Foreign:
    """The type of a file, as words after "is", and what to do with it."""

    what: str
    hint: str

    def error(self, path: Path) -> AnalysisError:
        """Return the error of a command that reads tables."""
        return AnalysisError(f"{path}: is {self.what}, no table", hint=self.hint)


_BINARY = (
    (b"\x1f\x8b", "a gzip file inside another", "unpack it, and name the file"),
    (b"BZh", "a bzip2 file inside another", "unpack it, and name the file"),
    (b"\xfd7zXZ\0", "an xz file inside another", "unpack it, and name the file"),
    (b"\x28\xb5\x2f\xfd", "a zstd file inside another", "unpack it, and name the file"),
    (b"PK\x03\x04", "a zip archive or a spreadsheet (xlsx, ods)", "save the sheet as CSV, or unpack it"),
    (b"\x93NUMPY", "an array of NumPy", "write it with numpy.savetxt(…, delimiter=',', header='value')"),
    (b"SQLite format 3\0", "an SQLite database", "write a table of it with sqlite3 -csv -header"),
    (b"ARROW1", "an Arrow file", "write it as Parquet"),
    (b"\x7fELF", "a program", "name the data that it writes"),
    (b"%PDF", "a PDF document", "name the data behind it"),
    (b"\xd4\xc3\xb2\xa1", "a capture of packets", _PACKETS),
    (b"\xa1\xb2\xc3\xd4", "a capture of packets", _PACKETS),
    (b"\n\r\r\n", "a capture of packets", _PACKETS),
)
_TAR_AT = 257

_WRITE = "let it write its results"
_TEXTS: tuple[tuple[re.Pattern[bytes], str], ...] = (
    (
        re.compile(rb"\A(?:# mahimahi |# init timestamp: |#[^\n]* (?:in|e)gress: \d|TWPACKET)"),
        "a log of packets",
    ),
    (re.compile(rb"^\[ *(?:ID|SUM|\d+)\] +(?:Interval|local )", re.MULTILINE), "what iperf printed"),
    (re.compile(rb"Performance counter stats for"), "what perf stat printed"),
    (re.compile(rb"^(?:Benchmark \d+: |Time \(mean)", re.MULTILINE), "what hyperfine printed"),
    (re.compile(rb"^Benchmark +Time +CPU +Iterations", re.MULTILINE), "what Google Benchmark printed"),
    (
        re.compile(rb"^(?:# JMH version: |Benchmark +(?:\(.*\) +)?Mode +Cnt )", re.MULTILINE),
        "what JMH printed",
    ),
    (re.compile(rb"^Name \(time in [^)\n]{1,9}\) +Min ", re.MULTILINE), "what pytest-benchmark printed"),
    (re.compile(rb"^[^\n]{0,200}: Mean \+- std dev: ", re.MULTILINE), "what pyperf printed"),
    (re.compile(rb"^Requests +\[total, rate(?:, throughput)?\]", re.MULTILINE), "what vegeta printed"),
    (re.compile(rb"^ {2}(?:read|write|trim) ?: ?(?:IOPS=|io=)", re.MULTILINE), "what fio printed"),
    (re.compile(rb"^Statistics +Avg +Stdev +Max", re.MULTILINE), "what bombardier printed"),
    (re.compile(rb"^ *http_req_duration\.{3,}", re.MULTILINE), "what k6 printed"),
)
_HINTS = {
    "a log of packets": _PACKETS,
    "what hyperfine printed": f"let it write --export-json FILE, and {_COMPARED}",
    "what iperf printed": f"{_WRITE}: `iperf3 -J`, or `iperf -y C`",
    "what perf stat printed": f"{_WRITE}: `perf stat -j -o FILE`, or -x,",
    "what Google Benchmark printed": f"{_WRITE}: --benchmark_out=FILE --benchmark_repetitions=10",
    "what JMH printed": f"{_WRITE}: -rf json -rff FILE",
    "what pytest-benchmark printed": f"{_WRITE}: --benchmark-json FILE",
    "what pyperf printed": f"{_WRITE}: -o FILE",
    "what vegeta printed": f"{_WRITE}: `vegeta report -type json`, or `vegeta encode`",
    "what fio printed": f"{_WRITE}: --output-format=json",
    "what bombardier printed": f"{_WRITE}: -l -o json -p r",
    "what k6 printed": f"{_WRITE}: --summary-export FILE",
}


def foreign(content: bytes) -> Foreign | None:
    """Identify content that is known and not a table; None if it may be one."""
    head = content[:_HEAD]
    return binary(head) or _of_tool(content, head)


def binary(head: bytes) -> Foreign | None:
    """Identify content by its first bytes; None if they are none of those known."""
    for magic, what, hint in _BINARY:
        if head.startswith(magic):
            return Foreign(what, hint)
    if head[_TAR_AT : _TAR_AT + 5] == b"ustar":
        return Foreign("a tar archive", f"unpack it; an archive of Pantheon's: {_COMPARED}")
    return None


def _of_tool(content: bytes, head: bytes) -> Foreign | None:
    reader = recognised(Content(Path(), content))
    if reader is not None and not reader.is_table:
        return Foreign(f"what {reader.tool} writes", _COMPARED)
    begin = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if begin[:1] in (b"{", b"["):
        return _json(content)
    if begin.startswith(b"<"):
        return _xml(begin)
    return printed(head)


def printed(head: bytes) -> Foreign | None:
    """Identify text that a program printed for people; None if it is not known."""
    for pattern, what in _TEXTS:
        if pattern.search(head):
            return Foreign(what, _HINTS.get(what, _AS_TABLE))
    return None


def _xml(begin: bytes) -> Foreign:
    root = re.search(rb"<([A-Za-z][\w:.-]*)", begin)
    name = root[1].decode() if root else ""
    if name.lower() == "html":
        return Foreign("a page of HTML", "fetch the data behind it")
    return Foreign(f"XML (<{name}>)" if name else "XML", _AS_TABLE)


def _json(content: bytes) -> Foreign | None:
    try:
        document = json.loads(content) if len(content) <= _MAX_JSON else None
    except (ValueError, RecursionError):
        # A table may have a bracket in its header, but content that starts like an object is not a table.
        return Foreign("cut off or no whole JSON", "write it anew") if _like_json(content) else None
    tool = tool_of(document)
    if tool is None:
        return Foreign("JSON", _AS_TABLE)
    return Foreign(f"JSON of {tool.name}", tool.hint)


def _like_json(content: bytes) -> bool:
    return bool(re.match(rb'\s*(?:\{\s*["}]|\[\s*[\[{"])', content[:_HEAD].removeprefix(b"\xef\xbb\xbf")))


def tool_in(content: bytes) -> Tool | None:
    """Return the tool that wrote a file of JSON; None if it is none, or no tool is known."""
    try:
        return tool_of(json.loads(content)) if len(content) <= _MAX_JSON else None
    except (ValueError, RecursionError):
        return None


def tool_of(document: object) -> Tool | None:
    """Return the tool that wrote a JSON document, by the keys of its object; None if no tool is known."""
    if not isinstance(document, Mapping):
        return None
    keys = cast("Mapping[str, Any]", document)
    return next((tool for tool in TOOLS if tool.fits(keys)), None)


def _is_perf(document: Mapping[str, Any]) -> bool:
    """Check for the keys scheme, run, flow."""
    for runs in document.values():
        if isinstance(runs, Mapping):
            for flows in cast("Mapping[str, Any]", runs).values():
                return isinstance(flows, Mapping) and "all" in flows
    return False


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool that writes JSON: how its documents are recognised, and who reads them.

    Parameters
    ----------
    name
        Display name.
    fits
        Returns True if an object is the tool's.
    reader
        The module of `trialwise.exchange` that reads it, with `trials(path, name)`; empty if none does.
    how
        How to make the tool write the document, as Markdown.
    trials
        What counts as a trial in it, as Markdown.
    nesting
        What trials nest in.
    instead
        What to do with it, if it is not read.
    """

    name: str
    fits: Callable[[Mapping[str, Any]], bool]
    reader: str = ""
    how: str = ""
    trials: str = ""
    nesting: str = ""
    instead: str = _AS_TABLE

    @property
    def hint(self) -> str:
        """What to do with the document, where a table is expected."""
        return _COMPARED if self.reader else self.instead


TOOLS: tuple[Tool, ...] = (
    Tool("Trialwise", lambda found: str(found.get("format", "")).startswith("trialwise.")),
    Tool(
        "Pantheon",
        _is_perf,
        reader="pantheon_folder",
        how="`pantheon_perf.json`",
        trials="each run of each scheme",
    ),
    Tool(
        "Pantheon's test.py",
        lambda found: {"cc_schemes", "run_times"} <= set(found),
        instead="name the folder that it lies in",
    ),
)
