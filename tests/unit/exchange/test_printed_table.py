"""Tables of printed results: number, mean and standard deviation in place of trials."""

import polars as pl
import pytest

from trialwise.analysis.trial_set import summary_of
from trialwise.errors import AnalysisError
from trialwise.exchange.result_files import read_trials

HEAD = "scheme,metric,unit,better,n,mean,population_sd\n"


def read(tmp_path, text, name="printed.csv"):
    (tmp_path / name).write_text(text)
    return read_trials(tmp_path / name)


def test_a_row_is_a_summary(tmp_path):
    found = read(tmp_path, HEAD + "cubic,delay,ms,lower,10,57.70,40.99\nbbr,delay,ms,lower,1,9,0\n")
    assert list(found.treatments) == ["scheme=cubic", "scheme=bbr"]
    assert (found.metrics["delay"].unit, found.metrics["delay"].better) == ("ms", "lower")
    one = summary_of(found.of("delay", "scheme=cubic"))
    assert one is not None
    assert (one.n, one.mean) == (10, 57.7)
    assert one.deviation == pytest.approx(40.99 * (10 / 9) ** 0.5)
    assert one.rounding == pytest.approx((0.005, 0.005 * (10 / 9) ** 0.5))
    single = summary_of(found.of("delay", "scheme=bbr"))
    assert single is not None
    assert (single.n, single.deviation, single.rounding) == (1, 0.0, (0.5, 0.5))


def test_a_deviation_with_n_minus_1_is_taken_as_it_is(tmp_path):
    found = read(tmp_path, "treatment,n,mean,sd\nx,4,1.5,0.25\n")
    one = summary_of(found.of("value"))
    assert one is not None
    assert (one.deviation, one.rounding) == (0.25, (0.05, 0.005))


def test_numbers_of_64_bits_are_not_rounded(tmp_path):
    pl.DataFrame({"x": ["a"], "n": [3], "mean": [1.5], "sd": [0.5]}).write_parquet(tmp_path / "p.parquet")
    one = summary_of(read_trials(tmp_path / "p.parquet").of("value"))
    assert one is not None
    assert one.rounding == (0.0, 0.0)


def test_a_column_of_values_makes_it_a_table_of_trials(tmp_path):
    found = read(tmp_path, "treatment,value,n,mean,sd\nx,1,4,1.5,0.25\nx,2,4,1.5,0.25\n")
    assert summary_of(found.of("value")) is None


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("cubic,delay,ms,lower,0,1,1", "line 2: n is a whole number above 0"),
        ("cubic,delay,ms,lower,2.5,1,1", "line 2: n is a whole number above 0"),
        ("cubic,delay,ms,lower,1e300,1,1", "column .n."),
        ("cubic,delay,ms,lower,1e17,1,1", "line 2: n is a whole number above 0"),
        ("cubic,delay,ms,lower,3,,1", "line 2: mean or standard deviation is missing"),
        ("cubic,delay,ms,lower,3,1,-1", "line 2: a standard deviation is not negative"),
        ("cubic,delay,ms,up,3,1,1", "line 2: better is higher or lower, not 'up'"),
        ("cubic,delay,ms,lower,3,fast,1", "'fast'"),
        ("cubic,delay,ms,lower,3,1,1\ncubic,delay,ms,lower,3,1,1", "line 3: delay of scheme=cubic stands in the table twice"),
        ("cubic,delay,ms,lower,3,1,1\nbbr,delay,s,lower,3,1,1", "line 3: delay has another unit"),
        ("", "no row"),
    ],
)  # fmt: skip
def test_a_row_that_is_no_summary_is_named(tmp_path, row, said):
    with pytest.raises(AnalysisError, match=said):
        read(tmp_path, HEAD + row + "\n")


def test_a_hundred_thousand_rows_are_read(tmp_path):
    rows = "".join(f"s{place},delay,ms,lower,10,{place}.5,1\n" for place in range(100_000))
    assert len(read(tmp_path, HEAD + rows).treatments) == 100_000


def test_one_number_may_be_written_in_several_ways(tmp_path):
    """What papers print: 0.1 in one row, .10 in the next, and 10 or 10.0 trials; the last digit of each is its own."""
    found = read(tmp_path, "treatment,n,mean,sd\nx,10,1,0.1\ny,10.0,1.00,.10\n")
    summaries = [summary_of(found.of("value", treatment)) for treatment in found.treatments]
    assert [(one.n, one.mean, one.deviation, one.rounding) for one in summaries if one] == [
        (10, 1.0, 0.1, (0.5, 0.05)),
        (10, 1.0, 0.1, (0.005, 0.005)),
    ]


def test_digits_beyond_a_double_are_still_refused(tmp_path):
    with pytest.raises(AnalysisError, match="digits that floating-point numbers"):
        read(tmp_path, "treatment,value\nx,1.00000000000000000001\nx,1.00000000000000000002\n")


def test_results_without_a_deviation_are_told_what_is_missing(tmp_path):
    with pytest.raises(AnalysisError) as found:
        read(tmp_path, "scheme,n,mean\nx,3,1\n")
    assert found.value.hint is not None
    assert found.value.hint.startswith("add a column sd to have printed results read, or add --value COLUMN")
