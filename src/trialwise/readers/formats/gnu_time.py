"""What GNU `time -v` prints (time.c); blocks may stand one after another, each from a process of its own."""

from __future__ import annotations

import re

from trialwise.readers.content import Content
from trialwise.readers.declared import Found, Reader
from trialwise.readers.lines import COUNT, NUMBER, lines_of, matches, number, numbered
from trialwise.readers.records import Better
from trialwise.readers.trial import Trial

_SIGNATURE = re.compile(r"^\s*Command being timed: \"", re.MULTILINE)
_LINE = re.compile(r"^\s*([A-Z][A-Za-z ()/:-]{1,100}): (\S.*)$")
_FAILED = re.compile(
    r"^(?:Command (exited with non-zero status|terminated by signal) "
    rf"({COUNT})|Command (stopped by signal) ({COUNT}))"
)
_ELAPSED = re.compile(rf"^(?:({COUNT}):)?({COUNT}):({NUMBER})$")
_METRICS: tuple[tuple[str, str, str, Better | None], ...] = (
    ("User time (seconds)", "user", "s", "lower"),
    ("System time (seconds)", "system", "s", "lower"),
    ("Maximum resident set size (kbytes)", "max_rss", "KiB", "lower"),
    ("Major (requiring I/O) page faults", "major_faults", "1", "lower"),
    ("Minor (reclaiming a frame) page faults", "minor_faults", "1", "lower"),
    ("Voluntary context switches", "voluntary_switches", "1", "lower"),
    ("Involuntary context switches", "involuntary_switches", "1", "lower"),
    ("File system inputs", "file_inputs", "1", "lower"),
    ("File system outputs", "file_outputs", "1", "lower"),
)
_ELAPSED_KEY = "Elapsed (wall clock) time (h:mm:ss or m:ss)"


def _fits(content: Content) -> bool:
    return not content.is_binary and _SIGNATURE.search(content.head) is not None


def _read(content: Content, found: Found) -> None:
    for lines, levels in numbered(_blocks(lines_of(content))):
        _add(found, lines, levels)
    found.note("coarse_clock", what="10 ms")


def _blocks(lines: list[str]) -> list[list[str]]:
    """Return the lines of each block; why a command failed stands before its block."""
    blocks: list[list[str]] = []
    said: list[str] = []
    for line in lines:
        if _FAILED.match(line):
            said = [line]
        elif _SIGNATURE.match(line):
            blocks.append([*said, line])
            said = []
        elif blocks:
            blocks[-1].append(line)
    return blocks


def _add(found: Found, lines: list[str], levels: dict[str, object]) -> None:
    told = {match[1]: match[2] for match in matches(_LINE, lines)}
    command = told.get("Command being timed", "").removeprefix('"').removesuffix('"')
    trial = Trial(found=found, treatment={"command": command}, levels=levels, reason=_reason(lines, told))
    trial.add("elapsed", _seconds(told.get(_ELAPSED_KEY, "")), "s", "lower")
    for key, metric, unit, better in _METRICS:
        if key in told:
            trial.add(metric, number(told[key]), unit, better)


def _reason(lines: list[str], told: dict[str, str]) -> str:
    """Return why a command failed; after a signal, the exit status is 0."""
    if (failed := _FAILED.match(lines[0])) is not None:
        return lines[0][: failed.end()].removeprefix("Command ")
    if "Exit status" not in told:
        return "the block has no end"
    return "" if told["Exit status"] == "0" else f"exit status {told['Exit status']}"


def _seconds(elapsed: str) -> float | None:
    if (found := _ELAPSED.match(elapsed)) is None:
        return None
    return int(found[1] or 0) * 3600 + int(found[2]) * 60 + float(found[3])


READERS = (
    Reader(
        name="gnu-time-v",
        tool="GNU time",
        how="`/usr/bin/time -v -o FILE COMMAND`",
        replicated="file",
        unit="file",
        fits=_fits,
        read=_read,
    ),
)
