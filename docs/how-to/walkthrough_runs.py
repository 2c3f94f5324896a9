"""Writes three Pantheon folders: `nepal`, `once` and `ten`, whose runs have the means and deviations that the walkthrough prints.

The runs themselves are not published: these are drawn with a seed and moved to the printed mean and deviation.
"""

import json
import random
from pathlib import Path
from statistics import fmean, pstdev

random.seed(28)
NEPAL = {
    "copa": ((1.92, 0.11), (37.25, 0.73)),
    "vegas": ((4.04, 0.97), (126.93, 83.59)),
    "default_tcp": ((5.08, 1.16), (57.70, 40.99)),
    "sprout": ((4.80, 0.75), (57.12, 0.56)),
}
ONCE = {
    "copa": ((4.69, 0), (33.37, 0)),
    "vegas": ((3.54, 0), (57.57, 0)),
    "default_tcp": ((4.01, 0), (120.94, 0)),
    "sprout": ((4.75, 0), (53.14, 0)),
}
TEN = {
    "copa": ((4.10, 0.68), (33.70, 0.67)),
    "vegas": ((3.49, 0.39), (54.99, 35.93)),
    "default_tcp": ((3.53, 0.36), (83.39, 57.17)),
    "sprout": ((4.57, 0.26), (54.03, 0.52)),
}


def runs(count: int, mean: float, deviation: float) -> list[float]:
    drawn = [random.gauss(0, 1) for _ in range(count)]
    spread = pstdev(drawn) or 1
    return [mean + deviation * (value - fmean(drawn)) / spread for value in drawn]


for folder, schemes, count in (("nepal", NEPAL, 10), ("once", ONCE, 1), ("ten", TEN, 10)):
    perf = {}
    for scheme, metrics in schemes.items():
        pairs = zip(*(runs(count, *metric) for metric in metrics), strict=True)
        perf[scheme] = {
            str(run): {"all": {"tput": up, "delay": delay}} for run, (up, delay) in enumerate(pairs, 1)
        }
    Path(folder).mkdir(exist_ok=True)
    Path(folder, "pantheon_perf.json").write_text(json.dumps(perf))
    Path(folder, "pantheon_metadata.json").write_text(json.dumps({"runtime": 30}))
