"""KPIs of each scheme in TriScale's table `metrics_wo_convergence.csv`, and which scheme dominates which in all series."""

import sys

import polars as pl

from trialwise import statistics as st

KPIS = {"throughput_value": (25, "lower", 1), "delay_value": (75, "upper", -1)}
"""Column: percentile, side of its bound at 75 %, and the direction that is better."""


def kpis(trials: pl.DataFrame, column: str) -> dict[str, list[float]]:
    """The KPI of each series, by scheme; missing values are left out."""
    percentile, bound, _ = KPIS[column]
    known = trials.drop_nulls(column).group_by("cc", "datetime", maintain_order=True).agg(column)
    found: dict[str, list[float]] = {}
    for scheme, _, values in known.iter_rows():
        found.setdefault(scheme, []).append(st.kpi(values, percentile, 75, bound=bound).value)
    return found


def dominates(one: str, other: str, found: dict[str, dict[str, list[float]]]) -> bool:
    """Whether the worst series of one is better than the best series of the other, in both KPIs."""
    return all(
        min(way * value for value in found[column][one]) > max(way * value for value in found[column][other])
        for column, (_, _, way) in KPIS.items()
    )


trials = pl.read_csv(sys.argv[1], null_values=["nan", "None", ""])
found = {column: kpis(trials, column) for column in KPIS}
print("scheme            Mbit/s            ms              dominated by")
for scheme in sorted(found["delay_value"]):
    ranges = [f"{min(each[scheme]):.4g} to {max(each[scheme]):.4g}" for each in found.values()]
    better = [other for other in sorted(found["delay_value"]) if dominates(other, scheme, found)]
    print(f"{scheme:17} {ranges[0]:17} {ranges[1]:15} {', '.join(better) or '-'}")
