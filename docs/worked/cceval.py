"""The numbers of the page, from the values of trials that stand beside it.

trialwise analyze long.results --csv > long.csv
python cceval.py keep long.csv cceval-long-trials.csv      # a line for each round, in microseconds
python cceval.py counts cceval-long-trials.csv p99 1             # trials until the mean of per-trial p99 is known to 1 %
python cceval.py forecasts cceval-long-trials.csv p99 5          # how far forecasts of 20 trials are off
python cceval.py ten cceval-long-trials.csv large_p50 dcqcn hpcc
python cceval.py picture cceval-long-trials.csv large_p50 dcqcn hpcc ../images/cceval-ten-trials.svg
"""

import sys
from pathlib import Path

import altair as alt
import numpy as np
import polars as pl

from trialwise import statistics as st
from trialwise.report.document import Figure
from trialwise.report.figures import encodings
from trialwise.report.figures.paint import svg
from trialwise.report.figures.theme import NARROW

SCHEMES = ("dctcp", "dcqcn", "timely", "hpcc")
RED, BLUE, GREY = "#b2332e", "#1f5f99", "#777777"
BLOCK = 10


def keep(source: str, target: str, *metrics: str) -> None:
    """Write per-trial values of some metrics, or all, with a line for each round, in microseconds with four digits."""
    trials = pl.read_csv(source, infer_schema_length=None).drop_nulls("value")
    if metrics:
        trials = trials.filter(pl.col("metric").is_in(metrics))
    micros = pl.col("value").map_elements(lambda value: f"{value * 1e6:.4g}", return_dtype=pl.String)
    values = trials.with_columns(micros, name=pl.concat_str("metric", "scheme", separator="_"))
    names = [
        f"{metric}_{scheme}" for metric in trials["metric"].unique(maintain_order=True) for scheme in SCHEMES
    ]
    flows = trials.group_by("round").agg(pl.col("samples").max().alias("flows"))
    wide = flows.join(values.pivot("name", index="round", values="value"), on="round").sort("round")
    wide.select("round", "flows", *names).write_csv(target)


def counts(source: str, metric: str, precision: str) -> None:
    """Print for each scheme what the first 20 trials forecast (Eq. 3), where CCEval's rule stops (Eq. 2), where the default does."""
    print(
        f"{metric} to {precision} %, mean over trials   forecast of 20 (95 % interval)   CCEval's rule   geometric"
    )
    for scheme in SCHEMES:
        values = column(source, f"{metric}_{scheme}")
        start = st.sequential_mean(values[:20], float(precision), rule="cceval").forecast
        found = [reached(values, float(precision), rule) for rule in ("cceval", "geometric")]
        mean = st.mean_interval(values)
        print(
            f"{scheme:7} {mean.estimate:8.4g} us, CV {values.std(ddof=1) / values.mean():.2f}, n {values.size}"
            f"   {start.trials} ({start.low} to {start.high})   {found[0]}   {found[1]}"
        )


def reached(values: np.ndarray, precision: float, rule: str) -> str:
    """After how many of the trials a rule stops, or how many it expects to need."""
    state = st.sequential_mean(values, precision, rule=rule)
    expected = state.forecast
    return str(state.n) if state.stopped else f"about {expected.trials} ({expected.low} to {expected.high})"


def forecasts(source: str, metric: str, precision: str) -> None:
    """Print how far Eq. 3 after 20 trials is from the trials that Eq. 2 then takes, study after study."""
    print(
        f"{metric} to {precision} %   studies   trials taken, median   forecast off by: median, most   within 10 %"
    )
    for scheme in SCHEMES:
        values = column(source, f"{metric}_{scheme}")
        off, taken = [], []
        while True:
            state = st.sequential_mean(values, float(precision), rule="cceval")
            if not state.stopped:
                break
            expected = st.sequential_mean(values[:20], float(precision), rule="cceval").forecast.trials
            off.append(abs(expected / state.n - 1) * 100)
            taken.append(state.n)
            values = values[state.n :]
        print(
            f"{scheme:7} {len(off)}   {np.median(taken):.0f}   {np.median(off):.0f} %, {max(off):.0f} %"
            f"   {100 * np.mean(np.array(off) <= 10):.0f} %"
        )


def column(source: str, name: str) -> np.ndarray:
    return kept(source)[name].drop_nulls().to_numpy()


def kept(source: str) -> pl.DataFrame:
    return pl.read_csv(source, infer_schema_length=None)


def sides(source: str, metric: str, a: str, b: str) -> tuple[np.ndarray, np.ndarray]:
    """The values of both schemes in the rounds that have both."""
    both = kept(source).select(f"{metric}_{a}", f"{metric}_{b}").drop_nulls()
    return both[f"{metric}_{a}"].to_numpy(), both[f"{metric}_{b}"].to_numpy()


def blocks(values: np.ndarray) -> np.ndarray:
    """Shape (blocks, 10): what studies of ten trials would have had; a rest is left out."""
    return values[: values.size // BLOCK * BLOCK].reshape(-1, BLOCK)


def differences(a: np.ndarray, b: np.ndarray) -> tuple[list[st.Difference], list[st.Difference]]:
    """Studies of ten trials each: with the same flows for both schemes, and each block of a with each block of b but its own."""
    first, second = blocks(a), blocks(b)
    paired = [st.paired_difference(x, y) for x, y in zip(first, second, strict=True)]
    apart = [st.difference(x, y) for i, x in enumerate(first) for j, y in enumerate(second) if i != j]
    return paired, apart


def ten(source: str, metric: str, a: str, b: str) -> None:
    """Print how often ten trials say the opposite of all, and what their intervals say."""
    one, two = sides(source, metric, a, b)
    for words, whole in (("pairs", st.paired_difference(one, two)), ("apart", st.difference(one, two))):
        found, share = whole.welch, whole.percent.estimate
        bounds = f"{found.low:.4g} to {found.high:.4g} at 95 %"
        print(
            f"all {one.size} trials, {words}: {b} - {a} = {found.estimate:.4g} us ({bounds}), {share:.1f} %"
        )
    gain = st.pairing_gain(one, two)
    print(f"pairs: correlation {gain.correlation:.2f}, gain {gain.gain:.2f}")
    sign = np.sign(two.mean() - one.mean())
    for words, studies in zip(("pairs", "apart"), differences(one, two), strict=True):
        opposite = sum(np.sign(each.welch.estimate) != sign for each in studies)
        sure = [each for each in studies if each.welch.low > 0 or each.welch.high < 0]
        wrong = sum(np.sign(each.welch.estimate) != sign for each in sure)
        print(
            f"{len(studies)} studies of ten trials, {words}: {opposite} ({100 * opposite / len(studies):.1f} %) say the opposite; "
            f"the 95 % interval is on one side of 0 in {100 * len(sure) / len(studies):.0f} %, on the wrong one in {wrong}"
        )


def picture(source: str, metric: str, a: str, b: str, target: str) -> None:
    """Draw the differences that studies of ten trials find, with the intervals of each tenth one of those that are not paired."""
    one, two = sides(source, metric, a, b)
    paired, apart = differences(one, two)
    truth = two.mean() - one.mean()
    every = len(apart) // len(paired)
    panels = (
        (f"each scheme with flows of its own: {_share(apart, truth)}", apart[:: every + 1]),
        (f"the same flows for both: {_share(paired, truth)}", paired),
    )
    rows = [row for panel, studies in panels for row in _rows(panel, studies, truth)]
    title = "studies of ten trials, sorted by what they find; bars: their 95 % intervals; dashed: all trials"
    legend = alt.Legend(orient="bottom", title=title, titleLimit=700)
    colours = alt.Scale(domain=["as all trials", "opposite"], range=[BLUE, RED])
    axis = alt.Axis(labels=False, ticks=False, grid=False)
    base = alt.Chart(pl.DataFrame(rows)).encode(
        x=alt.X("place:Q", title=None, axis=axis, scale=alt.Scale(padding=4)),
        color=alt.Color("sign:N", scale=colours, legend=legend),
    )
    y = f"{b} - {a}, median of large flows, us"
    layers = (
        base.mark_rule(strokeWidth=1).encode(y=alt.Y("low:Q", title=y), y2="high:Q"),
        base.mark_point(filled=True, size=18, opacity=1).encode(y=alt.Y("estimate:Q", title=y)),
        alt.Chart().mark_rule(color=GREY).encode(y=alt.datum(0)),
        alt.Chart().mark_rule(color=GREY, strokeDash=[5, 4]).encode(y=alt.datum(truth)),
    )
    titles = [panel for panel, _ in panels]
    facet = alt.Facet("panel:N", title=None, sort=titles)
    grid = alt.layer(*layers, data=base.data).properties(width=330, height=330).facet(facet, columns=2)
    figure = Figure(
        "cceval",
        "Studies of ten trials",
        "",
        "Differences found by studies of ten trials.",
        encodings.inked(grid),
    )
    Path(target).write_text(svg([figure], {}, 2 * NARROW), encoding="utf-8")


def _share(studies: list[st.Difference], truth: float) -> str:
    wrong = sum(np.sign(each.welch.estimate) != np.sign(truth) for each in studies)
    return f"{100 * wrong / len(studies):.1f} % opposite"


def _rows(title: str, studies: list[st.Difference], truth: float) -> list[dict[str, float | str]]:
    ordered = sorted((study.welch for study in studies), key=lambda found: found.estimate)
    return [
        {
            "panel": title,
            "place": place,
            "low": found.low,
            "high": found.high,
            "estimate": found.estimate,
            "sign": "opposite" if np.sign(found.estimate) != np.sign(truth) else "as all trials",
        }
        for place, found in enumerate(ordered)
    ]


if __name__ == "__main__":
    {"keep": keep, "counts": counts, "forecasts": forecasts, "ten": ten, "picture": picture}[sys.argv[1]](
        *sys.argv[2:]
    )
