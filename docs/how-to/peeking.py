"""The figure of the page: what looking after every trial does to an interval that is made for one look.

python docs/how-to/peeking.py   # writes docs/images/peeking.svg, prints the shares
"""

from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from scipy.special import stdtrit

from trialwise import statistics as st

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

mpl.rcParams["svg.hashsalt"] = "peeking"
figure = Figure(figsize=(6.4, 3.4), layout="constrained")
axes = figure.add_subplot()
axes.plot(n, 100 * peeking / REPETITIONS, color=RED)
axes.plot(n, 100 * anytime / REPETITIONS, color=BLUE)
axes.axhline(5, color=GREY, linewidth=0.8, linestyle="--")
axes.text(110, 36, "t interval, looked at after every trial", color=RED, ha="right", va="bottom")
axes.text(MOST, 6, "bounds at any time", color=BLUE, ha="right", va="bottom")
axes.text(20, 5.4, "5 %", color=GREY, va="bottom")
axes.set(
    xscale="log", xlim=(FIRST, MOST), ylim=(0, None), xlabel="trials so far",
    ylabel="wrong at some look, % of experiments",
)  # fmt: skip
axes.xaxis.set_major_formatter("{x:g}")
axes.spines[["top", "right"]].set_visible(False)
target = Path(__file__).resolve().parent.parent / "images" / "peeking.svg"
figure.savefig(target, metadata={"Date": None})
