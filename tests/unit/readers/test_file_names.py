"""Factors from the names of files."""

import pytest

from trialwise.errors import AnalysisError
from trialwise.readers.file_names import by_pattern, guessed


def test_a_pattern_gives_factors_and_leaves_repetitions_out():
    found = by_pattern(["x/bbr_10_1.json", "x/cubic_20_2.json"], "{cc}_{rate}_{rep}.json")
    assert found.factors == ({"cc": "bbr", "rate": "10"}, {"cc": "cubic", "rate": "20"})


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        ("cc.json", "names no factor"),
        ("{a}_{a}.json", "or one twice"),
        ("{cc}.csv", "does not have the form"),
    ],
)
def test_a_pattern_that_does_not_fit_is_refused(pattern, said):
    with pytest.raises(AnalysisError, match=said):
        by_pattern(["a.json"], pattern)


@pytest.mark.parametrize(
    ("paths", "factors", "pattern"),
    [
        (["d/a_1.json", "d/a_2.json", "d/b_1.json"], [{"part1": cc} for cc in "aab"], "{part1}_{rep}.json"),
        (["q100-rep1.txt", "q100-rep2.txt", "q200-rep1.txt"], [{"q": level} for level in ("100", "100", "200")], "{q}-{rep}.txt"),
        (["cc=a_rtt20ms.json", "cc=b_rtt40ms.json"], [{"cc": "a", "rtt": "20ms"}, {"cc": "b", "rtt": "40ms"}], "{cc}_{rtt}.json"),
        (["old/run.json", "new/run.json"], [{"folder": "old"}, {"folder": "new"}], "{folder}/run.json"),
        (["a.csv", "b.csv"], [{"file": "a"}, {"file": "b"}], "{file}.csv"),
        (["a/x/y.csv", "b/z/y.csv"], [{"folder": "a", "part2": "x"}, {"folder": "b", "part2": "z"}], "{folder}/{part2}/y.csv"),
        (["α_1.json", "β_1.json"], [{"part1": "α"}, {"part1": "β"}], "{part1}_1.json"),
    ],
)  # fmt: skip
def test_factors_are_guessed_from_what_differs(paths, factors, pattern):
    found = guessed(paths)
    assert found is not None
    assert list(found.factors) == factors
    assert found.pattern == pattern
    assert found.guessed


@pytest.mark.parametrize(
    "paths", [["a.json"], ["a.json", "a_b.json"], ["x_1.json", "x_2.json"], ["a.json", "a.json"]]
)
def test_nothing_is_guessed_where_nothing_can_be(paths):
    assert guessed(paths) is None
