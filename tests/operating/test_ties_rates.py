"""False alarms of every test, and misses of every interval, on data with ties: counts, rates of success, coarse clocks.

`PYTHONPATH=tests .venv/bin/python tests/operating/test_ties_rates.py 1000` prints the table of docs/concepts/statistics.md;
names of tests behind the number print their rows alone.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from zlib import crc32

import numpy as np
import pytest

from binomial import most
from trialwise import statistics as st
from trialwise.errors import StatisticsError

pytestmark = pytest.mark.operating
LEVEL = 0.05


@dataclass(frozen=True)
class Kind:
    """A distribution with ties, and what is true of it."""

    draw: Callable[[np.random.Generator, int], np.ndarray]
    mean: float
    median: float
    deviation: float


KINDS = {
    "binary": Kind(lambda random, n: (random.random(n) < 0.1).astype(float), 0.1, 0.0, 0.3),
    "three-valued": Kind(lambda random, n: random.integers(0, 3, n).astype(float), 1.0, 1.0, (2 / 3) ** 0.5),
    "Poisson(2)": Kind(lambda random, n: random.poisson(2, n).astype(float), 2.0, 2.0, 2**0.5),
    "clock": Kind(
        lambda random, n: np.round(random.normal(20, 1.5, n)), 20.0, 20.0, (1.5**2 + 1 / 12) ** 0.5
    ),
}
Draw = Callable[[int], np.ndarray]


@dataclass(frozen=True)
class Simulation:
    """One analysis of data that are drawn: which of its tests, each with its law under ties, are wrong."""

    laws: dict[str, str]
    wrong: Callable[[Draw, Kind], tuple[bool, ...]]
    repetitions: int = 200
    """Of the short form: as many as take two seconds for the four kinds."""
    long: int = 2000


def one(name, law, wrong, repetitions=200):
    return Simulation({name: law}, lambda draw, kind: (wrong(draw, kind),), repetitions)


def misses(bounds, truth=0.0):
    """Whether an interval leaves the truth out; a bound that is None is not there."""
    low, high = bounds.low, bounds.high
    return (low is not None and low > truth) or (high is not None and high < truth)


def groups(draw, n, count):
    return {"y": draw(n * count), "g": np.repeat(np.arange(count), n)}


def varies(alarm):
    """A test of values that all are the same says so instead of a p-value: no alarm."""

    def tested(draw, kind):
        try:
            return alarm(draw, kind)
        except StatisticsError:
            return False

    return tested


def rejected(p_value):
    return p_value is not None and bool(p_value <= LEVEL)


def ordered(n, m):
    def alarms(draw, _):
        found = st.order_effect(draw(n), draw(m))
        return rejected(found.p_value), rejected(found.p_distribution), misses(found.shift)

    sizes = f"{n} and {m}"
    laws = {
        f"Kruskal and Wallis, {sizes}": "χ², variance given the ties",
        f"Anderson and Darling, {sizes}": "exact given the ties, or a saddlepoint",
        f"Hodges and Lehmann's interval, {sizes}": "ranks without ties: covers more",
    }
    return Simulation(laws, alarms, 100)


def differences(n, m):
    def alarms(draw, _):
        found = st.difference(draw(n), draw(m))
        return rejected(found.p_value), misses(found.ratio, 1.0)

    laws = {
        f"difference of means, {n} and {m}": f"{BY_WELCH}; one variance where one side is one of the other's values",
        f"ratio of means, {n} and {m}": f"{BY_WELCH} (Fieller)",
    }
    return Simulation(laws, alarms)


def pairs(n):
    def alarms(draw, _):
        a, b = draw(n), draw(n)
        found = st.paired_difference(a, b)
        return rejected(found.p_value), misses(st.paired_ratio(a, b), 1.0), misses(found.hodges_lehmann)

    laws = {
        f"difference of pairs, {n}": BY_T,
        f"ratio of pairs, {n}": f"{BY_T} (Fieller)",
        f"signed ranks' interval, {n}": "ranks without ties: covers more",
    }
    return Simulation(laws, alarms, 100)


def dependence(n, lag, trend):
    def alarms(draw, _):
        found = st.independence(draw(n))
        return tuple(rejected(p_value) for p_value in (found.p_lag1, found.p_trend, found.p_value))

    laws = {f"lag-1 correlation, {n}": lag, f"Kendall's trend, {n}": trend, f"both, {n}": "Holm"}
    return Simulation(laws, alarms, 100)


def analysed(method, n):
    options = {"permutations": 199} if method in {"freedman_lane", "raw_permutation"} else {}
    return varies(
        lambda draw, _: rejected(
            st.anova(groups(draw, n, 3), "y", "g", method=method, **options).rows[0].p_value
        )
    )


def compared(method, n):
    return varies(
        lambda draw, _: any(
            rejected(row.p_value) for row in st.posthoc(groups(draw, n, 4), "y", "g", method=method).rows
        )
    )


@varies
def rising(draw, _):
    """Each direction has an error of 5 % of its own: both together are two of two one-sided tests."""
    found = st.convergence(draw(200))
    return found.verdict == "drifting" and found.low > 0


@varies
def simple(draw, _):
    table = groups(draw, 20, 4) | {"f": np.tile(np.arange(2), 40)}
    return any(rejected(row.p_value) for row in st.simple_effects(table, "y", "f", "g").rows)


def assumed(field):
    def alarm(draw, _):
        found = st.assumptions(groups(draw, 20, 3), "y", "g")
        return rejected(found.breusch_pagan.p_value if field else found.normality[0].p_value)

    return varies(alarm)


def ranked(n, paired):
    def alarms(draw, _):
        sets = st.rank_sets({str(place): draw(n) for place in range(4)}, paired=paired)
        return any(found != (1, 4) for found in sets.values()), "0" not in sets.best

    which, law = (" of pairs", BY_T) if paired else ("", BY_WELCH)
    laws = {
        f"any rank set{which} of 4, {n} each": f"{law}, Holm",
        f"one{which} left out of the best of 4, {n} each": f"{law}, Bonferroni",
    }
    return Simulation(laws, alarms)


def left_off_the_front(draw, _):
    values = {str(place): {"x": draw(20), "y": draw(20)} for place in range(4)}
    return "0" not in st.pareto_set(values, {"x": "higher", "y": "lower"})


def equivalent(draw, kind):
    """The second side lies at the margin, one standard deviation off."""
    return st.equivalence(draw(20), draw(20) + kind.deviation, margin=kind.deviation).equivalent


def averaged(draw, _):
    return rejected(st.difference_of_averages([draw(10), draw(20)], [draw(20), draw(10)]).p_value)


def carried(rounds, treatments=4):
    order = np.random.default_rng(43)

    def alarms(draw, _):
        rows = order.permuted(np.tile(np.arange(treatments), (rounds, 1)), axis=1)
        turns, places = np.repeat(np.arange(rounds), treatments), np.tile(np.arange(treatments), rounds)
        found = st.carry_over(draw(rows.size), rows.ravel().tolist(), turns, places, permutations=499)
        trends = (rejected(one.p_value) for one in (found.position, found.drift, found.first))
        return any(one.named for one in (*found.pairs, *found.lasting)), *trends

    setting = f"{rounds} rounds of {treatments}"
    by_rounds = "Student's t, errors by rounds"
    laws = {f"any carry-over, {setting}": "permutation within positions"} | {
        f"{name}, {setting}": by_rounds for name in ("slope over positions", "drift", "first position")
    }
    return Simulation(laws, alarms, 50)


@varies
def seasonal(draw, _):
    found = st.seasonality(np.arange(200) * 3600.0, draw(200), surrogates=199)
    return bool(found.periods) or bool(found.shifts) or found.drift is not None


def controlled(draw, kind):
    x = CONTROLS.normal(size=30)
    return misses(st.control_variates(draw(30), x, 0.0), kind.mean)


def ever_left_out(draw, kind):
    """Of the mean from the first value on that differs from those before it."""
    values = draw(200)
    median, mean = st.median_confidence_sequence(values), st.mean_confidence_sequence(values)
    varies = mean.low < mean.high
    return (
        bool(((median.low > kind.median) | (median.high < kind.median)).any()),
        bool((varies & ((mean.low > kind.mean) | (mean.high < kind.mean))).any()),
    )


def mean(n):
    def alarm(draw, kind):
        found = st.mean_interval(draw(n))
        return found.low < found.high and misses(found, kind.mean)

    return one(
        f"interval of the mean, {n}", f"{BY_T}; of two values no narrower than Clopper and Pearson's", alarm
    )


def pooled(draw, kind):
    trials = list(draw(220).reshape(20, 11))
    return misses(st.pooled_mean(trials), kind.mean), misses(st.pooled_quantile(trials, 50), kind.median)


BY_T, BY_WELCH = "Student's t", "Welch's t"
CONTROLS = np.random.default_rng(42)
SIMULATIONS = [
    ordered(10, 10),
    ordered(20, 20),
    ordered(10, 40),
    one(
        "interval of the median, 20",
        "binomial, closed: covers more",
        lambda draw, kind: misses(st.percentile_interval(draw(20), 50, 95), kind.median),
    ),
    differences(20, 20),
    differences(10, 40),
    one("equivalence at the margin, 20 and 20", BY_WELCH, equivalent),
    one("averages of cells, 10 to 20", f"{BY_WELCH} over cells", averaged, 100),
    pairs(20),
    mean(20),
    mean(60),
    one("mean with a control, 30", f"{BY_T} of the regression", controlled),
    Simulation(
        {
            "mean of all samples, 20 trials of 11": f"{BY_T} over trials",
            "median of all samples, 20 trials of 11": f"{BY_T} over trials",
        },
        pooled,
    ),
    Simulation(
        {
            "median at any look, 200": "mixture martingale, closed: covers more",
            "mean at any look, 200": "asymptotic, from 50 values on; of two values a martingale of shares",
        },
        ever_left_out,
    ),
    dependence(20, "permutation", "permutation"),
    dependence(150, "normal, exact variance given the ties", "normal, variance given the ties"),
    one(
        "turning points, 20",
        "given the ties",
        lambda draw, _: rejected(st.turning_points(draw(20)).p_value),
        100,
    ),
    one(
        "turning points, 150",
        "given the ties",
        lambda draw, _: rejected(st.turning_points(draw(150)).p_value),
    ),
    one(
        "Theil and Sen's interval, 20",
        "Kendall's score without ties: covers more",
        lambda draw, _: misses(st.theil_sen(np.arange(20.0), draw(20), 95)),
    ),
    one("drift upward within a trial, 200", f"{BY_T} of batches, one-sided", rising, 100),
    one("Shapiro and Wilk, 20", "of rounded normal values", assumed(0), 50),
    one("Breusch and Pagan (Koenker), 20 each of 3", "permutation", assumed(1), 50),
    one("ANOVA by Welch, 20 each of 3", "F (Box)", analysed("welch", 20), 100),
    one("ANOVA, ordinary, 20 each of 3", "F", analysed("ordinary", 20), 100),
    one("ANOVA by Freedman and Lane, 10 each of 3", "permutation", analysed("freedman_lane", 10), 100),
    one("ANOVA of permuted responses, 10 each of 3", "permutation", analysed("raw_permutation", 10), 100),
    one("simple effects, 10 each of 8", "F (Box), Holm", simple, 50),
    one("Games and Howell, 20 each of 4", "studentized range", compared("games_howell", 20), 50),
    one("Tukey, 20 each of 4", "studentized range", compared("tukey", 20), 100),
    ranked(20, paired=False),
    ranked(20, paired=True),
    one("one left off the front of 4, 20 each", f"{BY_WELCH}, intersection-union", left_off_the_front),
    carried(24),
    Simulation(
        {"any period, shift or drift, 200 hours": "rearrangements with the memory of the noise, ranks"},
        lambda draw, kind: (seasonal(draw, kind),),
        10,
        1000,
    ),
]
NOT_NORMAL = {"Shapiro and Wilk, 20"}
"""Of the kinds only the clock's values are normal ones that were rounded: the others are to be found."""


def shares(simulation, kind, repetitions):
    """Of data of one distribution, the share that each test at 5 % is wrong about."""
    random = np.random.default_rng([41, crc32(f"{next(iter(simulation.laws))}, {kind}".encode())])
    known = KINDS[kind]
    wrong = [simulation.wrong(lambda n: known.draw(random, n), known) for _ in range(repetitions)]
    return dict(zip(simulation.laws, np.mean(wrong, axis=0).tolist(), strict=True))


def known_of(simulation, kind):
    return kind == "clock" or not simulation.laws.keys() & NOT_NORMAL


EVERY = [one for one in product(SIMULATIONS, KINDS) if known_of(*one)]


@pytest.mark.parametrize(
    ("simulation", "kind", "repetitions"),
    [
        pytest.param(simulation, kind, count, marks=marks, id=f"{next(iter(simulation.laws))}-{kind}-{count}")
        for simulation, kind in EVERY
        for count, marks in (
            (simulation.repetitions, ()),
            (simulation.long, (pytest.mark.soak,)),
        )
    ],
)
def test_each_test_keeps_its_level_on_tied_data(simulation, kind, repetitions):
    """At 5 % in at most 6 %; laws without ties had up to 100 %."""
    found = shares(simulation, kind, repetitions)
    assert {name: share for name, share in found.items() if share > most(0.06, repetitions)} == {}


def main(repetitions, names):
    sys.stdout.write(
        "| test or interval, values | its law where values are tied | " + " | ".join(KINDS) + " |\n"
    )
    sys.stdout.write("|---|---|" + "---|" * len(KINDS) + "\n")
    for simulation in SIMULATIONS:
        if names and not any(name in " ".join(simulation.laws) for name in names):
            continue
        found = [
            shares(simulation, kind, repetitions) if known_of(simulation, kind) else {} for kind in KINDS
        ]
        for name, law in simulation.laws.items():
            cells = (f"{100 * one[name]:.1f}" if name in one else "" for one in found)
            sys.stdout.write(f"| {name} | {law} | " + " | ".join(cells) + " |\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000, sys.argv[2:])
