"""Estimates of simulated trials against direct computation from their flow records."""

import dataclasses
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from document_text import piped
from flow_records import records_of
from simulation_directory import FILE, run_simulation
from trialwise import statistics as st
from trialwise import study
from trialwise.analysis.comparison.comparing import compare
from trialwise.analysis.comparison.ranking import rank
from trialwise.analysis.comparison.sides import selected
from trialwise.analysis.estimation.phases import phases_of
from trialwise.analysis.estimation.results import Estimation, MetricEstimate
from trialwise.errors import PlanError
from trialwise.exchange.comparison_json import comparison_document
from trialwise.experiment.engines import ENGINES
from trialwise.report.documents import compare as compare_words
from trialwise.study import stopping
from trialwise.trials import drawn_means, engine_lists, workloads
from trialwise.trials.simulating import simulate
from trialwise.trials.simulation_samples import metric_samples

SIDES = {"scheme": ["dctcp"]}, {"scheme": ["hpcc"]}


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run_simulation(tmp_path_factory.mktemp("small"))


@pytest.fixture(scope="module")
def records(directory: Path) -> dict[str, list[pl.DataFrame]]:
    """The flows of each trial by scheme, in the order of rounds."""
    _, _, ledger = study.open_directory(directory)
    found: dict[str, list[pl.DataFrame]] = {}
    for row in sorted(ledger.trials(), key=lambda row: row.round):
        file = directory / f"samples/{row.number:06d}-{row.attempt}-flows.parquet"
        found.setdefault(str(row.factors["scheme"]), []).append(pl.read_parquet(file))
    ledger.close()
    return found


def fct(frames: list[pl.DataFrame]) -> list[np.ndarray]:
    return [frame["fct_ps"].to_numpy() / 1e12 for frame in frames]


def estimation(directory: Path, **options: str) -> Estimation:
    found = study.analyse(directory, **options).estimation  # pyright: ignore[reportArgumentType]
    assert found is not None
    return found


def one(found: Estimation, metric: str, scheme: str = "hpcc") -> MetricEstimate:
    return next(
        each for each in found.estimates if (each.metric, each.treatment) == (metric, f"scheme={scheme}")
    )


def test_pooled_estimate_is_of_all_flows(directory: Path, records: dict[str, list[pl.DataFrame]]) -> None:
    found = one(estimation(directory), "p90")
    expected = st.pooled_quantile(fct(records["hpcc"]), 90)
    own = found.own
    assert own.estimand == "pooled"
    assert own.what == "p90 of all samples"
    assert (own.estimate, own.low, own.high) == (expected.estimate, expected.low, expected.high)
    assert (own.trials, own.samples) == (30, sum(map(len, records["hpcc"])))
    everything = np.sort(np.concatenate(fct(records["hpcc"])))
    assert own.estimate == everything[int(np.ceil(0.9 * everything.size)) - 1]


def test_other_estimand_stands_beside_it_by_name(
    directory: Path, records: dict[str, list[pl.DataFrame]]
) -> None:
    found = one(estimation(directory), "mean_fct")
    assert found.own.estimand == "per_trial"
    assert found.own.estimate == pytest.approx(np.mean([each.mean() for each in fct(records["hpcc"])]))
    assert found.other is not None
    assert found.other.estimand == "pooled"
    assert found.other.estimate == pytest.approx(np.concatenate(fct(records["hpcc"])).mean())
    assert one(estimation(directory), "peak_queue").other is None


def test_quantile_of_few_flows_is_refused_and_may_be_forced(tmp_path: Path) -> None:
    text = FILE.replace('measure = "p90"', 'measure = "p99"\nestimand = "per_trial"').replace(
        "rounds = 30", "rounds = 3"
    )
    with pytest.raises(PlanError, match="samples beyond it"):
        run_simulation(tmp_path, text)
    forced = tmp_path / "forced"
    forced.mkdir()
    text = text.replace('measure = "p99"', 'measure = "p99"\nfew_samples = "allow"')
    found = one(estimation(run_simulation(forced, text)), "p90").own
    assert found.estimate is not None
    assert "forced" in found.note


def test_treatments_are_paired_by_round(directory: Path, records: dict[str, list[pl.DataFrame]]) -> None:
    trials = study.comparison_set(directory)
    row = {row.metric.name: row for row in compare(*(selected(trials, side) for side in SIDES)).rows}
    assert all(each.units.paired and len(each.units.a) == 30 for each in row.values())
    means = [np.array([each.mean() for each in fct(records[name])]) for name in ("dctcp", "hpcc")]
    expected = st.paired_difference(*means).welch
    assert row["mean_fct"].difference is not None
    assert row["mean_fct"].difference.welch.low == pytest.approx(expected.low)
    pooled = row["p90"].difference
    assert pooled is not None
    values = [st.pooled_quantile(fct(records[name]), 90).estimate for name in ("dctcp", "hpcc")]
    assert pooled.welch.estimate == pytest.approx(values[1] - values[0])
    assert row["mean_fct"].pairing is not None
    assert row["mean_fct"].pairing.gain == pytest.approx(st.pairing_gain(*means).gain)


def test_unpaired_on_request(directory: Path) -> None:
    trials = study.comparison_set(directory, paired=False)
    rows = compare(*(selected(trials, side) for side in SIDES)).rows
    assert not any(row.units.paired or row.pairing for row in rows)
    assert {row.units.level for row in rows} == {"trial"}


def test_ranks_are_of_pairs(directory: Path) -> None:
    assert all("paired" in each.method for each in rank(study.comparison_set(directory)).metrics)
    assert all("Welch" in each.method for each in rank(study.comparison_set(directory, paired=False)).metrics)


def test_treatments_with_other_flows_are_not_paired(tmp_path: Path) -> None:
    text = FILE.replace('load = "50%"', 'load = "{load}"').replace(
        "[trial]", 'load = ["30%", "50%"]\n[trial]'
    )
    trials = study.comparison_set(run_simulation(tmp_path, text.replace("rounds = 30", "rounds = 3")))
    loads = [selected(trials, {"load": [load], "scheme": ["hpcc"]}) for load in ("30%", "50%")]
    schemes = [selected(trials, {"load": ["30%"], "scheme": [name]}) for name in ("dctcp", "hpcc")]
    assert not any(row.units.paired for row in compare(*loads).rows)
    assert all(row.units.paired for row in compare(*schemes).rows)


@pytest.mark.parametrize("kind", ["workload", "fluid"])
def test_controls_give_both_intervals(directory: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drawn_means, "MAX_LISTS", 20_000)
    found = one(estimation(directory, controls=kind), "mean_fct")
    assert found.controlled is not None, found.controls_note
    result = found.controlled.result
    assert result.plain.estimate == pytest.approx(found.own.estimate)
    assert not result.usable  # 30 trials: the plain interval is the one to use
    assert result.gain > 1
    assert found.controlled.kind == kind
    # Of fixed sizes the largest flow does not vary.
    assert "largest flow" not in found.controlled.features
    assert one(estimation(directory), "mean_fct").controlled is None


def test_controls_by_an_engine_of_single_lists(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second name for the fluid model: alone it does as well, beside that model it says nothing new."""
    monkeypatch.setattr(drawn_means, "MAX_LISTS", 20_000)
    monkeypatch.setattr(engine_lists, "FIRST", 30)
    monkeypatch.setattr(engine_lists, "LISTS", 80)
    monkeypatch.setattr(workloads, "LISTS", 80)
    fluid = ENGINES["fluid"]
    monkeypatch.setitem(ENGINES, "second", fluid)
    monkeypatch.setattr(
        engine_lists,
        "simulate",
        lambda trial, *given, **more: simulate(dataclasses.replace(trial, engine="fluid"), *given, **more),
    )
    for metric in ("mean_fct", "p90"):
        plain = one(estimation(directory, controls="fluid"), metric).controlled
        found = one(estimation(directory, controls="second"), metric).controlled
        assert plain is not None
        assert found is not None
        assert (found.kind, found.engine and found.engine.engine) == ("second", "second")
        ends = found.result.controlled
        assert ends.low <= plain.result.controlled.estimate <= ends.high
        assert 1 < found.result.gain < plain.result.gain  # of 80 lists the mean is known less well
        assert plain.engine is not None
        assert found.engine is not None
        assert found.engine.bias == plain.engine.bias
    both = one(estimation(directory, controls="fluid,second"), "mean_fct")
    assert both.controlled is not None
    assert [each.engine for each in both.controlled.engines] == ["fluid", "second"]
    assert both.controlled.dropped[-1] == "the metric by engine second from the same flows"


def test_slowdowns_have_a_bin_for_the_only_size(
    directory: Path, records: dict[str, list[pl.DataFrame]]
) -> None:
    bins = [each for each in estimation(directory).sizes if each.treatment == "scheme=hpcc"]
    assert [(each.low, each.high) for each in bins] == [(20_000, 20_000)]
    slowdowns = [frame["fct_ps"].to_numpy() / frame["ideal_ps"].to_numpy() for frame in records["hpcc"]]
    assert bins[0].quantiles["p99"].estimate == pytest.approx(st.pooled_quantile(slowdowns, 99).estimate)


def test_longer_trials_change_the_number_of_flows_only(directory: Path) -> None:
    advice = next(each for each in estimation(directory).durations if each.treatment == "scheme=hpcc")
    whole = next(step for step in advice.steps if step.duration == pytest.approx(1e-3))
    joined = [step for step in advice.steps if step.joined]
    assert [round(step.duration / 1e-3) for step in joined] == [2, 5]
    assert whole.pooled is not None
    assert all(step.pooled is not None and step.pooled.estimate == whole.pooled.estimate for step in joined)
    assert joined[1].flows_per_trial == pytest.approx(5 * whole.flows_per_trial)


def test_warm_up_ends_when_as_many_flows_end_as_begin() -> None:
    """A flow every 10 ms that takes 200 ms: 20 are active from 200 ms on, and the last ends 190 ms after a second."""
    start = np.arange(0, 1, 0.01)
    found = phases_of(records_of([start], [np.full(100, 0.2)]), 1.0)
    assert found.warmup_end == pytest.approx(0.19, abs=0.03)
    assert found.drain == pytest.approx(0.19)
    assert max(found.active) == 20


def test_no_stable_phase_while_flows_pile_up() -> None:
    start = np.arange(0, 1, 0.01)
    found = phases_of(records_of([start, start + 0.001], [np.full(100, 5.0)] * 2), 1.0)
    assert found.warmup_end is None
    assert found.growth is not None
    assert found.growth.estimate == pytest.approx(100, abs=5)


def test_comparisons_and_ranks_name_what_they_estimate(directory: Path) -> None:
    trials = study.comparison_set(directory)
    found = compare(*(selected(trials, side) for side in SIDES))
    named = {row.metric.name: row.metric.what for row in found.rows}
    assert named == {
        "p90": "p90 of all samples",
        "mean_fct": "mean over trials of each one's mean",
        "peak_queue": "mean over trials",
    }
    rows = {row["metric"]: row["what"] for row in comparison_document(found)["rows"]}
    assert rows == named
    text = piped(compare_words.document(found))
    assert "p90 [µs]: p90 of all samples, lower is better" in text
    ranks = piped(compare_words.ranking_document(rank(trials), ()))
    assert "p90 of all samples, lower is better" in ranks
    assert "mean " not in ranks.split("p90 of all samples")[1].splitlines()[1]


def test_comparison_says_that_a_forced_quantile_is_biased(tmp_path: Path) -> None:
    forced = FILE.replace('measure = "p90"', 'measure = "p99"\nestimand = "per_trial"\nfew_samples = "allow"')
    notes = study.comparison_set(run_simulation(tmp_path, forced)).notes
    (note,) = (note for note in notes if note.startswith("p90: "))
    assert "too few for its p99" in note
    assert "biased whatever" in note


@pytest.mark.parametrize(("looks", "held"), [("geometric", False), ("cceval", True)])
def test_estimates_that_were_looked_at_say_so(tmp_path: Path, looks: str, *, held: bool) -> None:
    stop = 'stop = { precision = "80%", of = "mean" }'
    text = FILE.replace('estimand = "per_trial"', f'estimand = "per_trial"\n{stop}').replace(
        "series = 1\nrounds = 30", f'looks = "{looks}"\nmax_trials = 40'
    )
    directory = run_simulation(tmp_path, text)
    found = estimation(directory)
    assert any("not run: it ends by itself" in note for note in study.comparison_set(directory).notes)
    (note,) = (note for note in (*found.notes, *found.remarks) if "said when to stop" in note)
    assert (note in found.notes) is held, "a warning only where the rule does not hold its level"
    assert f'looks = "{looks}"' in note
    assert "the report" not in note
    assert ("intervals held in 93" in note) is held


def test_a_pilot_chooses_levels_by_what_it_measures(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second name for the fluid model: cheap it is kept, with its share of lists; as dear as a trial and worthless it is not."""
    monkeypatch.setattr(drawn_means, "MAX_LISTS", 20_000)
    monkeypatch.setattr(engine_lists, "FIRST", 30)
    for module in (engine_lists, workloads):
        monkeypatch.setattr(module, "LISTS", 80)
    monkeypatch.setitem(ENGINES, "second", ENGINES["fluid"])
    seconds = {"trialwise": 1.0, "second": 0.01}
    noise = np.random.default_rng(1)

    def run(worthless: bool):
        def ran(lists: engine_lists.EngineLists, seed: int):
            engine = lists._trial.engine
            real = dataclasses.replace(lists._trial, engine="trialwise" if engine == "trialwise" else "fluid")
            if worthless and engine == "second":
                seed = int(noise.integers(2**62))
            found = simulate(real, lists._folder, flow_seed=seed, seed=seed)
            samples = tuple(metric_samples(metric, real, found).values for metric in lists._metrics)
            return engine_lists._Ran(samples, seconds[engine])

        monkeypatch.setattr(engine_lists.EngineLists, "_run", ran)

    def levels_of(controls: str):
        monkeypatch.setattr(stopping, "KeptEngines", lambda _: engine_lists.InMemory())
        found = one(estimation(directory, controls=controls, levels="auto"), "mean_fct").controlled
        assert found is not None
        assert found.levels is not None
        return found, found.levels

    run(worthless=False)
    found, levels = levels_of("second")
    assert found.kind == "second"
    assert [level.name for level in levels.levels] == ["trialwise", "second", "workload"]
    packets, second, lists = levels.levels
    assert (packets.lists, packets.seconds, second.seconds) == (200, pytest.approx(1.01), pytest.approx(0.01))
    assert lists.lists is None
    # n ∝ √(V/C), from the figures beside it; means are over at least 80 lists.
    wanted = 200 * np.sqrt(second.variance / packets.variance * packets.seconds / second.seconds)
    assert second.lists == pytest.approx(wanted, abs=1)
    assert found.generated == second.lists
    assert levels.gain is not None
    assert levels.gain > 1
    assert (levels.trials, levels.pilot, levels.dropped) == (200, 50, ())

    run(worthless=True)
    seconds["second"] = 1.0
    found, levels = levels_of("fluid,second")
    assert levels.dropped == ("second",)
    assert [level.name for level in levels.levels] == ["trialwise", "fluid"]
    assert (found.kind, [each.engine for each in found.engines]) == ("fluid", ["fluid"])
    assert one(estimation(directory, controls="fluid", levels="auto"), "mean_fct").controlled.levels is None  # pyright: ignore[reportOptionalMemberAccess]
