from __future__ import annotations

import contextlib
import json
import os
import random
import re
import time
from typing import TYPE_CHECKING

import numpy as np
import pytest

from trialwise.errors import PlanError, TrialError
from trialwise.measurement.csv_reader import read_csv
from trialwise.measurement.json_reader import read_json
from trialwise.measurement.outliving import Watched
from trialwise.measurement.pattern_reader import read_pattern, read_patterns
from trialwise.measurement.reported import Reported, from_file, from_output
from trialwise.measurement.samples import Samples

if TYPE_CHECKING:
    from pathlib import Path


def reported(text: str | bytes) -> Reported:
    return Reported(text.encode() if isinstance(text, str) else text, "standard output")


def test_samples_cannot_be_changed_nor_be_of_two_lengths():
    mine = np.array([1.0, 2.0])
    samples = Samples(mine)
    mine[0] = 9.0
    assert samples.values.tolist() == [1.0, 2.0]
    with pytest.raises(ValueError, match="read-only"):
        samples.values[0] = 3.0
    with pytest.raises(ValueError, match="2 values have 1 times"):
        Samples(mine, np.array([1.0]))
    with pytest.raises(ValueError, match="one dimension"):
        Samples(np.ones((2, 2)))


class TestPattern:
    def test_finds_the_one_number(self):
        text = "warming up\n  rate: -1.25e3 Mbit/s\ndone\n"
        assert read_pattern(reported(text), r"^\s*rate: (\S+)").values.tolist() == [-1250.0]
        assert read_pattern(reported(text), r"(rate): (?P<value>\S+)").values.tolist() == [-1250.0]
        assert read_pattern(reported(b"\xff latin\nt=3"), r"t=(\d+)").values.tolist() == [3.0]

    @pytest.mark.parametrize(
        ("text", "pattern", "words"),
        [
            ("done\n", r"rate: (\S+)", ["no match", "'done'"]),
            ("\x1d", r"rate: (\S+)", ["no match", "last line, 1, is '\\x1d'"]),
            ("\u2028", r"rate: (\S+)", ["no match", "last line, 1,"]),
            ("a\x0cb\u2028c\nd\n \n", r"rate: (\S+)", ["no match", "last line, 2, is 'd'"]),
            (
                "rate: 1\nx\nrate: 2\n",
                r"rate: (\S+)",
                ["more than one", "line 1: 'rate: 1'", "line 3: 'rate: 2'"],
            ),
            ("rate: nan\n", r"rate: (\S+)", ["line 1", "'nan'", "not a finite number"]),
            ("a\nrate: -inf\n", r"rate: (\S+)", ["line 2", "'-inf'"]),
            ("rate: 1e999\n", r"rate: (\S+)", ["'1e999'", "inf"]),
            ("rate: 1,234\n", r"rate: (\S+)", ["'1,234'", "decimal point"]),
            ("rate: 1_000\n", r"rate: (\S+)", ["'1_000'"]),
            ("rate: \n", r"rate: (\d+)?", ["without its group"]),
            ("", r"(\d+)", ["empty"]),
            (" \n", r"(\d+)", ["empty"]),
            (b"\x7fELF\0\0\xff", r"rate: (\d+)", ["not text", "ELF"]),
        ],
    )
    def test_says_what_is_wrong(self, text: str | bytes, pattern: str, words: list[str]):
        with pytest.raises(TrialError) as caught:
            read_pattern(reported(text), pattern)
        for word in words:
            assert word in str(caught.value)
        assert caught.value.hint

    def test_takes_a_number_of_thousands_of_digits(self):
        assert read_pattern(reported("x=0." + "3" * 9000), r"x=(.*)").values[0] == pytest.approx(1 / 3)
        with pytest.raises(TrialError, match=r"9,000 characters.*inf"):
            read_pattern(reported("x=" + "3" * 9000), r"x=(.*)")

    @pytest.mark.parametrize("pattern", ["no group", "(two) (groups)", "(unclosed"])
    def test_refuses_a_pattern_that_does_not_say_where_the_number_is(self, pattern: str):
        with pytest.raises(PlanError):
            read_pattern(reported("1"), pattern)

    def test_takes_every_match_in_order_and_names_the_line_of_one_that_is_no_number(self):
        text = "t=3 ms\nx\nt=-1.5 t=2e1\n"
        assert read_patterns(reported(text), r"t=(\S+)").values.tolist() == [3.0, -1.5, 20.0]
        with pytest.raises(TrialError, match="line 4"):
            read_patterns(reported(text + "t=none"), r"t=(\S+)")
        with pytest.raises(TrialError, match="no match"):
            read_patterns(reported(text), r"u=(\S+)")


class TestJson:
    DOCUMENT = json.dumps(
        {"a/b": {"m~n": [1, 2.5, -3e2]}, "rate": 7, "t": [0.1, 0.2, 0.3], "": 4, "flag": True}
    )

    @pytest.mark.parametrize(
        ("pointer", "values"),
        [("/rate", [7]), ("/a~1b/m~0n", [1, 2.5, -300]), ("/a~1b/m~0n/1", [2.5]), ("/", [4])],
    )
    def test_follows_pointers(self, pointer: str, values: list[float]):
        assert read_json(reported(self.DOCUMENT), pointer).values.tolist() == values

    def test_rfc_6901_section_5(self):
        document = {
            "foo": ["bar", "baz"],
            "": 0,
            "a/b": 1,
            "c%d": 2,
            "e^f": 3,
            "g|h": 4,
            "i\\j": 5,
            'k"l': 6,
            " ": 7,
            "m~n": 8,
        }
        pointers = ["/", "/a~1b", "/c%d", "/e^f", "/g|h", "/i\\j", '/k"l', "/ ", "/m~0n"]
        for value, pointer in enumerate(pointers):
            assert read_json(reported(json.dumps(document)), pointer).values.tolist() == [value]
        assert read_json(reported("[1, 2]"), "").values.tolist() == [1, 2]

    def test_reads_times(self):
        samples = read_json(reported(self.DOCUMENT), "/a~1b/m~0n", time="t")
        assert samples.times is not None
        assert samples.times.tolist() == [0.1, 0.2, 0.3]
        with pytest.raises(TrialError, match=r"1 value .* 3 times"):
            read_json(reported(self.DOCUMENT), "/rate", time="/t")

    def test_reads_lines(self):
        text = "\ufeff" + "".join(f'{{"t": {i / 10}, "rtt": {{"ms": {i}}}}}\r\n\n' for i in range(5))
        samples = read_json(reported(text), "/rtt/ms", time="t")
        assert samples.times is not None
        assert (samples.values.tolist(), samples.times.tolist()) == ([0, 1, 2, 3, 4], [0, 0.1, 0.2, 0.3, 0.4])
        assert read_json(reported("1\n2\n"), "").values.tolist() == [1, 2]

    @pytest.mark.parametrize(
        ("text", "pointer", "words"),
        [
            ("", "/rate", ["empty"]),
            ('{"rate": 1, "t', "/rate", ["cut off", "line 1"]),
            ('{"rate": [1,\n2,', "/rate", ["cut off", "line 2"]),
            ('{"rate": 1}\n{"rate": 2}\n{"ra', "/rate", ["cut off", "line 3"]),
            ('{"rate": 1}\n{rate}\n', "/rate", ["not JSON", "line 2", "{rate}"]),
            ("Rate is 5\n", "/rate", ["not JSON", "'Rate is 5'"]),
            (b"\x89PNG\r\n\x1a\n\0\0", "/rate", ["not text", "PNG"]),
            ("[" * 200_000, "/rate", ["nested too deeply"]),
            ('{"rate": true}', "/rate", ["true", "not a number"]),
            ('{"rate": null}', "/rate", ["null"]),
            ('{"rate": "5"}', "/rate", ["the text '5'"]),
            ('{"rate": NaN}', "/rate", ["nan"]),
            ('{"rate": [1, Infinity]}', "/rate", ["item 1", "inf"]),
            ('{"rate": [1, [2]]}', "/rate", ["item 1", "an array"]),
            ('{"rate": {}}', "/rate", ["an object"]),
            ('{"rate": []}', "/rate", ["empty array"]),
            ('{"rate": 1}', "/rat", ["nothing at '/rat'", "did you mean 'rate'?"]),
            ('{"rate": [1]}', "/rate/1", ["array of 1"]),
            ('{"rate": [1]}', "/rate/00", ["array of 1"]),
            ('{"rate": 1}', "/rate/x", ["a number there"]),
            ('{"rate": 1}\n{"rats": 2}\n', "/rate", ["line 2", "did you mean 'rats'?"]),
            ('{"rate": ' + "9" * 5000 + "}", "/rate", ["inf"]),
        ],
    )
    def test_says_what_is_wrong(self, text: str | bytes, pointer: str, words: list[str]):
        with pytest.raises(TrialError) as caught:
            read_json(reported(text), pointer)
        for word in words:
            assert word in str(caught.value), str(caught.value)
        assert caught.value.hint

    def test_takes_an_integer_of_thousands_of_digits_that_fits(self):
        assert read_json(reported("1" + "0" * 300), "").values.tolist() == [1e300]
        assert read_json(reported("0." + "1" * 9000), "").values[0] == pytest.approx(1 / 9)

    @pytest.mark.parametrize(("pointer", "hint"), [("rate", "'/rate'"), ("/a~b", "~0"), ("/a~", "~0")])
    def test_refuses_what_is_no_pointer(self, pointer: str, hint: str):
        with pytest.raises(PlanError, match=re.escape(hint)):
            read_json(reported("{}"), pointer)


class TestCsv:
    @pytest.mark.parametrize("mark", [",", ";", "\t"])
    @pytest.mark.parametrize("end", ["\n", "\r\n"])
    def test_reads_columns(self, mark: str, end: str):
        rows = [["rtt ms", "note", "t"], ["1.5", '"a, b; c"', "0"], ["-2e1", "", "1"], [" 3 ", "x", "2.5"]]
        text = "\ufeff" + end.join(mark.join(row) for row in rows) + end
        samples = read_csv(reported(text), "rtt ms", time="t")
        assert samples.times is not None
        assert (samples.values.tolist(), samples.times.tolist()) == ([1.5, -20, 3], [0, 1, 2.5])
        assert read_csv(reported(text), "t").values.tolist() == [0, 1, 2.5]

    def test_reads_one_column_and_the_same_column_twice(self):
        assert read_csv(reported("x\n1\n2"), "x").values.tolist() == [1, 2]
        twice = read_csv(reported("x,y\n1,2\n"), "x", time="x")
        assert twice.times is not None
        assert twice.times.tolist() == [1]

    @pytest.mark.parametrize(
        ("text", "words"),
        [
            ("", ["empty"]),
            ("rate\n", ["no rows"]),
            ("1,2\n3,4\n", ["no header", "'1,2'"]),
            ("rat,t\n1,2\n", ["no column 'rate'", "did you mean 'rat'?"]),
            ("a,b\n1,2\n", ["no column 'rate'", "there are 'a', 'b'"]),
            ("rate,rate\n1,2\n", ["2 columns 'rate'"]),
            ("rate,t\n1,0\nfast,1\n2,2\n", ["row 2", "'fast'"]),
            ("rate,t\n1,0\n,1\n,2\n", ["row 2", "nothing", "1 more row"]),
            ("rate;t\n1,5;0\n", ["row 1", "'1,5'", "decimal point"]),
            ("rate\n1\nnan\n", ["row 2", "'nan'"]),
            ("rate\n1\n-inf\n", ["row 2", "'-inf'"]),
            ("rate\n1e999\n", ["row 1", "'1e999'"]),
            ("rate\ntrue\n", ["row 1", "'true'"]),
            ("rate,t\n1,2,3\n", ["not a table"]),
            (b"rate\n1\n\0\n", ["not text", "line 3"]),
            (b"rate\n1\n\xff\xfe\n", ["not text", "line 3"]),
        ],
    )
    def test_says_what_is_wrong(self, text: str | bytes, words: list[str]):
        with pytest.raises(TrialError) as caught:
            read_csv(reported(text), "rate")
        for word in words:
            assert word in str(caught.value), str(caught.value)
        assert caught.value.hint

    def test_a_million_rows_take_seconds_at_most(self):
        text = "t,rtt\n" + "".join(f"{i},{i * 0.5}\n" for i in range(1_000_000))
        begin = time.process_time()
        samples = read_csv(reported(text), "rtt", time="t")
        assert time.process_time() - begin < 5
        assert samples.times is not None
        assert len(samples) == 1_000_000
        assert (samples.values.sum(), samples.times[-1]) == (0.5 * 999_999 * 500_000, 999_999)


class TestSources:
    def test_what_was_cut_off_is_not_read(self):
        assert from_output(b"abc", total=3).data == b"abc"
        with pytest.raises(TrialError, match="3 were kept"):
            from_output(b"abc", total=10)

    def test_a_file_must_be_there_readable_regular_and_small(self, tmp_path: Path):
        def read(name: str, **limit: int) -> Reported:
            path = str(tmp_path / name)
            with contextlib.closing(Watched(path, **limit)) as watched:
                (tmp_path / "results.json").write_text("12345")
                return from_file(path, watched.written())

        assert read("results.json").where == str(tmp_path / "results.json")
        with pytest.raises(TrialError, match="did not write") as caught:
            read("result.json")
        assert caught.value.hint == "did you mean results.json?"
        with pytest.raises(TrialError, match="did not write") as caught:
            read("absent/x")
        assert "no folder" in str(caught.value.hint)
        with pytest.raises(TrialError, match="not a regular file"):
            read(".")
        os.mkfifo(tmp_path / "pipe")
        with pytest.raises(TrialError, match="not a regular file"):
            read("pipe")
        with pytest.raises(TrialError, match="over the limit of 4"):
            read("results.json", size_limit=4)


def test_no_bytes_whatever_bring_another_error_than_ours():
    dice = random.Random(7)
    alphabet = [
        b"\0",
        b"\xff",
        b'"',
        b"\n",
        b"\r",
        b",",
        b";",
        b"\t",
        b"{",
        b"}",
        b"[",
        b"]",
        b":",
        b"1",
        b"e",
        b"rate",
        b" ",
    ]
    for _ in range(2000):
        data = b"".join(dice.choices(alphabet, k=dice.randrange(30)))
        for read in (
            lambda source: read_csv(source, "rate"),
            lambda source: read_json(source, "/rate"),
            lambda source: read_pattern(source, r"rate.(\d)"),
            lambda source: read_patterns(source, r"rate.(\d)"),
        ):
            with contextlib.suppress(TrialError):
                assert np.isfinite(read(reported(data)).values).all()
