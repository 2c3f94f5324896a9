"""A file of no known format is told what it is, and what would be read instead; the texts are those that the programs print."""

from pathlib import Path

import pytest

from trialwise.readers.content import Content
from trialwise.readers.gathering import gather
from trialwise.readers.unknown import unknown

PRINTED = {
    "hyperfine": ("Benchmark 1: first\n  Time (mean ± σ):       7.1 ms ±   3.6 ms\n", "--export-json"),
    "Google Benchmark": (
        "----\nBenchmark                Time             CPU   Iterations\n----\nBM_F/8   1 ns   1 ns  100\n",
        "--benchmark_out=FILE",
    ),
    "JMH": (
        "Benchmark        (n)    Mode   Cnt     Score   Error   Units\nA.sum   1   thrpt     2   150.898   ops/us\n",
        "-rf json",
    ),
    "pytest-benchmark": (
        "Name (time in ns)                   Min                     Max\ntest_a   48.9 (1.0)      121.3 (2.5)\n",
        "--benchmark-json FILE",
    ),
    "pyperf": ("sum: Mean +- std dev: 11.5 us +- 0.1 us\n", "-o FILE"),
    "vegeta": (
        "Requests      [total, rate, throughput]         50, 51.02, 48.79\nDuration      [total, wait]  1.02s, 44ms\n",
        "vegeta report -type json",
    ),
    "fio": ("fio-3.33\n  read: IOPS=21.3k, BW=83.3MiB/s\n", "--output-format=json"),
    "iperf": (
        "Connecting to host 127.0.0.1, port 5399\n[ ID] Interval           Transfer     Bitrate\n",
        "iperf3 -J",
    ),
}


@pytest.mark.parametrize("tool", PRINTED)
def test_what_a_tool_printed_is_told_from_a_table_with_the_option_that_writes_results(tool, tmp_path):
    text, option = PRINTED[tool]
    (tmp_path / "printed.txt").write_text(text)
    (found,) = gather([tmp_path]).unread
    assert found.why == f"no format that is known: it is what {tool} printed"
    assert option in found.hint


def test_data_that_are_no_text_are_told_so():
    assert "it holds zero bytes" in unknown(Content(Path("x"), b'{"a": 1}\0\0\0')).message
    assert "it is an SQLite database" in unknown(Content(Path("x"), b"SQLite format 3\0" + bytes(90))).message


def test_a_cut_document_of_no_known_format_is_told_from_whole_json():
    assert "ends before its first result" in unknown(Content(Path("x"), b'{"a": {"b": 1}, "c": {')).message
    assert "JSON, an object with a" in unknown(Content(Path("x"), b'{"a": {"b": 1}}')).message


@pytest.mark.parametrize(
    ("text", "named"),
    [
        (
            '{"results": [{"command": "a", "mean": 1, "times": [1, 2], "times": [3, 4]}]}',
            "looks like hyperfine's, but results.0.times stands twice, with different values",
        ),
        (
            '{"mine": {"rate": 1, "rate": 2}}',
            "without a number: /mine/rate stands twice, with different values",
        ),
    ],
)
def test_a_key_that_stands_twice_is_named(text, named, tmp_path):
    """Neither value can be believed (RFC 8259, section 4)."""
    (tmp_path / "a.json").write_text(text)
    (found,) = gather([tmp_path]).unread
    assert named in found.why
