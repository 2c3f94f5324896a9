"""Logs of HdrHistogram (`.hlog`, format 1.x, histograms V2), and its printed percentiles; a file is a trial, and each tag a treatment.

Histograms of intervals are merged before a quantile is taken: percentiles of intervals must never be averaged. An encoded histogram is
laid out as HdrHistogram 2 writes it: counts are ZigZag LEB128, and a negative one is a run of zeros.
"""

from __future__ import annotations

import base64
import binascii
import re
import struct
import zlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from math import isfinite

from trialwise.readers.appended import apart_at
from trialwise.readers.content import Content
from trialwise.readers.declared import NO_UNIT, Found, Reader
from trialwise.readers.lines import number
from trialwise.readers.records import Inside, Summary
from trialwise.readers.trial import Trial, sum_of

_SIGNATURE = re.compile(
    r'^(?:#\[Histogram log format version 1\.|"?StartTimestamp"?,"?Interval_Length"?)', re.MULTILINE
)
_VERSION = "#[Histogram log format version "
_BASE = re.compile(r"^#\[(StartTime|BaseTime): (\d{1,12}(?:\.\d{1,9})?) ")
_TAG = re.compile(r"^Tag=([^,]{0,200}),")
_COMPRESSED, _PLAIN, _KIND = 0x1C849304, 0x1C849303, 0xFFFFFF0F
_HEADER = struct.Struct(">iiiiqqd")
_MOST_BYTES = 16 << 20
_MOST_DIGITS = 5
_SPECTRUM = re.compile(r"\A *Value(?:\((\w{1,3})\))? +Percentile +TotalCount +1/\(1-Percentile\)\n")
_SPECTRUM_CELLS = 3
_PERCENTS = (50.0, 90.0, 95.0, 99.0, 99.9, 99.99)


class _DamagedError(Exception):
    """A histogram cannot be decoded."""


@dataclass(slots=True)
class _Merged:
    """The histograms of one tag: counts by the middle and the highest value of a bucket, and the mean and begin of each interval."""

    counts: Counter[tuple[float, float]] = field(default_factory=Counter[tuple[float, float]])
    means: list[float] = field(default_factory=list[float])
    begins: list[float] = field(default_factory=list[float])
    empty: int = 0


def _fits(content: Content) -> bool:
    return not content.is_binary and _SIGNATURE.search(content.head) is not None


def _read(content: Content, found: Found) -> None:
    merged: dict[str | None, _Merged] = {}
    base = 0.0
    for line, text in enumerate(content.lines, 1):
        if told := _BASE.match(text):
            base = float(told[2])
        if text.startswith(("#", '"', "StartTimestamp")) or not text:
            continue
        tag = _TAG.match(text)
        cells = text[tag.end() if tag else 0 :].split(",")
        begin = number(cells[0])
        try:
            counts = _decoded(cells[3] if len(cells) > 3 else "")
        except _DamagedError as error:
            found.note("partial", what=f"line {line}: {error}")
            continue
        _add_interval(merged.setdefault(tag[1] if tag else None, _Merged()), counts, base, begin)
    for tag, each in merged.items():
        _add(found, tag, each)
    if empty := sum(each.empty for each in merged.values()):
        found.note("interval_empty", n=empty)
    if merged:
        found.note("unit_unknown", what="values are ns by habit, and µs in YCSB")


def _add_interval(
    merged: _Merged, counts: Counter[tuple[float, float]], base: float, begin: float | None
) -> None:
    total = counts.total()
    if not total:
        merged.empty += 1
        return
    merged.counts.update(counts)
    merged.means.append(sum_of(middle * count for (middle, _), count in counts.items()) / total)
    merged.begins.append(base + (begin or 0.0))


def _add(found: Found, tag: str | None, merged: _Merged) -> None:
    total = merged.counts.total()
    trial = Trial(
        found=found, treatment={} if tag is None else {"tag": tag}, start=min(merged.begins, default=None)
    )
    if not total:
        trial.add("value", None, "unknown", "lower", reason="all its intervals are empty")
        return
    mean = sum_of(middle * count for (middle, _), count in merged.counts.items()) / total
    trial.add("value", mean, "unknown", "lower", samples=Inside("interval", merged.means, merged.begins))
    trial.add("count", total, "1", "higher")
    ordered = sorted(merged.counts.items())
    for percent in _PERCENTS:
        trial.add_quantile("value", percent, _quantile(ordered, total * percent / 100), "unknown", total)
    trial.add("value_max", ordered[-1][0][1], "unknown", "lower")


def _quantile(ordered: list[tuple[tuple[float, float], int]], rank: float) -> float:
    """Return the highest value of the bucket in which the rank lies."""
    seen = 0
    for (_, highest), count in ordered:
        seen += count
        if seen >= rank - 1e-9:
            return highest
    return ordered[-1][0][1]


def _decoded(text: str) -> Counter[tuple[float, float]]:
    """Return the counts of an encoded histogram by the middle and the highest value of each bucket.

    Raises
    ------
    _DamagedError
        It is cut off, of another version, or too large.
    """
    try:
        data = base64.b64decode(text, validate=True)
        cookie, length = struct.unpack_from(">Ii", data)
        if cookie & _KIND == _COMPRESSED & _KIND:
            unpacker = zlib.decompressobj()
            data = unpacker.decompress(data[8 : 8 + max(0, length)], _MOST_BYTES)
            if not unpacker.eof:
                raise _DamagedError("the histogram is cut off or too large")
        header = _HEADER.unpack_from(data)
    except (binascii.Error, ValueError, struct.error, zlib.error) as error:
        raise _DamagedError("the histogram cannot be decoded") from error
    kind, size, shift, digits, lowest, _, ratio = header
    if (
        kind & _KIND != _PLAIN & _KIND
        or shift
        or not 0 <= digits <= _MOST_DIGITS
        or lowest < 1
        or not 0 < ratio < 1e300
    ):
        raise _DamagedError("the histogram is of a version that is not read")
    if size < 0 or _HEADER.size + size > len(data):
        raise _DamagedError("the histogram is cut off")
    half, unit = _layout(digits, lowest)
    found = Counter[tuple[float, float]]()
    for index, count in _counts(data[_HEADER.size : _HEADER.size + size]):
        bucket, place = (index >> half) - 1, (index & ((1 << half) - 1)) + (1 << half)
        if bucket < 0:
            bucket, place = 0, place - (1 << half)
        if bucket + unit > 62:
            raise _DamagedError("the histogram has more buckets than its format allows")
        low, width = place << (bucket + unit), 1 << (bucket + unit)
        found[(low + width // 2) * ratio, (low + width - 1) * ratio] += count
    return found


def _layout(digits: int, lowest: int) -> tuple[int, int]:
    """Return the binary logarithms of half the buckets of one magnitude, and of the unit."""
    resolution = 2 * 10**digits
    return max((resolution - 1).bit_length(), 1) - 1, lowest.bit_length() - 1


def _counts(data: bytes) -> Iterator[tuple[int, int]]:
    """Yield the index and the count of each bucket that is not empty, from ZigZag LEB128 of at most nine bytes."""
    index = place = 0
    while place < len(data):
        value = 0
        for part in range(9):
            if place >= len(data):
                raise _DamagedError("the histogram is cut off")
            byte = data[place]
            place += 1
            value |= (byte if part == 8 else byte & 0x7F) << (7 * part)
            if byte < 0x80 or part == 8:
                break
        count = (value >> 1) ^ -(value & 1)
        if count < 0:
            index -= count
            continue
        if count:
            yield index, count
        index += 1


def _is_spectrum(content: Content) -> bool:
    return not content.is_binary and _SPECTRUM.match(content.head) is not None


def _read_spectrum(content: Content, found: Found) -> None:
    """Read the percentiles that a histogram was printed as, whose rows are no trials."""
    head = _SPECTRUM.match(content.head)
    unit = head[1] if head is not None and head[1] else ""
    rows = [[number(cell) for cell in line.split()] for line in content.lines[1:]]
    told = [(row[0], row[1], row[2]) for row in rows if len(row) >= _SPECTRUM_CELLS]
    curve = {
        100 * share: value
        for value, share, _ in told
        if value is not None and share is not None and 0 < share < 1
    }
    n = max((count for _, _, count in told if count is not None and isfinite(count)), default=None)
    if not unit:
        found.note("unit_unknown", what="value")
    if curve:
        found.add(
            {},
            "value",
            None,
            unit,
            "lower" if unit else None,
            as_written=True,
            status="aggregated",
            summary=Summary(n=None if n is None else int(n), percentiles=curve),
        )
    found.note("one_unit", unit="file")


READERS = (
    Reader(
        name="hdr-log",
        tool="HdrHistogram",
        how="`HistogramLogWriter`",
        replicated="file",
        unit="file",
        fits=_fits,
        read=_read,
        runs=apart_at(_VERSION),
    ),
    Reader(
        name="hdr-percentiles",
        tool="HdrHistogram",
        how="`outputPercentileDistribution`, or `vegeta report -type hdrplot`",
        replicated="file",
        unit=NO_UNIT,
        fits=_is_spectrum,
        read=_read_spectrum,
    ),
)
