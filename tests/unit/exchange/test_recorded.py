"""What files of other tools say of trials beside their values, and that every verb takes it."""

from __future__ import annotations

import json
import statistics
from pathlib import Path

import pytest
from scipy import stats

import in_process
from trialwise.errors import AnalysisError
from trialwise.exchange.result_files import read_results

HYPERFINE = Path(__file__).parent / "results" / "hyperfine-base.json"


def times() -> dict[str, list[float]]:
    found = json.loads(HYPERFINE.read_text())["results"]
    return {each["parameters"]["size"]: each["times"] for each in found}


def iperf3(rate: float, at: float, scheme: str) -> str:
    """Return what iperf3 prints with --json, as far as it is read."""
    total = {"start": 0, "end": 2, "seconds": 2, "bytes": int(rate / 4), "bits_per_second": rate}
    return json.dumps(
        {
            "start": {
                "version": "iperf 3.12",
                "timestamp": {"timesecs": at},
                "test_start": {"protocol": "TCP", "num_streams": 1, "duration": 2, "reverse": 0},
            },
            "intervals": [],
            "end": {
                "sum_sent": {**total, "retransmits": 0},
                "sum_received": total,
                "sender_tcp_congestion": scheme,
            },
        }
    )


def written(folder: Path, order: str) -> Path:
    """Write a file for each scheme of a list, a minute after the one before."""
    folder.mkdir()
    for number, scheme in enumerate(order.split()):
        path = folder / f"{scheme}_{number}.json"
        path.write_text(iperf3(1e7 + 1e5 * number, 1_790_000_000 + 60 * number, scheme))
    return folder


def test_effects_of_a_file_are_welchs(tmp_path: Path):
    """Of two treatments, Welch's F is the square of SciPy's t."""
    done = in_process.trialwise("effects", str(HYPERFINE), "--json", cwd=tmp_path)
    term = json.loads(done.stdout)["results"][0]["terms"][0]
    welch = stats.ttest_ind(*times().values(), equal_var=False)
    assert term["p_value"] == pytest.approx(welch.pvalue, rel=1e-9)
    assert term["f"] == pytest.approx(welch.statistic**2, rel=1e-9)


def test_a_bound_of_a_file_is_the_one_of_its_runs(tmp_path: Path):
    """A lower bound of the median of 12 runs at 95 %: the third smallest, by the binomial distribution."""
    place = next(k for k in range(12, 0, -1) if stats.binom.cdf(k - 1, 12, 0.5) <= 0.05)
    done = in_process.trialwise(
        "analyze", str(HYPERFINE), "--objective", "percentile=50,bound=lower", "--json", cwd=tmp_path
    )
    kpis = json.loads(done.stdout)["metrics"][0]["kpis"]
    expected = {f"size={size}": sorted(each)[place - 1] for size, each in times().items()}
    assert {kpi["treatment"]: kpi["result"]["value"] for kpi in kpis} == expected


def test_what_one_process_repeats_is_one_value(tmp_path: Path):
    """Two processes of pyperf with three values each are two values."""
    runs = [{"values": [1.0, 2.0, 3.0]}, {"values": [2.0, 4.0, 6.0]}]
    path = tmp_path / "pyperf.json"
    path.write_text(
        json.dumps(
            {"version": "1.0", "metadata": {"name": "b", "unit": "second"}, "benchmarks": [{"runs": runs}]}
        )
    )
    table = read_results([path]).units().table
    assert table["value"].to_list() == [2.0, 4.0]


def test_rounds_are_those_of_the_times(tmp_path: Path):
    found = read_results([written(tmp_path / "a", "bbr cubic cubic bbr bbr cubic")])
    places = [(turn.round, turn.position, turn.order) for turn in found.turns]
    assert places == [(str(n), p, "random") for n in (1, 2, 3) for p in (1, 2)]
    ran = found.order(("goodput",)).table
    assert ran["value"].to_list() == [1e7 + 1e5 * number for number in range(6)]
    fixed = read_results([written(tmp_path / "b", "bbr cubic bbr cubic")])
    assert {turn.order for turn in fixed.turns} == {"fixed"}


@pytest.mark.parametrize(
    ("order", "said"),
    [
        ("bbr bbr cubic cubic", "all trials of one treatment ran before those of the next"),
        ("bbr cubic cubic cubic bbr", "did not run in rounds"),
    ],
)
def test_an_order_without_rounds_is_refused(tmp_path: Path, order: str, said: str):
    found = read_results([written(tmp_path / "a", order)])
    with pytest.raises(AnalysisError, match=said):
        found.order()


def test_every_verb_takes_files_and_leaves_nothing_behind(tmp_path: Path):
    folder = written(tmp_path / "runs", "bbr cubic reno reno bbr cubic cubic reno bbr bbr reno cubic")
    for words in (
        ["analyze"],
        ["order", "--metric", "goodput"],
        ["effects", "--metric", "goodput"],
        ["aa", "--metric", "goodput", "--splits", "20"],
        ["compare", "--rank"],
        ["report", "-o", "page.html"],
    ):
        done = in_process.trialwise(words[0], "runs", *words[1:], cwd=tmp_path)
        assert done.returncode in (0, 3), (words, done.stderr)
    assert len(list(folder.iterdir())) == 12
    assert sorted(path.name for path in tmp_path.iterdir()) == ["page.html", "runs"]


def test_the_mean_is_the_same_everywhere(tmp_path: Path):
    looked = json.loads(in_process.trialwise("look", str(HYPERFINE), "--json", cwd=tmp_path).stdout)
    by_size = {row["treatment"]: row["mean"] for row in looked["groups"][0]["metrics"][0]["treatments"]}
    effects = json.loads(in_process.trialwise("effects", str(HYPERFINE), "--json", cwd=tmp_path).stdout)
    cells = effects["results"][0]["cells"]
    own = {f"size={size}": statistics.fmean(each) for size, each in times().items()}
    assert by_size == pytest.approx(own)
    assert sorted(cell["mean"] for cell in cells) == pytest.approx(sorted(own.values()))


def test_fixed_and_random_rounds_are_not_taken_for_one(tmp_path: Path):
    """OrderSage has both in one file: without its columns, fixed rounds would count as random ones."""
    rows = [
        "run_uuid,hostname,run_num,total_runs,test_command,test_number,order_number,order_type,completion_status,result"
    ]
    for run, (kind, tests) in enumerate((("fixed", "ab"), ("fixed", "ab"), ("random", "ba")), 1):
        rows += [
            f"u,h,{run},3,{test},{place},{place},{kind},Success,{run}.{place}"
            for place, test in enumerate(tests, 1)
        ]
    path = tmp_path / "x_all_test_results.csv"
    path.write_text("\n".join(rows) + "\n")
    found = read_results([path])
    assert len(found.trials.table) == 6
    with pytest.raises(AnalysisError, match="in fixed or in random order"):
        found.order()


def test_a_cycle_of_trials_is_found(tmp_path: Path):
    """Trials a minute apart whose value has a period of eight minutes, and a weak one of thirteen."""
    folder = tmp_path / "runs"
    folder.mkdir()
    for number in range(64):
        rate = 1e7 + (1e6 if number % 8 < 4 else 0) + 1e4 * (number * 7919 % 13)
        (folder / f"{number:02}.json").write_text(iperf3(rate, 1_790_000_000 + 60 * number, "cubic"))
    done = in_process.trialwise("profile", "runs", "--value", "goodput", "--json", cwd=tmp_path)
    periods = json.loads(done.stdout)["periods"]
    strongest = max(periods, key=lambda found: found["strength"])
    assert strongest["seconds"] == pytest.approx(480, rel=0.1)
