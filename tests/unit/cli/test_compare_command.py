"""`trialwise compare`: what it says, its files and its exit codes."""

import csv
import json
from pathlib import Path

import jsonschema
import numpy as np
import pytest
from scipy import stats

from comparison_data import hyperfine, pantheon
from example_directory import write_example
from in_process import trialwise
from trialwise import statistics as st

ROOT = Path(__file__).resolve().parents[3]
BENCHER = {
    "type": "object",
    "patternProperties": {
        ".+": {
            "type": "object",
            "patternProperties": {
                ".+": {
                    "type": "object",
                    "properties": {
                        key: {"type": "number"} for key in ("value", "lower_value", "upper_value")
                    },
                    "required": ["value"],
                }
            },
        }
    },
}
"""The schema of https://bencher.dev/bmf.json."""


def run(*arguments, cwd):
    return trialwise("compare", *arguments, cwd=cwd)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("compare")
    pantheon(path / "a", 10, 1)
    pantheon(path / "b", 10, 2, 1.2)
    pantheon(path / "once", 1, 3)
    hyperfine(path / "base.json", {"x": (1.0, 0.01, 20), "y": (2.0, 0.02, 20)})
    hyperfine(path / "same.json", {"x": (1.0, 0.01, 20), "y": (2.0, 0.02, 20)}, seed=2)
    hyperfine(path / "slow.json", {"x": (1.2, 0.01, 20), "y": (2.0, 0.02, 20)}, seed=3)
    hyperfine(path / "fast.json", {"x": (0.8, 0.01, 20), "y": (2.0, 0.02, 20)}, seed=4)
    hyperfine(path / "noisy.json", {"x": (1.0, 0.5, 20), "y": (2.0, 0.02, 20)}, seed=5)
    hyperfine(path / "other.json", {"z": (1.0, 0.5, 20), "w": (2.0, 0.02, 20)}, seed=5)
    return path


@pytest.mark.parametrize(
    ("head", "code", "said"),
    [
        ("same.json", 0, "Gate passed: every row is equivalent or better"),
        ("slow.json", 1, "Gate failed: time of command=x is different for the worse"),
        ("fast.json", 0, "Gate passed"),
        ("noisy.json", 3, "Gate undecided: time of command=x"),
    ],
)
def test_the_gate(folder, head, code, said):
    done = run("base.json", head, "--margin", "5%", "--gate", cwd=folder)
    assert done.returncode == code
    assert said in done.stdout
    assert run("base.json", head, "--margin", "5%", cwd=folder).returncode == 0


def test_a_gate_over_a_metric_without_a_direction_fails_both_ways(folder):
    for head in ("slow.json", "fast.json"):
        (folder / f"{head}.csv").write_text(
            "\n".join(
                ["value,treatment"]
                + [
                    f"{t},{r['command']}"
                    for r in json.loads((folder / head).read_text())["results"]
                    for t in r["times"]
                ]
            )
        )
    done = run("slow.json.csv", "fast.json.csv", "--margin", "5%", "--gate", cwd=folder)
    assert done.returncode == 1
    assert "does not say which way is better" in done.stdout
    way = run("slow.json.csv", "fast.json.csv", "--margin", "5%", "--gate", "--better", "lower", cwd=folder)
    assert way.returncode == 0


def test_a_gate_without_a_margin_says_why_it_is_undecided(folder):
    done = run("base.json", "same.json", "--gate", cwd=folder)
    assert done.returncode == 3
    assert "without a margin nothing can be equivalent" in done.stdout
    assert "try --margin 3%" in done.stdout


def test_the_document_follows_its_schema_and_has_what_the_library_says(folder):
    done = run("base.json", "slow.json", "--margin", "5%", "--rank", "--json", cwd=folder)
    document = json.loads(done.stdout)
    jsonschema.validate(document, json.loads((ROOT / "schemas/comparison.json").read_text()))
    first = document["rows"][0]
    times = [
        json.loads((folder / name).read_text())["results"][0]["times"] for name in ("base.json", "slow.json")
    ]
    wanted = st.difference(*times, margin=5, relative=True)
    assert first["difference"]["welch"]["low"] == pytest.approx(wanted.welch.low, rel=1e-12)
    assert first["difference"]["ratio"]["high"] == pytest.approx(wanted.ratio.high, rel=1e-12)
    assert first["verdict"] == "different"
    assert first["direction"] == "worse"
    assert (first["level"], first["n"]) == ("trial", [20, 20])
    assert document["gate"]["failing"] == [0]
    assert [ranking["side"] for ranking in document["rankings"]] == ["base.json", "slow.json"]


def test_files(folder):
    names = {"--markdown": "o.md", "--junit": "o.xml", "--bmf": "o.bmf", "--csv": "o.csv", "--latex": "o.tex"}
    options = [part for pair in names.items() for part in pair]
    done = run("base.json", "slow.json", "--margin", "5%", "--svg", "figures", *options, cwd=folder)
    assert all(f"wrote {name}" in done.stderr for name in names.values())
    times = json.loads((folder / "slow.json").read_text())["results"][0]["times"]
    bencher = json.loads((folder / "o.bmf").read_text())
    jsonschema.validate(bencher, BENCHER)
    mean = st.mean_interval(times)
    assert bencher["command=x"]["time"] == {
        "value": pytest.approx(mean.estimate), "lower_value": pytest.approx(mean.low), "upper_value": pytest.approx(mean.high)
    }  # fmt: skip
    rows = list(csv.DictReader((folder / "o.csv").read_text().splitlines()))
    assert [row["verdict"] for row in rows] == ["different", "equivalent"]
    assert float(rows[0]["mean_b"]) == pytest.approx(mean.estimate)
    assert (folder / "o.tex").read_text().count(r"\\") == 3
    assert "**different, worse**" in (folder / "o.md").read_text()
    assert "</svg>" in (folder / "figures/differences-time.svg").read_text()


def test_markdown_may_fill_the_output(folder):
    done = run("base.json", "noisy.json", "--margin", "5%", "--gate", "--markdown", "-", cwd=folder)
    assert done.returncode == 3
    assert done.stdout.startswith("### ❔ 2 comparisons: 1 equivalent, 1 undecided.\n")
    assert "gate undecided" in done.stderr


def test_two_sets_of_treatments_of_one_place(folder):
    done = run(
        "a", "--a", "scheme=vegas", "--b", "scheme=bbr", "--margin", "pantheon_delay=5", "--json", cwd=folder
    )
    rows = {row["metric"]: row for row in json.loads(done.stdout)["rows"]}
    assert rows["pantheon_throughput"]["direction"] == "better"
    assert rows["pantheon_delay"]["difference"]["margin"] == 5
    assert rows["pantheon_delay"]["treatment"] == "-"


def test_one_run_on_a_side_is_no_inference_and_the_table_stands(folder):
    done = run("a", "once", "--margin", "5%", "--gate", cwd=folder)
    assert done.returncode == 3
    assert "12 comparisons: 12 without inference" in done.stdout
    assert "no inference from 10 and 1 trials: each side takes at least two" in done.stdout


def test_ranks_of_one_place(folder):
    done = run("a", "--rank", "--svg", "ranks", cwd=folder)
    assert done.returncode == 0
    assert "Ranks in a: pantheon_throughput [Mbit/s], higher is better" in done.stdout
    assert {path.name for path in (folder / "ranks").iterdir()} >= {
        "plane-a.svg",
        "ranks-a-pantheon_delay.svg",
    }
    document = json.loads(run("a", "--rank", "--json", cwd=folder).stdout)
    jsonschema.validate(document, json.loads((ROOT / "schemas/comparison.json").read_text()))
    assert document["b"] is None
    front = run(
        "a", "--rank", "--metric", "pantheon_throughput", "--metric", "pantheon_delay", "--json", cwd=folder
    )
    pareto = json.loads(front.stdout)["rankings"][0]["pareto"]
    assert pareto["members"] == ["scheme=cubic", "scheme=bbr", "scheme=vegas"]
    assert pareto["excluded"] == {"scheme=quic": ["scheme=vegas", "scheme=bbr"]} or list(
        pareto["excluded"]
    ) == ["scheme=quic"]


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["base.json"], 2, "one side only"),
        (["base.json", "base.json"], 2, "are the same"),
        (["base.json", "nowhere"], 7, "no such file"),
        (["base.json", "other.json"], 7, "no treatment in common"),
        (["base.json", "slow.json", "--margin", "3"], 0, ""),
        (["base.json", "slow.json", "--margin", "wide"], 2, "--margin wide"),
        (["base.json", "slow.json", "--margin", "speed=3%"], 2, "there is no such metric"),
        (["base.json", "slow.json", "--margin", "3%", "--margin", "4%"], 2, "two are for all metrics"),
        (["base.json", "slow.json", "--metric", "speed"], 7, "no metric speed"),
        (["base.json", "slow.json", "--better", "time=up"], 2, "higher or lower"),
        (["base.json", "slow.json", "--confidence", "40"], 2, "above 50"),
        (["a", "--a", "scheme=tahoe", "--b", "scheme=bbr"], 7, "no level 'tahoe'"),
        (["a", "--a", "scheme=bbr"], 2, "one side only is chosen"),
        (["a", "--a", "bbr", "--b", "scheme=cubic"], 2, "FACTOR=LEVEL"),
        (["a", "b", "--paper", "--rank"], 2, "--paper has no ranks"),
        (["a", "--rank", "--gate"], 2, "--gate is for a comparison"),
        (["a", "--rank", "--margin", "3%"], 2, "--margin is for a comparison"),
        (["a", "--rank", "--csv", "x.csv"], 2, "--csv is for a comparison"),
        (["a", "--rank", "--markdown", "-"], 2, "--markdown is for a comparison"),
        (["a", "b", "--undecided-passes"], 2, "--undecided-passes is only valid with --gate"),
        (["base.json", "slow.json", "--csv", "no/where.csv"], 2, "no folder"),
        (["base.json", "slow.json", "--value", "x"], 7, "is no table"),
    ],
)
def test_wrong_use_is_said_plainly(folder, arguments, code, said):
    done = run(*arguments, cwd=folder)
    assert done.returncode == code
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_values_that_never_vary_are_judged_and_a_margin_of_nothing_is_said(folder):
    (folder / "c1.csv").write_text("treatment,value\n" + "a,5\n" * 6 + "b,0\n" * 6 + "c,5\n" * 6)
    (folder / "c2.csv").write_text("treatment,value\n" + "a,5\n" * 6 + "b,0\n" * 6 + "c,6\n" * 6)
    done = run("c1.csv", "c2.csv", "--margin", "3%", "--better", "lower", cwd=folder)
    assert "3 comparisons: 1 different (1 worse), 1 equivalent, 1 undecided" in done.stdout
    assert "3 % of a mean of 0 is not a valid margin; give it in the unit: --margin value=0.1" in done.stdout
    absolute = run("c1.csv", "c2.csv", "--margin", "value=0.1", "--gate", "--better", "lower", cwd=folder)
    assert "1 different (1 worse), 2 equivalent" in absolute.stdout
    assert absolute.returncode == 1


def test_the_same_data_twice_are_noticed(folder):
    (folder / "copy.json").write_text((folder / "base.json").read_text())
    done = run("base.json", "copy.json", "--margin", "3%", cwd=folder)
    assert "copy.json: 2 of 2 rows have the very values of base.json: the same data twice?" in done.stdout
    assert "same data" not in run("base.json", "same.json", "--margin", "3%", cwd=folder).stdout


def test_units_that_differ_refuse_their_metric_alone(folder):
    rows = [f"q,ms,{5 + place / 10}" for place in range(6)]
    for name, unit in (("u1.csv", "ms"), ("u2.csv", "s")):
        other = [f"t,{unit},{5 + place / 10}" for place in range(6)]
        (folder / name).write_text("\n".join(["metric,unit,value", *rows, *other]))
    done = run("u1.csv", "u2.csv", "--margin", "50%", cwd=folder)
    assert "2 comparisons: 1 equivalent, 1 without inference" in done.stdout
    assert (
        "t of u2.csv against u1.csv: one side is in ms, the other in s: bring both to one unit" in done.stdout
    )


def test_experiment_directories(folder):
    for name, seed in (("one.results", 7), ("two.results", 8)):
        write_example(folder / name, rounds=4, series=2, seed=seed)
    done = run("one.results", "two.results", "--metric", "speed", "--json", cwd=folder)
    document = json.loads(done.stdout)
    assert (document["a"], document["b"]) == ("one.results", "two.results")
    assert {row["level"] for row in document["rows"]} == {"boot"}
    assert any("1 trial failed" in note for note in document["notes"]["one.results"])
    columns = run("one.results", "two.results", "--value", "speed", cwd=folder)
    assert (columns.returncode, "is an experiment directory" in columns.stderr) == (7, True)


def test_a_noise_floor_stands_beside_each_row(tmp_path):
    """Every directory of trials can be a ruler; the example's sides do not differ but by chance."""
    for name, seed in (("one", 1), ("two", 2)):
        write_example(
            tmp_path / name / "e.results", algorithms=("xz",), levels=(1,), series=1, rounds=30, seed=seed
        )
    sides = (
        "one/e.results",
        "two/e.results",
        "--metric",
        "speed",
        "--level",
        "trial",
        "--floor",
        "one/e.results",
    )
    told = run(*sides, cwd=tmp_path)
    assert told.returncode == 0, told.stderr
    assert "noise floor" in told.stdout
    (row,) = json.loads(run(*sides, "--json", cwd=tmp_path).stdout)["rows"]
    assert row["floor"]["value"] > 0
    assert row["floor"]["source"] == "one/e.results"
    if abs(row["difference"]["welch"]["estimate"]) <= row["floor"]["value"]:
        assert row["verdict"] != "different"


def test_a_floor_that_is_no_directory_is_refused(tmp_path):
    write_example(tmp_path / "e.results", algorithms=("xz",), levels=(1, 6), series=1, rounds=5)
    done = run("e.results", "--a", "level=1", "--b", "level=6", "--floor", "nothing", cwd=tmp_path)
    assert done.returncode == 5
    assert "nothing" in done.stderr


@pytest.mark.parametrize("columns", ["60", "100", "400"])
def test_long_names_are_whole_whatever_the_width(tmp_path, columns):
    """In a pipe in one line: its middle may be all that tells two names from each other."""
    names = [f"command=./a {'x' * 30} {size} {'y' * 30}" for size in ("small", "large")]
    rows = [
        f"{name.partition('=')[2]},{side},{1 + place % 3 + (side == 'b')}"
        for name in names
        for side in "ab"
        for place in range(8)
    ]
    (tmp_path / "t.csv").write_text("command,side,time\n" + "\n".join(rows) + "\n")
    done = trialwise(
        "compare", "t.csv", "--value", "time", "--group", "command", "--group", "side", "--a", "side=a", "--b", "side=b",
        "--better", "lower", "--rank", cwd=tmp_path, COLUMNS=columns,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "…" not in done.stdout
    for name in names:
        assert sum(name.partition("=")[2] in line for line in done.stdout.splitlines()) >= 3


def test_schemes_that_pantheon_calls_otherwise_are_matched(tmp_path):
    """Pantheon's default_tcp is cubic; bbr comes nearest to koho_cc; a side that has both names keeps them."""
    head = "scheme,metric,n,mean,sd\n"
    (tmp_path / "theirs.csv").write_text(
        head + "default_tcp,delay,9,50,1\nkoho_cc,delay,9,70,1\nvegas,delay,9,30,1\n"
    )
    (tmp_path / "ours.csv").write_text(head + "cubic,delay,9,51,1\nbbr,delay,9,71,1\nvegas,delay,9,31,1\n")
    for sides in (("theirs.csv", "ours.csv"), ("ours.csv", "theirs.csv")):
        done = run(*sides, "--json", cwd=tmp_path)
        rows = json.loads(done.stdout)["rows"]
        assert {row["treatment"] for row in rows} == {"scheme=default_tcp", "scheme=koho_cc", "scheme=vegas"}
    said = run("theirs.csv", "ours.csv", "--paper", cwd=tmp_path).stdout
    assert "ours.csv: cubic stands for default_tcp" in said
    assert "ours.csv: bbr is what comes nearest to koho_cc, which nobody published" in said
    (tmp_path / "both.csv").write_text(head + "default_tcp,delay,9,50,1\ncubic,delay,9,70,1\n")
    both = run("both.csv", "ours.csv", "--json", cwd=tmp_path)
    assert [row["treatment"] for row in json.loads(both.stdout)["rows"]] == ["scheme=cubic"]


def test_printed_results_against_trials(folder, tmp_path):
    """A side that is printed and one that has its trials: Welch's test from the numbers of both."""
    (tmp_path / "printed.csv").write_text(
        "command,metric,unit,better,n,mean,sd\nx,time,s,lower,20,1.2000,0.0100\n"
    )
    done = run(tmp_path / "printed.csv", "base.json", "--margin", "3%", "--json", cwd=folder)
    row = json.loads(done.stdout)["rows"][0]
    times = json.loads((folder / "base.json").read_text())["results"][0]["times"]
    theirs = stats.ttest_ind_from_stats(
        np.mean(times),
        np.std(times, ddof=1),
        20,
        1.2,
        np.hypot(0.01005, 0.00005 * (20 / 3) ** 0.5),
        20,
        equal_var=False,
    )
    assert (row["verdict"], row["n"]) == ("different", [20, 20])
    assert row["difference"]["p_value"] == pytest.approx(theirs.pvalue)


def test_rows_in_the_order_that_is_asked_for(tmp_path):
    hyperfine(tmp_path / "a.json", {"b": (1.0, 0.01, 20), "a": (2.0, 0.02, 20), "c": (1.0, 0.01, 20)})
    hyperfine(tmp_path / "b.json", {"b": (1.1, 0.01, 20), "a": (2.0, 0.02, 20), "c": (0.7, 0.01, 20)}, seed=2)

    def rows(sort):
        said = run("a.json", "b.json", "--margin", "5%", "--sort", sort, cwd=tmp_path).stdout
        return [line.split()[0] for line in said.splitlines() if line[:4] in ("  a ", "  b ", "  c ")][:3]

    assert rows("verdict") == ["b", "c", "a"]
    assert rows("change") == ["c", "b", "a"]
    assert rows("name") == ["a", "b", "c"]
    assert rows("metric") == ["b", "a", "c"]
    assert run("a.json", "b.json", "--sort", "size", cwd=tmp_path).returncode == 2


def test_files_from_two_machines_say_how_these_differ(tmp_path):
    for name, machine in (("a.txt", "AMD EPYC"), ("b.txt", "Intel Xeon")):
        lines = [f"BenchmarkSum\t100\t{50 + number % 3} ns/op" for number in range(6)]
        (tmp_path / name).write_text("\n".join(["goos: linux", f"cpu: {machine}", *lines, "PASS"]))
    said = run("a.txt", "b.txt", "--margin", "5%", "--level", "trial", cwd=tmp_path).stdout
    assert "cpu: AMD EPYC | Intel Xeon" in said
