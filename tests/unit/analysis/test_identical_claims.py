"""Claims that the same seeds give the same numbers: bit by bit, on the trials that both sides have."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from claims_data import trials as made
from trialwise.analysis.artifacts import Rerun
from trialwise.analysis.claims.identical import judge_identical, same_numbers
from trialwise.analysis.trial_set import CONTENTS, TrialSet
from trialwise.errors import AnalysisError
from trialwise.experiment.claims import StatedClaim, StatedIdentity, read_claims
from trialwise.report.documents.rerun import by_chance

THEIRS = {"a": [0.1, 0.2, 0.3], "b": [1.0, 2.0, 0.0]}


def claim(**said):
    return StatedClaim(id="C1", text="x", identical=StatedIdentity(**said))


def compared(stated, **ours):
    return same_numbers(stated, made(**THEIRS), made(**ours), 0.95)


def test_equal_numbers_reproduce_it_and_a_last_bit_or_a_sign_refutes_it():
    found = compared(claim(), **THEIRS)
    assert (found.word, found.here.verdict, found.here.estimate, found.here.n) == (
        "reproduced",
        "supported",
        0,
        (6,),
    )
    for value, instead in ((0.3, np.nextafter(0.3, 1)), (0.0, -0.0)):
        ours = {
            name: [instead if each == value else each for each in values] for name, values in THEIRS.items()
        }
        found = compared(claim(), **ours)
        assert (found.word, found.here.verdict, found.here.estimate) == ("not reproduced", "contradicted", 1)
        assert (
            f"in round 2 is {instead!r} here and {value!r} there".replace("np.float64(", "").replace(")", "")
            in found.why
        )


def test_only_the_trials_and_treatments_that_both_have_are_compared():
    found = compared(claim(), a=[0.1, 0.2])
    assert (found.word, found.here.n) == ("reproduced", (2,))
    found = compared(claim(where={"scheme": "a"}), a=[0.1, 0.2, 0.3], b=[7.0, 8.0, 9.0])
    assert (found.word, found.here.n) == ("reproduced", (3,))
    empty = made(**THEIRS)
    empty = TrialSet(empty.name, empty.metrics, empty.treatments, empty.table.filter(pl.lit(value=False)))
    assert same_numbers(claim(), made(**THEIRS), empty, 0.95).word == "too few trials yet"


def test_the_data_alone_never_decide_it_and_metrics_have_to_exist():
    found = judge_identical(made(**THEIRS), claim(metrics=("delay",)), 0.95)
    assert (found.verdict, found.estimate, found.metric, found.n) == ("undecided", None, "delay", (6,))
    with pytest.raises(AnalysisError, match="loss"):
        judge_identical(made(**THEIRS), claim(metrics=("loss",)), 0.95)


def wrote(*rows):
    """Trials of one treatment that wrote something, by round."""
    found = made(a=[1.0, 2.0])
    cells = [("", "scheme=a", str(round_), "") for round_ in range(2)]
    cells += [(what, "scheme=a", str(round_), sha256) for what, round_, sha256 in rows]
    return replace(found, contents=pl.DataFrame(cells, schema=CONTENTS, orient="row"))


FILES = [("file:o.json", 0, "x"), ("file:o.json", 1, "y"), ("stdout", 0, "s"), ("stdout", 1, "t")]


@pytest.mark.parametrize(
    ("ours", "word", "why"),
    [
        (FILES, "reproduced", "4 outputs and files of 2 trials compared bit by bit"),
        ([*FILES[:1], ("file:o.json", 1, "z"), *FILES[2:]], "not reproduced", "1 of 4 parts"),
        (FILES[1:], "not reproduced", "differ: o.json of scheme=a in round 0"),
        ([*FILES, ("file:p.json", 0, "z")], "not reproduced", "differ: p.json of scheme=a in round 0"),
        ([*FILES, ("stderr", 0, "z"), ("metric:delay", 0, "z")], "reproduced", "compared bit by bit"),
        ([*FILES[:3], ("stdout", 1, None)], "not comparable", "of which the middle was not kept, as stdout"),
    ],
)
def test_what_is_written_repeats_byte_for_byte(ours, word, why):
    found = same_numbers(claim(written=("stdout", "*.json")), wrote(*FILES), wrote(*ours), 0.95)
    assert (found.word, why in found.why) == (word, True), found.why
    assert found.here.kind == "identical"


def test_samples_behind_equal_means_repeat_as_well():
    theirs, ours = (wrote(("metric:delay", 0, "x"), ("metric:delay", 1, each)) for each in "yz")
    found = same_numbers(claim(metrics=("delay",)), theirs, ours, 0.95)
    assert (found.word, found.here.estimate) == ("not reproduced", 1)
    assert "samples of delay of scheme=a in round 1" in found.why


def test_what_nobody_kept_cannot_be_said_to_repeat():
    with pytest.raises(AnalysisError, match=r"no trial kept out/\*\.csv") as caught:
        judge_identical(wrote(*FILES), claim(written=("out/*.csv",)), 0.95)
    assert 'keep = ["out/*.csv"]' in str(caught.value.hint)
    with pytest.raises(AnalysisError, match="holds numbers alone"):
        judge_identical(made(**THEIRS), claim(written=("stdout",)), 0.95)


def test_what_repeats_does_so_by_no_chance():
    found = same_numbers(claim(), made(**THEIRS), made(**THEIRS), 0.95)
    bounded = replace(found, here=replace(found.here, kind="ratio"))
    assert by_chance(Rerun("x", (found, found, bounded), (), ())) == ()
    assert by_chance(Rerun("x", (found, bounded, bounded), (), ()))[0].startswith(
        "Of 2 claims that stood on their"
    )


def test_metrics_and_written_are_lists_in_the_file(tmp_path):
    text = """format = "trialwise-claims-1"
[[claim]]
id = "C1"
text = "x"
identical = { metrics = ["a", "b"], written = ["stdout"] }
"""
    (tmp_path / "claims.toml").write_text(text)
    (found,) = read_claims(tmp_path / "claims.toml").claims
    assert found.identical == StatedIdentity(metrics=("a", "b"), written=("stdout",))
