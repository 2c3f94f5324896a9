"""What the trials beside this file say of CCEval's Figure 12: trial counts of a testbed beside those of its simulator."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl

from trialwise import statistics as st

HERE = Path(__file__).parent
METRICS = ("p50", "p90", "p99")
RESAMPLES = 1000


def trials(name: str) -> pl.DataFrame:
    """The trials of one experiment: a row for each, completion times in seconds."""
    return pl.read_csv(HERE / f"testbed-in-small{name}.csv")


def wanted(values: np.ndarray) -> np.ndarray:
    """Trials to 1 % at 95 % by CCEval's Eq. 3, along the last axis: (1.96 s / 1 % of the mean)²."""
    return (1.96 * values.std(axis=-1, ddof=1) / (0.01 * values.mean(axis=-1))) ** 2


def counts(real: pl.DataFrame, simulated: pl.DataFrame) -> Iterator[str]:
    """Means, spreads, and the forecast of the rule that the experiments stop by."""
    for metric in METRICS:
        for name, table in (("testbed", real), ("simulator", simulated)):
            values = table[metric].to_numpy()
            found, forecast = st.mean_interval(values), st.sequential_mean(values, 1).forecast
            yield (
                f"{metric} {name:9}  n = {values.size:4}  mean {1e3 * found.estimate:7.2f} ms ({1e3 * found.low:.2f} to "
                f"{1e3 * found.high:.2f})  SD / mean {values.std(ddof=1) / values.mean():.2f}  "
                f"1 % takes {forecast.trials} trials ({forecast.low} to {forecast.high})"
            )


def ratio_bounds(first: np.ndarray, second: np.ndarray, rng: np.random.Generator) -> tuple[float, float]:
    """Of the trials wanted by `first` for one by `second`: bootstrap of the trials of both, percentiles at 95 %."""
    drawn = [wanted(rng.choice(each, (RESAMPLES, each.size))) for each in (first, second)]
    low, high = np.quantile(drawn[0] / drawn[1], [0.025, 0.975])
    return float(low), float(high)


def ratios(real: pl.DataFrame, simulated: pl.DataFrame, rng: np.random.Generator) -> Iterator[str]:
    """Trials that the testbed takes for one of the simulator's."""
    for metric in METRICS:
        both = [table[metric].to_numpy() for table in (real, simulated)]
        low, high = ratio_bounds(*both, rng)
        yield f"{metric}  testbed / simulator {wanted(both[0]) / wanted(both[1]):.2f} ({low:.2f} to {high:.2f})"


def blocks(real: pl.DataFrame, simulated: pl.DataFrame, rng: np.random.Generator) -> Iterator[str]:
    """As many trials of the simulator as the testbed had: what they forecast, and how often such a ratio's interval has 1."""
    size = real.height
    for metric in METRICS:
        values = simulated[metric].to_numpy()
        parts = values[: values.size // size * size].reshape(-1, size)
        each = wanted(parts)
        bounds = [ratio_bounds(part, values, rng) for part in parts]
        held = sum(low <= 1 <= high for low, high in bounds)
        yield (
            f"{metric}  {each.size} times {size} simulated trials: {each.min():.0f} to {each.max():.0f}, "
            f"{(each < wanted(real[metric].to_numpy())).sum()} below the testbed's; {held} such intervals hold their 1"
        )


def sources(real: pl.DataFrame, again: pl.DataFrame) -> Iterator[str]:
    """What varies when the same flow list runs again, and how much that is of the variance between trials."""
    for metric in METRICS:
        _, repeated = st.variance_components(again, metric, ["list"]).values()
        spread = np.sqrt(repeated) / again[metric].to_numpy().mean()
        values = real[metric].to_numpy()
        share = (spread / (values.std(ddof=1) / values.mean())) ** 2
        yield f"{metric}  the same list again: SD / mean {spread:.3f}, {100 * share:.2g} % of the variance between trials"


def main() -> None:
    """Print all of it."""
    real, simulated, again = trials(""), trials("-simulated"), trials("-again")
    rng = np.random.default_rng(1)
    for line in (
        *counts(real, simulated),
        *ratios(real, simulated, rng),
        *blocks(real, simulated, rng),
        *sources(real, again),
    ):
        print(line)


if __name__ == "__main__":
    main()
