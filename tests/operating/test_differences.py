"""Coverage, error rates and power of the comparison of two samples (METHODS f and g), and whether bills are right."""

import numpy as np
import pytest

from difference_rates import (
    BILLS,
    KINDS,
    SIZES,
    at_the_margin,
    bill_decides,
    coverage,
    follow_ups,
    judged,
    samples,
    shift_coverage,
)
from trialwise import statistics as st
from trialwise.statistics.comparing.verdicts import Margin

pytestmark = pytest.mark.operating
repeated = pytest.mark.parametrize("repetitions", [4000, pytest.param(40_000, marks=pytest.mark.soak)])

every_kind = pytest.mark.parametrize("kind", KINDS)


def above(share, repetitions):
    """What a rate may be found as, at most, when it is really this share."""
    return share + 2 * np.sqrt(share * (1 - share) / repetitions)


def test_rows_are_judged_as_single_differences_are():
    a, b = samples("lognormal .5", (10, 12), 60, shift=0.7)
    for margin, relative in ((None, False), (0.4, False), (4.0, True)):
        checked = None if margin is None else Margin(margin / 100 if relative else margin, relative)
        different, equivalent = judged(a, b, checked)
        for row in range(60):
            found = st.difference(a[row], b[row], margin=margin, relative=relative)
            assert (found.verdict == "different") == different[row]
            assert (found.verdict == "equivalent") == equivalent[row]


@repeated
@every_kind
@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_intervals_cover(kind, sizes, repetitions):
    """Welch's difference and Fieller's ratio hold the truth in at least 92 %, without a false alarm beyond the limit."""
    assert min(coverage(kind, sizes, repetitions)) >= 0.92
    different, _ = judged(*samples(kind, sizes, repetitions), None)
    assert different.mean() <= KINDS[kind].alarms


@repeated
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "three times the spread"])
@pytest.mark.parametrize("sizes", [(5, 5), (20, 20)], ids=str)
def test_hodges_and_lehmanns_interval_covers(kind, sizes, repetitions):
    assert shift_coverage(kind, sizes, repetitions) >= 0.94


@pytest.mark.parametrize("mean", [0.5, 1.0, 3.0])
@pytest.mark.parametrize("repetitions", [500, pytest.param(5000, marks=pytest.mark.soak)])
def test_fiellers_sets_cover_whatever_their_form(mean, repetitions):
    """Where the first mean is near 0 many sets have no bounds, and those that have some alone would hold the truth too rarely."""
    random = np.random.default_rng(3)
    held, bounded = [], []
    for _ in range(repetitions):
        found = st.difference(mean + random.normal(size=8), 2 * mean + random.normal(size=6)).ratio
        inside = found.excluded is None or not found.excluded[0] < 2 < found.excluded[1]
        held.append(found.low <= 2 <= found.high and inside)
        bounded.append(found.bounded)
    assert np.mean(held) >= 1 - above(0.05, repetitions)
    assert (np.mean(bounded) < 0.9) == (mean < 3)


@repeated
def test_power_of_equivalence(near, repetitions):
    """METHODS f: spread and margin 5 %, no difference: .39, .86 and .97 with 10, 20 and 30 trials."""
    for n, power in ((10, 0.39), (20, 0.86), (30, 0.97)):
        _, equivalent = judged(*samples("normal", (n, n), repetitions, seed=4), Margin(1.0, relative=False))
        assert near(equivalent.mean(), power, repetitions, of=20_000, slack=0.005)


@repeated
@every_kind
@pytest.mark.parametrize("relative", [False, True])
def test_wrong_verdicts_at_the_margin(kind, relative, repetitions):
    """At a true difference of just the margin, "equivalent" is wrong, and so is "different"."""
    for sizes in ((10, 10), (30, 30)):
        for sign in (-1, 1):
            different, equivalent = at_the_margin(kind, sizes, repetitions, relative=relative, sign=sign)
            # One tail of skewed values has more than its share.
            assert different <= above(0.025 if kind == "normal" else 0.06, repetitions)
            assert equivalent <= above(0.05 if kind == "normal" else 0.1, repetitions)


@pytest.mark.parametrize("shifts", [[0.0] * 12, [0.0] * 8 + [1.5] * 4], ids=["none", "some"])
@pytest.mark.parametrize("repetitions", [80, pytest.param(1000, marks=pytest.mark.soak)])
def test_a_family_is_wrong_in_5_percent(shifts, repetitions):
    random, wrong = np.random.default_rng(6), 0
    for _ in range(repetitions):
        made = {
            place: st.difference(random.normal(size=10), shift + random.normal(size=10))
            for place, shift in enumerate(shifts)
        }
        found = st.difference_family(made).members
        wrong += any(found[place].verdict == "different" and not shift for place, shift in enumerate(shifts))
    assert wrong / repetitions <= above(0.05, repetitions)


either = pytest.mark.parametrize("judged_as", ["fresh", "pooled"])
many = pytest.mark.parametrize("pilots", [150, pytest.param(1500, marks=pytest.mark.soak)])


@many
@either
@pytest.mark.parametrize("kind", ["normal", "lognormal 1", "bimodal"])
@pytest.mark.parametrize("case", BILLS, ids=str)
def test_bills_decide(kind, case, judged_as, pilots):
    """90 % are promised; the truth is one standard error or more from any bound (in standard errors: errors, margin)."""
    assert bill_decides(kind, case, judged_as, pilots) >= 0.85


@many
@either
@pytest.mark.parametrize(("n", "margin"), [(5, None), (20, None), (10, 1.0)])
def test_follow_ups_keep_the_level(n, margin, judged_as, pilots):
    """Without a difference, or with one of just the margin, the verdict of a follow-up is false in at most 6 %."""
    allowed = None if margin is None else Margin(margin, relative=False)
    rates = follow_ups("normal", n, margin or 0.0, allowed, judged_as, pilots=4 * pilots)
    assert rates.max() <= above(0.05, 4 * pilots) if pilots < 1000 else 0.06
