"""Every verb that concludes says the same of result files and of their import, apart from where the data come from."""

from __future__ import annotations

import csv
import io
import json
import random
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

import in_process

_TREATMENTS = ("bbr", "cubic")
_ROUNDS = 8
_PARTS = ("", "base-", "head-", "lone-")
_BOTH = ("q-raw", "q-imp")
"""Names of equal length, so that tables are as wide."""


def _iperf3(rate: float, at: float, scheme: str) -> str:
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


def _rates() -> list[tuple[str, float]]:
    draw = random.Random(4)
    rounds = [draw.sample(_TREATMENTS, 2) for _ in range(_ROUNDS)]
    return [
        (scheme, 1e7 * draw.gauss(1.1 if scheme == "bbr" else 1, 0.05)) for each in rounds for scheme in each
    ]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with all files, two halves and the files of one treatment, and an import of each."""
    place = tmp_path_factory.mktemp("verbs")
    for part in _PARTS:
        (place / f"{part}q-raw").mkdir()
    for number, (scheme, rate) in enumerate(_rates()):
        text = _iperf3(rate, 1_790_000_000 + 60 * number, scheme)
        half = "base-" if number < _ROUNDS else "head-"
        for part in ("", half, *(["lone-"] if scheme == "bbr" else [])):
            (place / f"{part}q-raw" / f"{scheme}_{number:02}.json").write_text(text)
    for part in _PARTS:
        done = in_process.trialwise("import", f"{part}q-raw", "-o", f"{part}q-imp", cwd=place)
        assert done.returncode == 0, done.stderr
    return place


@pytest.mark.parametrize(
    "words",
    [
        "analyze {} --json",
        "analyze {} --objective percentile=50 --json",
        "analyze {}",
        "analyze {} --csv",
        "compare base-{} head-{} --margin 3% --json",
        "compare {} --a congestion=bbr --b congestion=cubic --json",
        "order {} --json",
        "order {}",
        "effects {} --margin 3% --json",
        "effects {}",
        "profile lone-{} --value goodput --json",
        "aa {} --splits 50 --json",
        "report {} --out {}.html",
    ],
)
def test_a_verb_says_the_same_of_files_and_of_their_import(words: str, place: Path) -> None:
    of_files, of_import = (_said(words, name, place) for name in _BOTH)
    assert of_files == of_import


def _said(words: str, name: str, place: Path) -> str:
    done = in_process.trialwise(*words.replace("{}", name).split(), cwd=place)
    assert done.returncode in (0, 3), done.stderr
    page = place / f"{name}.html"
    text = page.read_text() if words.startswith("report") else done.stdout
    assert text
    return text.replace(str(place), "").replace(name, "DATA")


@pytest.fixture(scope="module")
def means(place: Path) -> dict[str, Any]:
    done = in_process.trialwise("analyze", "q-raw", "--json", cwd=place)
    (metric,) = (one for one in json.loads(done.stdout)["metrics"] if one["metric"]["unit"] == "bit/s")
    return {each["treatment"]: each for each in metric["means"]}


@pytest.mark.parametrize("scheme", _TREATMENTS)
def test_means_without_a_kpi_have_the_intervals_of_scipy(scheme: str, means: dict[str, Any]) -> None:
    """Student's interval of the mean; of the median of 8 values, the second and seventh miss 0.0703, so the first and last."""
    values = np.array([rate for name, rate in _rates() if name == scheme])
    (found,) = (each for name, each in means.items() if name.endswith(scheme))
    low, high = stats.t.interval(0.95, len(values) - 1, values.mean(), stats.sem(values))
    assert found["n"] == _ROUNDS
    assert (found["interval"]["low"], found["interval"]["high"]) == pytest.approx((low, high), rel=1e-9)
    assert (found["median_interval"]["low"], found["median_interval"]["high"]) == (values.min(), values.max())


def test_look_has_the_means_of_analyze(place: Path, means: dict[str, Any]) -> None:
    done = in_process.trialwise("look", "q-raw", "--json", cwd=place)
    (metric,) = (one for one in json.loads(done.stdout)["groups"][0]["metrics"] if one["unit"] == "bit/s")
    told = sorted((each["mean"], each["low"], each["high"]) for each in metric["treatments"])
    expected = sorted(
        (each["mean"], each["interval"]["low"], each["interval"]["high"]) for each in means.values()
    )
    assert told == expected


def _text(page: Path) -> str:
    """Return the words of a page, without its scripts and styles."""
    kept = re.sub(r"<(script|style).*?</\1>", "", page.read_text(), flags=re.DOTALL)
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", "", kept))


def test_a_report_without_objectives_begins_with_the_answer_of_compare(place: Path) -> None:
    """The change and what decides it: Welch's test of SciPy, Holm over two metrics; retransmits are all 0 and have no difference."""
    page = place / "answer.html"
    assert in_process.trialwise("report", "q-raw", "-o", page, cwd=place).returncode == 0
    bbr, cubic = (np.array([rate for name, rate in _rates() if name == scheme]) for scheme in _TREATMENTS)
    assert 2 * stats.ttest_ind(bbr, cubic, equal_var=False).pvalue < 0.05
    (first,) = re.findall(r"bbr has the higher goodput.*?against cubic; .*?Fieller", _text(page))
    compared = in_process.trialwise(
        "compare", "q-raw", "--a", "congestion=cubic", "--b", "congestion=bbr", "--json", cwd=place
    )
    (row,) = (row for row in json.loads(compared.stdout)["rows"] if row["metric"] == "goodput")
    change = row["difference"]["percent"]
    assert change["estimate"] == pytest.approx(100 * (bbr.mean() / cubic.mean() - 1), rel=1e-5)
    shown = [float(text) for text in re.findall(r"[+-][0-9.]+", first)]
    assert shown == pytest.approx([change[key] for key in ("estimate", "low", "high")], abs=0.06)
    assert "n = 8 and 8 trials" in first


def test_an_analysis_without_objectives_begins_as_the_report_does(place: Path) -> None:
    assert in_process.trialwise("report", "q-raw", "-o", "first.html", cwd=place).returncode == 0
    analysed = in_process.trialwise("analyze", "q-raw", cwd=place)
    (said,) = re.findall(r"^bbr has the higher goodput.*?Fieller", analysed.stdout)
    assert said in _text(place / "first.html")


def test_a_margin_of_a_report_is_that_of_compare(place: Path) -> None:
    """The rates of these files are the same within 90 % of their mean; a metric that does not exist is refused."""
    for margin in ("90%", "goodput=90%"):
        written = in_process.trialwise("report", "q-raw", "-o", "margin.html", "--margin", margin, cwd=place)
        assert written.returncode == 0
    assert "have the same goodput within δ = 90 %" in _text(place / "margin.html")
    refused = in_process.trialwise("report", "q-raw", "-o", "no.html", "--margin", "rate=3%", cwd=place)
    assert (refused.returncode, "there is no such metric" in refused.stderr) == (2, True)
    assert not (place / "no.html").exists()


def test_the_answer_of_a_report_is_that_of_look(tmp_path: Path) -> None:
    """The best of three was chosen, so its interval holds for all three pairs together in both; bounds are rounded outward."""
    draw = random.Random(5)
    results = [
        {
            "command": name,
            "mean": mean,
            "times": [draw.gauss(mean, 0.03) for _ in range(9)],
            "exit_codes": [0] * 9,
        }
        for name, mean in (("slow", 1.3), ("fast", 1.0), ("middle", 1.1))
    ]
    (tmp_path / "h.json").write_text(json.dumps({"results": results}))
    looked = in_process.trialwise("look", "h.json", "--json", cwd=tmp_path)
    (answer,) = json.loads(looked.stdout)["groups"][0]["metrics"][0]["answers"]
    assert in_process.trialwise("report", "h.json", "-o", "h.html", cwd=tmp_path).returncode == 0
    (first,) = re.findall(
        r"fast has the lower time: (.*?) against middle; (.*?),", _text(tmp_path / "h.html")
    )
    shown = [float(text) for text in re.findall(r"-[0-9.]+", first[0])]
    assert shown == pytest.approx([answer[key] for key in ("change", "low", "high")], abs=0.1)
    assert "interval for all 3 pairs together" in first[1]


_SUITE = (
    "goos: linux\npkg: p\n" + "".join(f"Benchmark{name}-2 100 {{{name}}} ns/op\n" for name in "AB") + "PASS\n"
)


@pytest.fixture(scope="module")
def suites(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six runs of a suite of two benchmarks by each of two versions: B takes ten times as long as A, and new is faster in A alone."""
    place, draw = tmp_path_factory.mktemp("suites"), random.Random(2)
    for side, factor in (("old", 1.0), ("new", 0.8)):
        for run in range(6):
            a, b = 100 * factor * draw.gauss(1, 0.01), 1000 * draw.gauss(1, 0.01)
            (place / f"{side}_{run}.txt").write_text(_SUITE.format(A=f"{a:.3f}", B=f"{b:.2f}"))
    return place


def test_a_report_of_a_suite_holds_each_benchmark_against_itself(suites: Path) -> None:
    page = suites.parent / "suite.html"
    assert in_process.trialwise("report", suites, "-o", page, cwd=suites.parent).returncode == 0
    text = _text(page)
    assert "2 comparisons: 1 different" in text
    assert re.search(r"A · p · 2 · new has the lower ns/op: -(19|20|21)", text)


def test_effects_of_a_suite_take_each_benchmark_by_itself(suites: Path) -> None:
    """Two parts of two treatments: were benchmarks a factor, there would be an interaction, and five differences."""
    done = in_process.trialwise("effects", suites, "--json", cwd=suites.parent)
    found = json.loads(done.stdout)
    assert found["by"] == ["benchmark"]
    assert [one["part"] for one in found["results"]] == [{"benchmark": "A"}, {"benchmark": "B"}]
    assert [one["factors"] for one in found["results"]] == [["part1"], ["part1"]]
    alone = in_process.trialwise("effects", *suites.glob("old_*"), cwd=suites.parent)
    assert (alone.returncode, "says what was measured" in alone.stderr) == (7, True)


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table of 14 metrics of two treatments, of which the last alone differs, and the one before it a little."""
    path = tmp_path_factory.mktemp("many") / "many.csv"
    draw = random.Random(1)
    names = [f"m{place:02}" for place in range(14)]
    shifts = dict.fromkeys(names, 0.0) | {"m13": 30.0, "m12": 6.0}
    rows = [
        ",".join(
            [scheme, *(f"{100 + (scheme == 'b') * shifts[name] + draw.gauss(0, 2):.4f}" for name in names)]
        )
        for _ in range(8)
        for scheme in "ab"
    ]
    path.write_text("\n".join([",".join(["scheme", *names]), *rows]))
    return path


def _values() -> list[str]:
    return [word for place in range(14) for word in ("--value", f"m{place:02}")]


def test_effects_of_many_metrics_are_a_row_each_with_the_largest_first(many: Path) -> None:
    words = ("effects", many, "--group", "scheme", *_values())
    brief, full = (in_process.trialwise(*words, *more, cwd=many.parent).stdout for more in ((), ("--full",)))
    rows = [line.split()[0] for line in brief.splitlines() if line.startswith("  m") and "scheme" in line]
    assert rows[:2] == ["m13", "m12"]
    assert sorted(rows) == [f"m{place:02}" for place in range(14)]
    assert "Treatments" not in brief
    assert full.count("Treatments") == 14


def test_a_report_of_many_metrics_draws_the_first_and_says_so(many: Path) -> None:
    words = ("report", many, "--group", "scheme", *_values(), "--objective", "m13=percentile=50")
    done = in_process.trialwise(*words, "-o", "page.html", cwd=many.parent)
    assert done.returncode == 0, done.stderr
    page = (many.parent / "page.html").read_text()
    assert (
        "12 metrics are drawn, those with a KPI first; the trials and tests of independence of the other 2"
        in page
    )


def test_look_writes_the_long_table_of_import(place: Path) -> None:
    """A header, and a row for each metric of each of the 16 trials."""
    for verb in ("look", "import"):
        done = in_process.trialwise(verb, "q-raw", "--csv", f"{verb}.csv", cwd=place)
        assert done.returncode == 0, done.stderr
    text = (place / "look.csv").read_text()
    assert text == (place / "import.csv").read_text()
    goodputs = [row for row in csv.DictReader(io.StringIO(text)) if row["metric"] == "goodput"]
    assert sorted(float(row["value"]) for row in goodputs) == pytest.approx(
        sorted(rate for _, rate in _rates()), rel=1e-6
    )


@pytest.mark.parametrize(
    "words", ["aa q-raw --splits 50 --json", "profile lone-q-raw --value goodput --json"]
)
def test_names_of_files_give_factors(words: str, place: Path) -> None:
    done = in_process.trialwise(*words.split(), "--factor", "{who}_{rep}.json", cwd=place)
    assert done.returncode == 0, done.stderr
    wrong = in_process.trialwise(*words.split(), "--factor", "{who}.txt", cwd=place)
    assert wrong.returncode != 0
    assert "{who}.txt" in wrong.stderr
