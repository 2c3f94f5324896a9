"""The figure of the page: what looking after every trial does to an interval that is made for one look.

python docs/how-to/peeking.py   # writes docs/images/peeking.svg, prints the shares
"""

from pathlib import Path

import altair as alt
import numpy as np
import polars as pl
from scipy.special import stdtrit

from trialwise import statistics as st
from trialwise.report.document import Figure
from trialwise.report.figures import encodings
from trialwise.report.figures.paint import svg
from trialwise.report.figures.theme import NARROW

REPETITIONS, MOST, FIRST = 1000, 1000, 5
RED, BLUE, GREY = "#b2332e", "#1f5f99", "#777777"

random = np.random.default_rng(5)
n = np.arange(1, MOST + 1)
quantile = np.append(0.0, stdtrit(n[1:] - 1, 0.975))
peeking, anytime, example = np.zeros(MOST), np.zeros(MOST), None
for _ in range(REPETITIONS):
    values = random.normal(size=MOST)
    means = np.cumsum(values) / n
    spread = np.sqrt(np.maximum(np.cumsum(values**2) - n * means**2, 0) / np.maximum(n - 1, 1))
    wrong = np.abs(means) > quantile * spread / np.sqrt(n)
    wrong[: FIRST - 1] = False
    peeking += np.logical_or.accumulate(wrong)
    found = st.mean_confidence_sequence(values)
    anytime += np.logical_or.accumulate((found.low > 0) | (found.high < 0))
for count in (20, 50, 100, 500, 1000):
    print(
        f"{count} trials: peeking {peeking[count - 1] / REPETITIONS:.2f}, at any time {anytime[count - 1] / REPETITIONS:.2f}"
    )

shown = n >= FIRST
shares = {
    name: 100 * each[shown] / REPETITIONS for name, each in (("peeking", peeking), ("anytime", anytime))
}
lines = pl.DataFrame({"trials": n[shown], **shares})
labels = pl.DataFrame(
    {
        "trials": [110, MOST, 20],
        "wrong": [38, 9, 5],
        "words": ["t interval, looked at after every trial", "bounds at any time", "5 %"],
        "way": ["peeking", "anytime", "level"],
    }
)
scale = alt.Scale(type="log", domain=[FIRST, 1.1 * MOST], nice=False)
x = alt.X(
    "trials:Q", title="trials so far", scale=scale, axis=alt.Axis(values=[5, 10, 20, 50, 100, 200, 500, 1000])
)
heights = alt.Scale(domain=[0, 105 * peeking[-1] / REPETITIONS], nice=False)
title = "wrong at some look, % of experiments"
drawn = [
    alt.Chart(lines)
    .mark_line(color=colour, strokeWidth=2)
    .encode(x=x, y=alt.Y(f"{name}:Q", title=title, scale=heights))
    for name, colour in (("peeking", RED), ("anytime", BLUE))
]
level = alt.Chart(labels).mark_rule(color=GREY, strokeDash=[5, 4]).encode(y=alt.datum(5))
words = [
    alt.Chart(labels)
    .transform_filter(f"datum.way === '{way}'")
    .mark_text(align=align, baseline="bottom", fontSize=12, color=colour)
    .encode(x="trials:Q", y="wrong:Q", text="words:N")
    for way, align, colour in (("peeking", "right", RED), ("anytime", "right", BLUE), ("level", "left", GREY))
]
chart = alt.layer(level, *drawn, *words)
figure = Figure("peeking", "What looking after every trial does", "Share of experiments that are wrong at some look.",
                "Share of wrong experiments against the number of trials.", encodings.finished(chart, 420))  # fmt: skip
target = Path(__file__).resolve().parent.parent / "images" / "peeking.svg"
target.write_text(svg([figure], {}, 2 * NARROW), encoding="utf-8")
