"""Documents of commands on made-up data, each with the JSON document of the same command."""

from __future__ import annotations

from dataclasses import asdict, replace
from math import inf
from pathlib import Path
from typing import Any

import numpy as np

from calibration_data import bench
from comparison_data import hyperfine
from condition_data import condition_csv, pilot_csv
from effects_data import normal, trial_set
from order_data import fixed_and_random
from path_conditions import day_of_path, write_conditions
from suite_trials import suite
from trialwise.analysis.calibration.calibrating import calibrate
from trialwise.analysis.comparison.comparing import CompareOptions, compare
from trialwise.analysis.comparison.results import Word
from trialwise.analysis.conditions.path import Kind, Round
from trialwise.analysis.conditions.path import path_profile as profile_of_path
from trialwise.analysis.conditions.profile import profile_of
from trialwise.analysis.conditions.table import read_conditions
from trialwise.analysis.effects.analysing import EffectsOptions, analyse_effects
from trialwise.analysis.effects.trials import factor_trials
from trialwise.analysis.history import Measurement
from trialwise.analysis.history import history as history_of
from trialwise.analysis.likeness.results import Certificate, JudgedRow, Moment, Parameter, Search
from trialwise.analysis.observing.observing import observe as observed
from trialwise.analysis.order.analysing import analyse_order
from trialwise.analysis.runtime.advising import runtime_advice
from trialwise.analysis.runtime.pilots import Question, pilots_of_table
from trialwise.analysis.stopping.results import ClaimState
from trialwise.analysis.versions.course import Course
from trialwise.analysis.versions.gate import judged_outcome, together
from trialwise.analysis.versions.results import SuiteResult, VersionsResult
from trialwise.analysis.versions.suites import SuitePlan, confirmed, reach_of, rounds_of, screened
from trialwise.design.summary import plan_json, summarise
from trialwise.design.timing import stated_times
from trialwise.exchange.calibration_json import calibration_document
from trialwise.exchange.certificate_json import certificate_document
from trialwise.exchange.comparison_json import comparison_document
from trialwise.exchange.condition_json import condition_document
from trialwise.exchange.effects_json import effects_document
from trialwise.exchange.history_json import history_document
from trialwise.exchange.observe_json import observe_document
from trialwise.exchange.order_json import order_document
from trialwise.exchange.result_files import read_trials
from trialwise.exchange.versions_json import suite_document, versions_document
from trialwise.experiment.model import Extent
from trialwise.experiment.reading import parse_experiment
from trialwise.measurement.condition_files import read_conditions_of_path
from trialwise.report.document import (
    Document,
)
from trialwise.report.documents import aa as aa_words
from trialwise.report.documents import ab as ab_words
from trialwise.report.documents import certificate as certificate_words
from trialwise.report.documents import commands as command_words
from trialwise.report.documents import compare as compare_words
from trialwise.report.documents import effects as effects_words
from trialwise.report.documents import emulated_path as path_words
from trialwise.report.documents import history as history_words
from trialwise.report.documents import observe as observe_words
from trialwise.report.documents import order as order_words
from trialwise.report.documents import path_profile as path_profile_words
from trialwise.report.documents import plan as plan_words
from trialwise.report.documents import profile as profile_words
from trialwise.report.documents import runtime as runtime_words
from trialwise.report.documents import simulate as simulate_words
from trialwise.report.documents import status as status_words
from trialwise.report.documents import suite as suite_words
from trialwise.statistics.tests.trends import Trend
from trialwise.study.documents import (
    FailureDocument,
    RunDocument,
    StatusDocument,
    StoppingDocument,
    WorkerDocument,
)
from trialwise.trials.path_documents import EcnDocument, LinkDocument, PathDocument
from trialwise.trials.simulated_document import ClassDocument, QuantileDocument, SimulateDocument

Made = tuple[Document, dict[str, Any]]


def certificate(folder: Path) -> Made:
    """One scheme held out, different in loss; two fitted."""

    def row(treatment: str, metric: str, unit: str, means: tuple[float, float], verdict: Word) -> JudgedRow:
        change = 100 * (means[1] / means[0] - 1)
        more = 31 if verdict == "undecided" else 0
        spread = verdict == "different"
        reason = (
            "7 real values lie beyond all emulated ones and the margin; by means undecided"
            if spread
            else "as the interval lies"
        )
        return JudgedRow(
            treatment, metric, unit, (10, 20), means, change, change - 3.1, change + 3.2, means[0] / 10, verdict, more,
            reason, 1.7, 0.85, 7 if spread else 2, 0.0004 if spread else 0.31, "spread" if spread else "means",
        )  # fmt: skip

    way = "rate 12Mbit/s, queue droptail:packets=50, loss 0.1%, delay 28ms"
    parameters = (
        Parameter(
            "rate", "bit/s", 12e6, 11.99e6, 12.01e6, "identified", "gaps behind waiting packets: median"
        ),
        Parameter("queue", "packets", inf, 131.5, inf, "assumed", "no queue was full"),
        Parameter(
            "loss", "", 0.001, 0.0008, 0.0012, "searched", "losses while the queue was at most half full"
        ),
    )
    judged = (
        row("scheme=own:<b>", "throughput", "Mbit/s", (9.31, 9.36), "equivalent"),
        row("scheme=own:<b>", "loss", "%", (0.1, 0.2), "different"),
    )
    left_out = (row("scheme=cubic", "queueing_delay_p95", "ms", (21.3, 20.1), "undecided"),)
    found = Certificate(
        real="real_<b>.results", span=("2026-11-25T10:00:00+00:00", "2026-11-25T12:00:00+00:00"), made="2026-11-26T10:00:00+00:00",
        version="0.1.0", seed=1, engine="simulated", uplink=way, downlink="rate 12Mbit/s, delay 28ms", digest="sha256:0123",
        parameters=parameters, doubts=("uplink: packets overtake each other; a path that keeps their order is fitted",),
        fitted=("scheme=cubic", "scheme=newreno"), held_out=("scheme=own:<b>",), not_simulated=("scheme=tcp_x",),
        search=Search(49, 6, 1.31, 0.97, 61.5, "budget"), confidence=95.0, correction="Holm over 2 differences", judged=judged,
        left_out=left_out, passed=("throughput",), open=(), failed=("loss",), betrayed="scheme=own:<b>",
        course=(Moment("1.1", 57.1), Moment("1.2", 57.2)), notes=("1 trial failed, without a value",),
    )  # fmt: skip
    return certificate_words.document(found), certificate_document(found)


def ab(folder: Path, head: tuple[float, float, int] = (1.2, 0.01, 20)) -> Made:
    """Head against base in one metric with margin 5 %."""
    base = hyperfine(folder / "a.json", {"x": (1.0, 0.01, 20)})
    other = hyperfine(folder / "b.json", {"x": head}, seed=2)
    comparison = compare(
        read_trials(base), read_trials(other), CompareOptions(margin=Extent(5, relative=True))
    )
    outcomes = tuple(
        judged_outcome(row.verdict, row.difference, "lower") for row in comparison.rows if row.difference
    )
    words = {
        "ending": "every planned trial has come to an end",
        "directory": "ab.results/x_<b>",
        "method": "one judgement",
    }
    found = VersionsResult(
        outcome=together(outcomes), outcomes=outcomes, stage="all", pilot=20, forecast=None, comparison=comparison, confidence=95.0,
        complete=True, failed=0, **words,
    )  # fmt: skip
    return ab_words.document(found), versions_document(found)


def commands_found(folder: Path) -> VersionsResult:
    """Two commands against a third: one is faster, one undecided."""
    base = read_trials(hyperfine(folder / "a.json", {"x": (1.0, 0.01, 20)}))
    rows = []
    for place, (version, head) in enumerate({"v2": (0.8, 0.01, 20), "v3": (1.05, 0.01, 20)}.items(), 2):
        other = read_trials(hyperfine(folder / f"{version}.json", {"x": head}, seed=place))
        comparison = compare(base, other, CompareOptions(confidence=97.5, margin=Extent(5, relative=True)))
        rows.append(replace(comparison.rows[0], treatment=version))
    outcomes = tuple(judged_outcome(row.verdict, row.difference, "lower") for row in rows if row.difference)
    trend = Trend(0.41, -0.62, 1.44, 0.4, 20)
    return VersionsResult(
        outcome=together(outcomes), outcomes=outcomes, stage="pilot", pilot=20, forecast=None,
        comparison=replace(comparison, rows=tuple(rows), correction="Holm over 2 differences"), confidence=95.0,
        ending="the budget is used up", complete=False, failed=1, directory="ab.results/x_<b>", method="two looks",
        versions=("base", "v2", "v3"), commands=("./old <b>", "./new", "./newer --with a-long-option-of-its-own"),
        courses=(Course(rows[0].metric.name, 20, trend, None),), budget=60.0,
    )  # fmt: skip


def ab_commands(folder: Path) -> Made:
    found = commands_found(folder)
    return command_words.document(found), versions_document(found)


def ab_suite(_folder: Path) -> Made:
    """Twenty benchmarks: one worse, one better, some open, one in another unit, one that head lacks."""
    random = np.random.default_rng(3)
    base, head = (100 * np.exp(random.normal(0, 0.01, (25, 20))) for _ in range(2))
    head[:, 2] *= 1.08
    head[:, 5] *= 0.9
    head[:, 7:9] *= random.normal(1, 0.2, (25, 2))
    trials = suite(base, head, without={("head", 1), ("head", 3)})
    plan = SuitePlan(10, 100, 95.0, Extent(3.0, relative=True))
    first = screened(rounds_of(trials, 1, 10), plan)
    verdict = confirmed(first, rounds_of(trials, 11), plan)
    reach = reach_of(first, plan, 2.0, 30.0)
    found = SuiteResult(
        verdict.outcome, verdict.outcomes, verdict.stages, verdict.crossed, verdict.rounds, first.fresh, reach,
        {"b3": "not comparable: in ns, lower is better, and in ms, lower is better"}, verdict.comparison, 95.0, plan.margin,
        "the budget is used up", complete=False, failed=0, directory="ab.results/x_<b>", method="a pilot that screens",
    )  # fmt: skip
    return suite_words.document(found), suite_document(found)


def aa(folder: Path) -> Made:
    found = calibrate(bench(1, rounds=20, hosts=2, shift=0.5, metrics=("time", "memory")))
    return aa_words.document(found), calibration_document(found)


def profile(folder: Path) -> Made:
    found = profile_of(read_conditions(condition_csv(folder / "a.csv"), time=None, value=None))
    return profile_words.document(found), condition_document(found)


def history(_folder: Path) -> Made:
    """Three benchmarks over forty commits: a step, a line, and one that is too short."""
    times = [
        Measurement("parse", "ns", "lower", "parse", "", f"{at:08x}", None, 100.0 + at % 3 + 12 * (at >= 25))
        for at in range(40)
    ]
    drifting = [
        replace(each, metric="render", subject="render", value=200.0 + 2 * at + at % 3)
        for at, each in enumerate(times)
    ]
    short = [replace(each, metric="size", subject="size") for each in times[:6]]
    commits = [each.commit for each in times]
    found = history_of(
        [*times, *drifting, *short], "commit", commits, "by commit, in the order of their dates", ("a note",)
    )
    return history_words.document(found), history_document(found)


def path_profile(folder: Path) -> Made:
    file = write_conditions(folder / "x.conditions.csv", day_of_path(0.2))
    margins: dict[Kind, Extent] = {"delay": Extent(5.0, relative=True)}
    found = profile_of_path(file, read_conditions_of_path(file), Round(4, 60.0, 74.0), margins)
    return path_profile_words.document(found), condition_document(found)


def runtime(folder: Path) -> Made:
    table = read_conditions(
        pilot_csv(folder / "p.csv", seeds=(4, 5)), time="time", value="throughput", trial="trial"
    )
    found = runtime_advice("p.csv", pilots_of_table(table, Question()))
    return runtime_words.document(found), condition_document(found)


def observe(folder: Path) -> Made:
    trials = bench(1, rounds=20, sides=False, treatments=("x=1", "x=2"))
    found = observed(trials, "x", "1")
    return observe_words.document(found), observe_document(found)


def effects(folder: Path) -> Made:
    slower = normal(1, lambda levels: 8.0 if levels["flavour"] == "<b>" and levels["load"] == 10 else 0.0)
    trials = trial_set({"flavour": ["none", "<b>"], "load": [1, 10]}, slower)
    found = analyse_effects(
        factor_trials(trials), EffectsOptions(margins={"delay": Extent(5, relative=True)})
    )
    return effects_words.document(found), effects_document(found)


def compared(folder: Path) -> Made:
    commands = {"x": (1.0, 0.01, 20), "y": (2.0, 0.1, 20), "z": (3.0, 0.1, 1)}
    base = hyperfine(folder / "a.json", commands)
    head = hyperfine(folder / "b.json", commands | {"x": (1.2, 0.01, 20)}, seed=2)
    found = compare(read_trials(base), read_trials(head), CompareOptions(margin=Extent(5, relative=True)))
    return compare_words.document(found, has_gate=True), comparison_document(found)


def order(folder: Path) -> Made:
    found = analyse_order(fixed_and_random(1, shift=4.0))
    return order_words.document(found), order_document(found)


def plan(folder: Path) -> Made:
    experiment = parse_experiment(_PLANNED, folder / "planned.toml")
    summary = summarise(experiment, times=stated_times(experiment), budget=900.0, rounds_shown=2)
    return plan_words.document(summary, experiment, whole_order=False), plan_json(summary)


_PLANNED = """
[experiment]
name = "planned"
seed = 3
[factors]
time = [0.01, 0.02]
size = { draw = [1, 2, 3] }
[trial]
command = "sh -c 'sleep {time}; echo {size} > out'"
runtime = "10s"
[metrics.wall]
resource = "wall"
kpi = { percentile = 90 }
variability = {}
"""
_CLAIM = ClaimState(
    kind="metric", metric="p99_<b>", unit="s", subject="scheme=timely", what="p99 of all samples", asked="±8 %", state="open",
    verdict=None, estimate=3.1e-3, low=2.887e-3, high=3.358e-3, width=0.24e-3, target=0.25e-3, n=(305,), wanted=350, level="trial",
    confidence=95, method="Student's t", note="the tail is heavy", looks=24, wanted_low=320, wanted_high=390,
)  # fmt: skip
_KNOWN = replace(_CLAIM, subject="scheme=hpcc", state="decided", note="")
_STOPPING = StoppingDocument(
    "geometric", "looking", False, None, 305, 350, 900, 60.0, None, "", (_CLAIM, _KNOWN), ("a warning",), lifts=None
)  # fmt: skip


def status(folder: Path) -> Made:
    counts = {"finished": 609, "failed": 1, "running": 1, "planned": 1190}
    found = StatusDocument(
        name="tails_<b>", planned=1800, done=610, active=True, activity="running trial 611 (scheme=hpcc)", seconds_left=None,
        counts=counts, treatments={"scheme=timely": counts, "scheme=hpcc": {"finished": 305}},
        failures=[FailureDocument(7, 1, "scheme=timely", "failed", "ended with exit code 1: <b>")], events=[],
        workers=[WorkerDocument("ssh://node1", 610, 609, 1190, (611,), "")], stopping=_STOPPING,
    )  # fmt: skip
    return status_words.document(found, failed=1), asdict(found)


def run(folder: Path) -> Made:
    ended = replace(
        _STOPPING, reason="max_trials is reached (900 rounds): 1 of 2 claims known", lifts="ask for less"
    )
    found = RunDocument(
        "tails.results", "stopped", "every trial has run", {"finished": 1799, "failed": 1}, ended
    )
    document = status_words.ended_document(found, trials=1800, failed=1, tails=("a remark",), workers=())
    return document, asdict(found)


def simulate(folder: Path) -> Made:
    quantiles = tuple(QuantileDocument(rank, 1e-5 * rank, 1 + rank / 100) for rank in (50.0, 95.0, 99.0))
    classes = (
        ClassDocument("1 MB and more", 4, 1, quantiles),
        ClassDocument("all", 9, 1, quantiles),
    )
    counted = (
        "data_sent data_resent dropped_buffer dropped_link dropped_fault marks pauses peak_buffer hops events"
    )
    totals = {name: 10 ** (place % 5) for place, name in enumerate(counted.split())}
    found = SimulateDocument(
        topology="dumbbell:4x4,100Gbit/s,1us", controller="python:own:<b>", engine="trialwise", mode="default", seed=1, offered=None,
        cautions=("buffers are small",), simulated=0.0203, start_seconds=0.02, seconds=0.5, hops_per_second=2e6,
        totals=totals, classes=classes,
    )  # fmt: skip
    return simulate_words.document(found), asdict(found)


def path(folder: Path) -> Made:
    way = LinkDocument(
        arrived=1000, delivered=990, dropped=8, held=2, copied=0, changed=0, arrived_ecn=EcnDocument(1000, 0, 0, 0),
        delivered_ecn=EcnDocument(990, 0, 0, 0), delivered_bytes=1_485_000, unlogged=0, lateness_p99=0.00012, lateness_max=0.0004,
    )  # fmt: skip
    found = PathDocument(0, 10.0, 0.1, True, None, way, way)
    return path_words.document(found), asdict(found)


MADE = {
    "order": order,
    "compare": compared,
    "effects": effects,
    "ab": ab,
    "ab-commands": ab_commands,
    "ab-suite": ab_suite,
    "aa": aa,
    "history": history,
    "profile": profile,
    "path-profile": path_profile,
    "runtime": runtime,
    "observe": observe,
    "certificate": certificate,
}
"""Of results, whose answer is a sentence that a method stands behind."""
STATES = {
    "plan": plan,
    "status": status,
    "run": run,
    "simulate": simulate,
    "path": path,
}
