"""What a re-run takes of an artifact: treatments, rounds, bytes, and the experiment file without what would end it early."""

import tomllib
from dataclasses import replace

import polars as pl
import pytest

from claims_data import trials as made
from trialwise.analysis.trial_set import TrialSet
from trialwise.design.plan import make_plan
from trialwise.errors import PlanError
from trialwise.experiment.claims import Amount, SmallRun, StatedClaim, StatedRanking, StatedRatio
from trialwise.experiment.reading import parse_experiment
from trialwise.study.artifact.choosing import Candidate, inside, joined, size_of, smallest
from trialwise.study.artifact.rerun_folder import rerun_text

RATIO = StatedRatio(of={"scheme": "a"}, to={"scheme": "b"}, at_least=Amount(1.2))


def candidate(name, seconds, of="a", to="b", **said):
    trials = made(a=[3.0] * 5, b=[1.0] * 5, c=[2.0] * 5)
    trials = TrialSet(
        "made", trials.metrics, trials.treatments, trials.table.with_columns(seconds=pl.lit(float(seconds)))
    )
    ratio = replace(RATIO, of={"scheme": of}, to={"scheme": to})
    claim = StatedClaim(id=name, text="x", metric="delay", **(said or {"ratio": ratio}))
    return Candidate(claim, "x.results", trials, 10)


def test_the_cheapest_claims_that_fit_are_taken_together_and_their_treatments_run_once():
    both = [candidate("C1", 1), candidate("C2", 1, of="c")]
    (plan,) = smallest(both, budget=21)
    assert (set(plan.claims), set(plan.treatments)) == ({"C1", "C2"}, {"scheme=a", "scheme=b", "scheme=c"})
    assert (plan.rounds, plan.trials, plan.seconds, plan.size) == (7, 21, 21, 210)
    (plan,) = smallest(both, budget=20)
    assert (len(plan.claims), plan.trials) == (1, 14)
    (plan,) = smallest(both, budget=9)
    assert (plan.rounds, plan.trials) == (4, 8)
    with pytest.raises(PlanError, match="too small: 3 rounds"):
        smallest(both, budget=5)
    assert smallest([], budget=5) == []


def test_a_claim_says_what_its_smallest_run_is():
    ranking = StatedRanking(over="scheme", order=("b", "c", "a"), better="lower")
    each = candidate("C1", 1, ranking=ranking, small=SmallRun(where={"scheme": ["a", "b"]}, rounds=5))
    (plan,) = smallest([each], budget=60)
    assert (plan.rounds, set(plan.treatments)) == (5, {"scheme=a", "scheme=b"})
    (part,) = each.only()
    assert set(part["scheme"]) == {"a", "b", "c"}


def test_minutes_of_the_smallest_run_give_its_rounds_or_how_long_it_is_expected_to_take():
    (plan,) = smallest([candidate("C1", 1, small=SmallRun(where={}, minutes=0.5), ratio=RATIO)], budget=60)
    assert (plan.rounds, plan.seconds) == (15, 30)  # rounds of two trials of a second
    each = candidate("C1", 1, small=SmallRun(where={}, rounds=5, minutes=2), ratio=RATIO)
    (plan,) = smallest([each], budget=120)
    assert (plan.rounds, plan.seconds) == (5, 120)
    (plan,) = smallest([each], budget=100)  # 24 s a round, not the 2 s of the trials
    assert plan.rounds == 4
    (plan,) = smallest([candidate("C2", 1), each], budget=100)
    assert plan.claims == ("C2",)
    none = candidate(
        "C1", 0, small=SmallRun(where={}, minutes=2), ratio=RATIO
    )  # no trial says how long it took
    assert smallest([none], budget=120)[0].rounds == 7


def test_treatments_that_no_claim_names_do_not_run():
    """Five of the nine that have the levels of the claims."""
    grid = {f"n={n} cc={cc}": {"n": n, "cc": cc} for n in (1, 2, 3) for cc in ("a", "b", "c,d")}
    claimed = ["n=1 cc=a", "n=2 cc=a", "n=3 cc=a", "n=2 cc=b", "n=2 cc=c,d"]
    parts = [{name: (level,) for name, level in grid[each].items()} for each in claimed]
    only = joined([parts[:2], parts[2:]])
    assert [name for name, levels in grid.items() if inside(levels, only)] == sorted(claimed)
    assert len(only) < len(claimed)


def test_treatments_with_all_their_levels_are_one_part():
    parts = [{"n": (n,), "cc": (cc,)} for n in range(40) for cc in ("a", "b", "c")]
    assert joined([parts]) == [{"n": tuple(range(40)), "cc": ("a", "b", "c")}]


@pytest.mark.parametrize(
    ("text", "size"), [("64GiB", 64 * 2**30), ("1.5 MB", 1.5e6), ("100", 100), ("2kB", 2000), ("much", None)]
)
def test_sizes_of_needs(text, size):
    assert size_of(text) == size


FILE = """
# theirs
[experiment]
name = "x"
seed = 5
[factors]
n = [1, 2]
[trial]
command = ["true", "{n}"]
[metrics.t]
json = "/t"
unit = "s"
better = "lower"
margin = "5%"
stop = { precision = "2%" }
kpi = [{ percentile = 50, bound = "upper" }]
variability = {}
[design]
looks = "anytime"
max_trials = 500
[workers]
use = ["ssh://node1"]
"""


def test_the_file_of_a_rerun_has_their_plan_a_seed_of_its_own_and_nothing_that_ends_it(tmp_path):
    text = rerun_text(FILE, 77, 9)
    found = parse_experiment(text, tmp_path / "e.toml")
    assert (found.seed, found.design.rounds, found.design.series, found.workers.use) == (
        77,
        9,
        1,
        ("local",),
    )
    assert found.metrics[0].stop is None
    assert len(make_plan(found).trials) == 2 * 9
    before, after = tomllib.loads(FILE), tomllib.loads(text)
    assert (before["trial"], before["factors"]) == (after["trial"], after["factors"])
    assert "# theirs" in text
