"""Claims that the same seeds give the same numbers: bit by bit, on the trials that both sides have."""

import numpy as np
import polars as pl
import pytest

from claims_data import trials as made
from trialwise.analysis.claims.identical import judge_identical, same_numbers
from trialwise.analysis.trial_set import TrialSet
from trialwise.errors import AnalysisError
from trialwise.experiment.claims import StatedClaim, StatedIdentity

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
