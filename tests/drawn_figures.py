"""Figures of every family, drawn by the commands that write them, for tests that hold of all of them."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from unittest.mock import patch

import numpy as np

from comparison_data import hyperfine, pantheon
from example_directory import analyse_example, write_example
from in_process import run, trialwise
from path_directory import analyse_paths, write_paths
from simulation_directory import simulation_text
from trialwise import statistics as st
from trialwise import study
from trialwise.analysis.estimation.results import SizeBin
from trialwise.report.document import Figure
from trialwise.report.figures import paint
from trialwise.report.figures.paths import PathBoard, course_figures, over_time_figures
from trialwise.report.figures.plot_data import ColumnData
from trialwise.report.figures.size_fit import write_size_fits
from trialwise.report.printed import print_figures

ROOT = Path(__file__).resolve().parents[1]
_SIMULATED = """
[metrics.p90]
quantity = "fct"
measure = "p90"
[metrics.single]
quantity = "fct"
estimand = "per_trial"
[metrics.slowdown]
quantity = "slowdown"
measure = "p99"
[design]
series = 1
rounds = 8
"""


@dataclass(frozen=True, slots=True)
class Drawn:
    """A file of figures: what it is called, its figures, their data, and how it was drawn."""

    name: str
    figures: tuple[Figure, ...]
    sheets: Mapping[str, ColumnData]
    svg: str


def drawn_figures(folder: Path) -> list[Drawn]:
    """Figures of every family, files of the commands in `folder`."""
    found: list[Drawn] = []
    for family in (_metrics, _paths, _simulations, _orders, _comparisons, _effects, _conditions, _single):
        with _recorded(family.__name__[1:], found):
            family(folder / family.__name__[1:])
    return found


@contextmanager
def _recorded(family: str, found: list[Drawn]) -> Iterator[None]:
    """Note what is drawn, which is drawn all the same."""
    draw = paint.svg

    def noted(figures: Sequence[Figure], sheets: Mapping[str, ColumnData]) -> str:
        made = draw(figures, sheets)
        found.append(Drawn(f"{family}-{len(found)}-{figures[0].key}", tuple(figures), dict(sheets), made))
        return made

    with patch.object(paint, "svg", noted):
        yield


def _metrics(folder: Path) -> None:
    """Trials that fail, many treatments of long names, three trials each, values that hardly differ."""
    long = tuple(f"algorithm-with-a-rather-long-name-{place}" for place in range(9))
    for name, options in {
        "some": {},
        "three": {"rounds": 3, "series": 1},
        "many": {"algorithms": long, "rounds": 8, "series": 1},
    }.items():
        path = write_example(folder / name / "results", **options)  # type: ignore[arg-type]
        analysis = analyse_example(path)
        one = replace(analysis, metrics=analysis.metrics[1:2])
        print_figures(one, folder / name / "svg", "svg", verdicts=study.verdict_view(path))


def _paths(folder: Path) -> None:
    some = write_paths(folder / "some", rates=("12Mbit/s", "24Mbit/s"), flows=2, invalid=(3,))
    many = write_paths(folder / "many", schemes=tuple(f"a-scheme-of-a-long-name-{n}" for n in range(10)))
    few = write_paths(folder / "few", rounds=3, kpi=False)
    for path in (some, many, few):
        analysis = analyse_paths(path)
        print_figures(analysis, folder / "svg" / path.name, "svg")
        assert analysis.path is not None
        board = PathBoard(analysis, analysis.path, {})
        for figure in course_figures(board):  # pages alone have these
            paint.svg([figure], board.sheets)
        paint.svg(over_time_figures(board, analysis.path.series[0]), board.sheets)


def _simulations(folder: Path) -> None:
    folder.mkdir(parents=True)
    file = folder / "experiment.toml"
    load = 'sizes = "websearch", load = "30%", duration = "2ms"'
    file.write_text(simulation_text(_SIMULATED, workload=load, topology="dumbbell:4x4,100Gbit/s,1us"))
    directory = study.run(file, folder / "results").directory
    analysis = study.analyse(directory)
    assert analysis.estimation is not None
    sized = replace(analysis.estimation, sizes=tuple(_size_bins(analysis.treatments)))
    print_figures(replace(analysis, estimation=sized), folder / "svg", "svg")
    for ending in ("svg", "png"):
        trialwise("runtime", directory, "--plot", folder / f"runtime.{ending}", cwd=folder)
    words = [
        "--topology",
        "dumbbell:4x4,10Gbit/s,1us",
        "--cc",
        "dctcp",
        "--load",
        "60%",
        "--sizes",
        "websearch",
    ]
    trialwise("simulate", *words, "--duration", "5ms", "--plot", folder / "queue.svg", cwd=folder)


def _size_bins(treatments: Sequence[str]) -> Iterator[SizeBin]:
    """What long simulations have: slowdowns of small and large flows."""
    rng = np.random.default_rng(3)
    for treatment in treatments:
        for low in (1_000, 10_000, 100_000, 1_000_000):
            trials = [1 + rng.exponential(low**0.2, 200) for _ in range(20)]
            quantiles = {f"p{level}": st.pooled_quantile(trials, level) for level in (50, 99)}
            yield SizeBin(treatment, low, 9 * low, 4000, quantiles)


def _orders(folder: Path) -> None:
    folder.mkdir(parents=True)
    made = run(["python", str(ROOT / "docs/how-to/order_trials.py")], folder)
    (folder / "trials.csv").write_text(made.stdout)
    trialwise("order", "trials.csv", "--svg", "trials", cwd=folder)
    for treatments, rounds in ((4, 6), (40, 8)):
        _orders_table(folder / f"{treatments}.csv", treatments, rounds)
        trialwise("order", f"{treatments}.csv", "--svg", str(treatments), cwd=folder)


def _orders_table(path: Path, treatments: int, rounds: int) -> None:
    """Rounds in a fixed order, in which everything is slower, and as many at random."""
    rng = np.random.default_rng(5)
    names = [f"a-treatment-of-a-long-name-{place}" for place in range(treatments)]
    with path.open("w", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["treatment", "order", "round", "position", "value"])
        for turn in range(2 * rounds):
            fixed = turn % 2 == 0
            order = range(treatments) if fixed else rng.permutation(treatments)
            for position, one in enumerate(order):
                value = 100 + one + (3 if fixed and one % 2 else 0) + rng.normal()
                rows.writerow([names[one], "fixed" if fixed else "random", turn, position, value])


def _comparisons(folder: Path) -> None:
    folder.mkdir(parents=True)
    commands = {f"a command of a long name, number {place}": (1.0 + place, 0.01, 20) for place in range(6)}
    hyperfine(folder / "base.json", commands | {"noisy": (2.0, 9.0, 5)})
    hyperfine(folder / "head.json", commands | {"noisy": (2.0, 9.0, 5)}, seed=2)
    trialwise("compare", "base.json", "head.json", "--margin", "3%", "--svg", "two", cwd=folder)
    pantheon(folder / "a", 10, 1)
    pantheon(folder / "b", 10, 2, 1.2)
    trialwise("compare", "a", "b", "--rank", "--svg", "ranks", cwd=folder)


def _effects(folder: Path) -> None:
    folder.mkdir(parents=True)
    made = run(["python", str(ROOT / "docs/how-to/factor_trials.py")], folder)
    (folder / "trials.csv").write_text(made.stdout)
    words = ["trials.csv", "--group", "flavour", "--group", "load", "--value", "delay"]
    trialwise("effects", *words, "--base", "flavour=none", "--margin", "3%", "--svg", "two", cwd=folder)
    rows = made.stdout.splitlines()
    kinds = [f"{row},{place % 2}" for place, row in enumerate(rows[1:])]
    (folder / "three.csv").write_text("\n".join([f"{rows[0]},kind", *kinds]) + "\n")
    trialwise("effects", "three.csv", *words[1:], "--group", "kind", "--svg", "three", cwd=folder)


def _conditions(folder: Path) -> None:
    folder.mkdir(parents=True)
    for script, name in (("link_quality.py", "quality.csv"), ("pilot.py", "pilot.csv")):
        made = run(["python", str(ROOT / "docs/how-to" / script)], folder)
        (folder / name).write_text(made.stdout)
    trialwise("profile", "quality.csv", "--value", "quality", "--plot", "profile.svg", cwd=folder)
    words = ["pilot.csv", "--value", "throughput", "--time", "time", "--trial", "trial"]
    trialwise("runtime", *words, "--plot", "runtime.svg", cwd=folder)


def _single(folder: Path) -> None:
    folder.mkdir(parents=True)
    (folder / "rates").write_text("\n".join(str(12 + 6 * np.sin(at / 159)) for at in range(1, 1001)) + "\n")
    trialwise("trace", "make", "--rates", "rates", "--out", "wave.trace", cwd=folder)
    trialwise("trace", "plot", "wave.trace", "--bin", "50ms", "--out", "wave.svg", cwd=folder)
    sizes, shares = np.array([1.0, 1e4, 1e6, 3e7]), np.array([0.0, 50.0, 80.0, 100.0])
    fits = [st.fit_sizes(sizes, shares, family) for family in st.FAMILIES]
    write_size_fits(folder / "sizes.svg", sizes, shares, fits, "sizes of a file")
