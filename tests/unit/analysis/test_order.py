"""The analysis of order on tables: verdicts, families, workers, what is wrong in the data."""

import itertools
import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from trialwise.analysis.order.analysing import OrderOptions, analyse_order
from trialwise.analysis.order.summary import view_of
from trialwise.analysis.order.trials import OrderColumns, read_order_table
from trialwise.analysis.order.verdict import adjusted, corrected_together
from trialwise.errors import AnalysisError
from trialwise.exchange.order_json import order_csv, order_document
from trialwise.numbers import useful
from trialwise.wording import order as wording

EXAMPLES = Path(__file__).parents[3] / "examples"
HEADER = "treatment,order,round,position,value,worker"


def rows(seed=1, *, rounds=30, shift=0.0, culprit=0.0, workers=1, slow=0.0, spread=1.0, blocked=False):
    rng = np.random.default_rng(seed)
    orders = ["fixed", "random"] * (rounds // 2)
    for turn, order in enumerate(sorted(orders) if blocked else orders):
        names = list("abcd") if order == "fixed" else list(rng.permutation(list("abcd")))
        worker = f"w{turn // 2 % workers}"
        for position, name in enumerate(names):
            value = 100 + (spread if order == "random" and name == "c" else 1) * rng.normal()
            value += shift * (order == "fixed" and name == "b") + slow * (worker == "w1")
            value += culprit * (position > 0 and names[position - 1] == "a" and name == "d")
            yield [name, order, str(turn), str(position), repr(float(value)), worker]


@pytest.fixture
def table(tmp_path):
    def write(lines, header=HEADER):
        path = tmp_path / "trials.csv"
        path.write_text("\n".join([header, *(",".join(line) for line in lines)]) + "\n")
        return path

    return write


def analysed(path, columns=OrderColumns(), **options):  # noqa: B008 frozen
    return analyse_order(read_order_table(path, columns), OrderOptions(**options))


def changes(found):
    return {one.treatment: one.change for one in found.treatments}


def test_nothing_happens(table):
    found = analysed(table(rows(rounds=200)), margin=1.0)
    assert found.verdict == "order does not matter"
    assert set(changes(found).values()) == {"same"}
    assert (found.rounds_fixed, found.rounds_random, found.n_trials) == (100, 100, 800)
    assert any(step.startswith("Safe in any order") for step in list(wording.next_steps(found)))


def test_a_shift_a_spread_and_a_pair_are_found(table):
    found = analysed(table(rows(rounds=120, shift=3.0, culprit=5.0, spread=8.0)))
    assert found.verdict == "order matters"
    assert changes(found)["b"] == "location"
    assert changes(found)["c"] == "distribution"
    # In fixed order b always runs right after a, so that its shift may be due to a.
    named = [(pair.treatment, pair.predecessor) for pair in found.carry_over[0].pairs]
    assert named[0] == ("d", "a")
    assert set(named) <= {("d", "a"), ("b", "a")}
    assert "d is 5" in wording.pair(found.carry_over[0].pairs[0])
    assert found.carry_over[0].matrix.treatments == ("a", "b", "c", "d")


def test_a_small_difference_is_no_reason(table):
    found = analysed(table(rows(rounds=400, shift=0.6)), margin=2.0)
    assert changes(found)["b"] == "small"
    assert next(one for one in found.treatments if one.treatment == "b").significant
    assert found.verdict == "order does not matter"


def test_the_margin_is_where_same_ends_and_open_begins(table):
    """It is compared with both ends of the interval of the shift in percent, bounds included; 1 % where nobody names one."""
    path = table(rows(rounds=60, shift=0.1))
    signs = set()
    for one in analysed(path).treatments:
        low, high = one.shift_percent_low, one.shift_percent_high
        fixed, random = (
            [float(row[4]) for row in rows(rounds=60, shift=0.1) if row[:2] == [one.treatment, order]]
            for order in ("fixed", "random")
        )
        differences = np.sort(np.subtract.outer(fixed, random).ravel())
        # Moses' bounds with the normal approximation of the ranks (Hollander and Wolfe 1999, 4.3).
        reach = round(30 * 30 / 2 - 1.959964 * np.sqrt(30 * 30 * 61 / 12))
        for end, place in ((low, reach), (high, -reach - 1)):
            near = (
                differences[max(place - 2, -900) : place + 3]
                if place > 0
                else differences[place - 2 : place + 3]
            )
            assert near[0] <= end * np.median(fixed) / 100 <= near[-1]
        farthest = max(-low, high)
        signs.add(farthest == high)
        expected = {
            farthest * 1.001: "same",
            farthest: "same",
            farthest * 0.999: "open",
            0.01: "open",
            5.0: "same",
        }
        for margin, change in expected.items():
            assert changes(analysed(path, margin=margin))[one.treatment] == change, (one.treatment, margin)
        assert changes(analysed(path))[one.treatment] == ("same" if farthest <= 1 else "open")
    assert signs == {True, False}
    few = table(rows(rounds=20))
    by_margin = [changes(analysed(few, margin=margin)) for margin in (0.5, 1.0, 2.0)]
    assert changes(analysed(few)) == by_margin[1] not in (by_margin[0], by_margin[2])


def test_a_significant_difference_is_small_up_to_the_margin(table):
    path = table(rows(rounds=400, shift=0.6))
    b = next(one for one in analysed(path).treatments if one.treatment == "b")
    assert b.significant
    assert changes(analysed(path, margin=b.shift_percent_high * 1.001))["b"] == "small"
    assert changes(analysed(path, margin=b.shift_percent_high * 0.999))["b"] == "location"


def test_what_follows_a_pair_is_a_reason_beyond_the_margin_alone(table):
    path = table([row for row in rows(rounds=400, culprit=1.5) if row[1] == "random"])
    pair = next(
        one for one in analysed(path).carry_over[0].pairs if (one.treatment, one.predecessor) == ("d", "a")
    )
    reach = max(-pair.percent_low, pair.percent_high)
    assert analysed(path, margin=reach * 0.999).verdict == "order matters"
    assert analysed(path, margin=reach * 1.001).verdict == "undecided"


def test_few_rounds_leave_it_open_and_say_how_many_more(table):
    found = analysed(table(rows(rounds=12)), margin=0.3)
    assert found.verdict == "undecided"
    left = [one for one in found.treatments if one.change == "open"]
    assert left
    assert all(one.further_rounds > 0 for one in left)


def test_blocked_orders_are_said_to_be(table):
    found = analysed(table(rows(blocked=True)))
    assert "did not take turns" in found.notes[0]
    assert any(step.startswith("Interleave") for step in list(wording.next_steps(found)))
    assert not analysed(table(rows())).notes


def test_a_worker_that_differs_is_named(table):
    found = analysed(table(rows(rounds=120, workers=4, slow=-4.0, shift=3.0)))
    assert found.workers == ("w0", "w1", "w2", "w3")
    assert {(one.worker, one.what) for one in found.worker_differences} == {("w1", "level")}
    spread = next(one for one in found.worker_spread if one.treatment == "b")
    assert (spread.alike, spread.workers) == (4, 4)
    assert "property of the test" in wording.spread(spread)


def test_conclusions(table):
    found = analysed(table(rows(rounds=120, shift=5.0)), compare=(("a", "b"), ("a", "c")))
    assert [one.outcome for one in found.conclusions] == ["winner in one order only", "no winner"]
    assert found.conclusions[0].fixed_winner == "b"
    assert len(analysed(table(rows())).conclusions) == 6


def test_families_and_groups(table):
    lines = [[*row, kind] for kind in ("cpu", "memory") for row in rows(seed=len(kind), shift=2.0)]
    path = table(lines, HEADER + ",kind")
    whole = analysed(path, OrderColumns(groups=("kind",)), correction="bonferroni")
    parts = analysed(path, OrderColumns(groups=("kind",), families=("kind",)), correction="bonferroni")
    assert len(whole.treatments) == len(parts.treatments) == 8
    # Two tests of each treatment.
    assert {one.alpha_corrected for one in whole.treatments} == {0.05 / 16}
    assert {one.alpha_corrected for one in parts.treatments} == {0.05 / 8}
    assert {one.family for one in parts.treatments} == {"cpu", "memory"}
    assert len(parts.carry_over) == 2


def test_corrections():
    assert adjusted([0.01, 0.04, 0.03], "none") == [0.01, 0.04, 0.03]
    assert adjusted([0.01, 0.04, 0.03], "bonferroni") == pytest.approx([0.03, 0.12, 0.09])
    assert adjusted([0.01, 0.04, 0.03], "holm") == pytest.approx([0.03, 0.06, 0.06])


def test_both_tests_of_a_family_are_corrected_together():
    columns = [[0.01, 0.04, None, 0.5], [0.2, 0.001, None, 0.6]]
    location, shape = corrected_together(columns, ["a", "a", None, "b"], "holm")
    assert location == pytest.approx([0.03, 0.08, None, 1.0])
    assert shape == pytest.approx([0.2, 0.004, None, 1.0])


def test_the_papers_method_looks_at_location_alone(table):
    found = analysed(table(rows(rounds=120, spread=8.0)), method="paper")
    assert found.correction == "bonferroni"
    assert changes(found)["c"] == "open"
    assert found.carry_over == ()


@pytest.mark.parametrize("rounds", [6, 120, 400])
@pytest.mark.parametrize("shift", [0.0, 0.6, 3.0])
def test_the_papers_method_never_shows_that_there_is_no_difference(table, rounds, shift):
    """It has a test and no margin: what it does not reject is left open, and nothing is said in terms of a margin."""
    found = analysed(table(rows(rounds=rounds, shift=shift)), method="paper")
    assert set(changes(found).values()) <= {"location", "open", "untested"}
    assert found.verdict == ("order matters" if "location" in changes(found).values() else "undecided")
    told = [
        wording.sentence(found),
        *list(wording.next_steps(found)),
        *(wording.treatment(one, found.method) for one in found.treatments),
    ]
    assert not re.search(
        "safe|equivalent|margin(?!, so that)|does not matter|within|settle", " ".join(told), re.IGNORECASE
    )
    left = [wording.treatment(one, found.method) for one in found.treatments if one.change == "open"]
    assert all("no difference found" in sentence for sentence in left)
    assert {one.further_rounds for one in found.treatments} == {None}


def test_bad_rows_are_named_and_the_rest_goes_on(table):
    lines = list(rows())
    lines[1][4] = "quick"
    lines[2][4] = ""
    lines[4][3] = "first"
    lines[5][1] = "shuffled"
    lines[8][0] = ""
    lines[10], lines[11] = lines[11], lines[10]
    lines.append(lines[20])
    lines[13][4] = "inf"
    del lines[17]
    found = analysed(table(lines))
    kinds = {problem.kind: problem for problem in found.problems}
    assert set(kinds) == {
        "not a number", "missing", "position", "order", "treatment", "out of order", "duplicate", "no row",
    }  # fmt: skip
    assert "'quick' is not a finite number" in next(p.text for p in found.problems if p.line == 3)
    assert kinds["missing"].line == 4
    assert kinds["duplicate"].line == 121
    assert found.n_trials == 113
    assert found.treatments


def test_one_wild_position_is_no_flood(table):
    lines = list(rows())
    lines[5][3] = "1000000000"
    assert analysed(table(lines)).n_problems < 40


def test_nothing_usable_is_refused(table):
    with pytest.raises(AnalysisError, match="no row can be used"):
        analysed(table([["a", "fixed", "0", "0", "x", "w"]]))
    with pytest.raises(AnalysisError, match="no column called round or run"):
        analysed(table([["a", "1"]], "test,value"))


def test_random_order_alone_tells_of_carry_over(table):
    found = analysed(table(row for row in rows(rounds=120, culprit=5.0) if row[1] == "random"))
    assert found.treatments == ()
    assert found.verdict == "order matters"
    nothing = analysed(table(row for row in rows(rounds=60) if row[1] == "random"))
    assert nothing.verdict == "undecided"


def test_documents_hold_the_same_numbers(table):
    found = analysed(table(rows()))
    document = order_document(found)
    lines = order_csv(found).splitlines()
    assert len(lines) == 1 + len(document["treatments"])
    header = lines[0].split(",")
    for line, one in zip(itertools.islice(lines, 1, None), document["treatments"], strict=True):
        assert line.split(",")[header.index("p_value")] == repr(one["p_value"])


def test_what_is_always_0_does_not_change(table):
    lines = [[*row[:4], "0", row[5]] if row[0] == "c" else row for row in rows(rounds=40, culprit=8.0)]
    found = analysed(table(lines))
    assert changes(found)["c"] == "same"
    (sentence,) = (wording.treatment(one, found.method) for one in found.treatments if one.treatment == "c")
    assert sentence == "c: no difference found: 0 % (0 to 0) higher in fixed order (p = 1, case 2)"
    assert "c" not in {pair.treatment for pair in found.carry_over[0].pairs}


def test_a_shift_away_from_0_is_said_in_its_own_unit(table):
    values = {"fixed": "0", "random": "3"}
    lines = [[*row[:4], values[row[1]], row[5]] if row[0] == "c" else row for row in rows(rounds=40)]
    (sentence,) = (
        wording.treatment(one, "default") for one in analysed(table(lines)).treatments if one.treatment == "c"
    )
    assert sentence.startswith("c: 3 lower in fixed order, where the median is 0 (p < 0.0001, ")


def test_a_pair_that_two_metrics_show_is_one_pair_to_look_at(table):
    lines = [[*row, metric] for metric in ("rate", "cpu") for row in rows(rounds=60, culprit=8.0)]
    found = analysed(table(lines, HEADER + ",metric"))
    assert [len(group.pairs) for group in found.carry_over] == [1, 1]
    assert "1 pair shows carry-over" in wording.sentence(found)
    assert list(wording.next_steps(found)).count("Look at a before d: what does a leave behind?") == 1


def test_metrics_are_families_of_their_own(table):
    path = table(([*row, metric] for metric in ("delay", "speed") for row in rows()), f"{HEADER},metric")
    found = analysed(path)
    assert {(one.metric, one.family) for one in found.treatments} == {("delay", "delay"), ("speed", "speed")}


def test_a_view_has_every_trial_at_its_distance_from_its_median(table):
    trials = read_order_table(table(rows(workers=2, slow=50.0)), OrderColumns())
    view = view_of(trials, analyse_order(trials))
    (course,) = view.courses
    assert (course.n, len(course.trials), course.without, view.refusal) == (120, 120, 0, "")
    one = course.trials[17]
    alike = [
        trial.value
        for trial in course.trials
        if (trial.treatment, trial.worker) == (one.treatment, one.worker)
    ]
    assert one.percent == pytest.approx(100 * (one.value / np.median(alike) - 1))
    assert [(bin_.first, bin_.n) for bin_ in course.positions] == [(place, 15) for place in range(4)]
    assert sum(bin_.n for bin_ in course.rounds) == 120


def test_a_long_course_is_thinned_and_keeps_its_ends(table):
    trials = read_order_table(table(rows(rounds=1000)), OrderColumns())
    (course,) = view_of(trials, analyse_order(trials, OrderOptions(method="paper"))).courses
    assert (course.n, len(course.trials)) == (4000, 3000)
    assert (course.trials[0].turn, course.trials[-1].turn) == (0, 999)
    assert len(course.rounds) <= 60
    assert sum(bin_.n for bin_ in course.rounds) == 4000


def test_trials_of_a_median_of_zero_have_no_distance(table):
    lines = ([*row[:4], "0" if row[0] == "a" else row[4], row[5]] for row in rows())
    trials = read_order_table(table(lines), OrderColumns())
    (course,) = view_of(trials, analyse_order(trials)).courses
    assert (course.n, course.without, len(course.trials)) == (120, 30, 90)


@pytest.mark.parametrize(
    ("keep", "words"),
    [
        (lambda row: row[1] == "fixed", "fixed+random"),
        (lambda row: row[0] == "a", "one treatment"),
        (lambda row: row[1] == "random" and row[2] in ("1", "3"), "more would do"),
    ],
)
def test_what_cannot_be_judged_says_what_would_lift_it(table, keep, words):
    # Alone in its rounds, a treatment is compared under both orders unless one of them is missing.
    lines = [row for row in rows() if keep(row) and (row[1] == "random" or words != "one treatment")]
    trials = read_order_table(table(lines), OrderColumns())
    view = view_of(trials, analyse_order(trials))
    assert view.refusal.startswith("The order cannot be judged: ")
    assert words in view.refusal
    assert view.courses[0].trials


def test_rows_in_any_order_give_the_same_analysis_where_rounds_are_numbers(table):
    lines = list(rows(rounds=60, culprit=5.0))
    plain = analysed(table(lines))
    shuffled = analysed(table([lines[place] for place in np.random.default_rng(3).permutation(len(lines))]))
    (group,), (other,) = shuffled.carry_over, plain.carry_over
    assert [pair.effect for pair in group.pairs] == pytest.approx([pair.effect for pair in other.pairs])
    assert group.drift.estimate == pytest.approx(other.drift.estimate)
    assert shuffled.notes == plain.notes == ()
    assert [one.p_value for one in sorted(shuffled.treatments, key=lambda one: one.treatment)] == [
        one.p_value for one in sorted(plain.treatments, key=lambda one: one.treatment)
    ]
    assert shuffled.n_problems == 6
    assert "more rows come after later ones" in shuffled.problems[-1].text


def test_rows_of_parquet_are_counted_from_one(table):
    path = table(rows())
    raw = pl.read_csv(path)
    raw = raw.with_columns(
        pl.when(pl.int_range(pl.len()) == 3).then(float("nan")).otherwise("value").alias("value")
    )
    raw.write_parquet(path.with_suffix(".parquet"))
    found = analysed(path.with_suffix(".parquet"))
    assert [problem.text for problem in found.problems] == ["row 4: the value is missing"]


@pytest.mark.parametrize("labelled", [True, False])
def test_one_fixed_order_names_no_predecessor(table, labelled):
    lines = [row for row in rows(rounds=60, culprit=5.0) if row[1] == "fixed"]
    path = table(
        lines if labelled else [[row[0], *row[2:]] for row in lines],
        HEADER if labelled else HEADER.replace("order,", ""),
    )
    found = analysed(path)
    assert (found.verdict, found.carry_over) == ("undecided", ())
    assert "cannot be told apart" in found.notes[0]
    assert "random or balanced order" in next(wording.next_steps(found))


def test_a_pair_of_the_fixed_order_is_not_named_from_fixed_rounds(table):
    """In fixed order b always runs right after a, at position 1; what moves it there is not said to be a."""
    found = analysed(table(rows(rounds=200, shift=3.0)))
    assert changes(found)["b"] == "location"
    assert ("b", "a") not in {(pair.treatment, pair.predecessor) for pair in found.carry_over[0].pairs}


def test_what_is_not_excluded_is_said_with_the_rounds_that_would_exclude_it(table):
    lines = [row for row in rows(rounds=80) if row[1] == "random"]
    found = analysed(table(lines))
    group = found.carry_over[0]
    assert group.not_excluded > 1.0
    assert group.further_rounds > 40
    assert any("are not excluded" in step for step in list(wording.next_steps(found)))
    wide = analysed(table(lines), margin=10.0)
    assert wide.carry_over[0].further_rounds is None
    assert any(
        step.startswith("Safe in any order as far as predecessors go") for step in wording.next_steps(wide)
    )


@pytest.mark.parametrize("order", [("random",), ("fixed", "random")])
def test_rounds_out_of_proportion_are_called_hopeless(table, order):
    """The rounds needed grow with the square of what the margin shrinks by: 10,000 times those of the test before."""
    lines = [row for row in rows(rounds=80) if row[1] in order]
    steps = " ".join(wording.next_steps(analysed(table(lines), margin=0.01)))
    assert "will hardly" in steps
    assert "Make trials less noisy, or widen --margin" in steps
    assert "further rounds" not in steps
    assert "will hardly" not in " ".join(wording.next_steps(analysed(table(lines))))


def test_no_bound_is_written_as_minus_0():
    assert [useful(value) for value in (-0.0, 0.0, -0.001, -0.4, -12.0)] == [
        "0",
        "0",
        "-0.001",
        "-0.4",
        "-12",
    ]


def test_a_difference_in_one_of_many_families_decides_nothing_alone(table):
    """Each family keeps its level; the verdict is corrected for their number."""
    lines = [
        [*row, f"k{kind}"] for kind in range(12) for row in rows(seed=kind, shift=1.3 if kind == 0 else 0.0)
    ]
    path = table(lines, HEADER + ",kind")
    columns = OrderColumns(groups=("kind",), families=("kind",))
    assert any(one.change == "location" for one in analysed(path, columns, permutations=0).treatments)
    assert analysed(path, columns, permutations=0).verdict == "undecided"
    assert "not beyond chance among 24" in wording.sentence(analysed(path, columns, permutations=0))
    assert analysed(path, columns, permutations=0, correction="none").verdict == "order matters"


@pytest.mark.parametrize(("metric", "victim"), [("served", "get_hits"), ("cpu", "cmd_get"), ("rate", None)])
def test_what_fills_the_memory_of_memcached_is_named_and_no_predecessor(metric, victim):
    trials = read_order_table(EXAMPLES / "memcached-order/2026-11-21.csv", OrderColumns(metrics=(metric,)))
    found = analyse_order(trials)
    (group,) = found.carry_over
    assert [(one.treatment, one.earlier) for one in group.lasting] == (
        [(victim, "cmd_set")] if victim else []
    )
    assert group.pairs == ()
    if victim:
        assert found.verdict == "order matters"
        assert "1 effect lasts for the rest of the round" in wording.sentence(found)
        assert "Reset before each trial, or at least after cmd_set." in list(wording.next_steps(found))
        assert f"{victim} is " in wording.lasting(group.lasting[0])
        assert "once cmd_set has run in the round (p = " in wording.lasting(group.lasting[0])


def test_sqlite_copies_and_reads_what_was_loaded_and_not_deleted():
    """A quarter of the rows each: the truth is 25 % of the steps."""
    trials = read_order_table(EXAMPLES / "sqlite-order/2026-11-21.csv", OrderColumns())
    steps = next(group for group in analyse_order(trials).carry_over if group.metric == "steps")
    percent = {(one.treatment, one.earlier): one.percent for one in steps.lasting}
    for reader in ("vacuum", "scan"):
        assert percent.pop((reader, "load")) == pytest.approx(25, abs=1)
        assert percent.pop((reader, "delete")) == pytest.approx(-25, abs=1)
    assert set(percent) == {("lookup", "delete")}
    assert steps.pairs == ()


def test_random_rounds_that_came_out_alike_are_not_called_fixed(table):
    """Of three rounds of three treatments one in 36 does; the record says random."""
    lines = [
        [name, "random", str(at), str(place), str(10.0 + at + place), "w"]
        for at in (1, 2, 3)
        for place, name in enumerate("abc")
    ]
    found = analysed(table(lines))
    assert (found.rounds_random, found.carry_over) == (3, ())
    (note,) = [note for note in found.notes if "position, drift and predecessor" in note]
    assert note.startswith("the 3 rounds that are not recorded as fixed all ran in one order")
    assert "no treatment changed its position" in wording.sentence(found)
    assert not any("fixed" in text for text in (wording.sentence(found), *list(wording.next_steps(found))))
