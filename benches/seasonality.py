"""Time of `seasonality` on 100,000 points and of `runtime_needed` on 1,000,000, on one core.

Run with `.venv/bin/python benches/seasonality.py`; the result is kept in `benches/results/seasonality.json`.
The ratio is to one `scipy.signal.lombscargle` of 4,000 points at 4,000 frequencies, timed in the same run: a
spectrum without any test. Times are of the process, so that others on the machine count less; all libraries
are kept to one thread.
"""

import json
import os
import platform
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from scipy import signal

from trialwise.statistics.sizing.runtime import runtime_needed
from trialwise.statistics.time.seasonality import seasonality

THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
POINTS = 100_000
DAY = 86_400.0
LIMIT_SECONDS = 5.0


def processor_time(function: Callable[[], object], rounds: int = 2) -> float:
    """Shortest of several rounds, in seconds."""
    times: list[float] = []
    for _ in range(rounds):
        begin = time.process_time()
        function()
        times.append(time.process_time() - begin)
    return min(times)


def conditions() -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Name, times and values of ten weeks, a value every minute."""
    rng = np.random.Generator(np.random.PCG64DXSM(1))
    regular, irregular = np.arange(POINTS) * 60.0, np.cumsum(rng.exponential(60, POINTS))
    noise = rng.standard_normal(POINTS)

    def waves(times: np.ndarray, *periods: float) -> np.ndarray:
        return noise + sum(0.3 * np.sin(2 * np.pi * times / period) for period in periods)

    yield "regular, day and 50 min", regular, waves(regular, DAY, 3000)
    yield "irregular, day and 50 min", irregular, waves(irregular, DAY, 3000)
    yield "regular, noise", regular, noise
    many = (DAY, 3000, 7100, 17_000, 41_000, 230_000)
    yield "regular, day and five others", regular, waves(regular, *many)
    yield "irregular, day and five others", irregular, waves(irregular, *many)


def measured() -> Iterator[dict[str, object]]:
    """One row for each call that is timed."""
    rng = np.random.Generator(np.random.PCG64DXSM(2))
    few, values, angular = np.arange(4000.0), rng.standard_normal(4000), np.linspace(0.001, 3, 4000)
    reference = processor_time(lambda: signal.lombscargle(few, values, angular), rounds=5)
    for name, times, noisy in conditions():
        taken = processor_time(lambda times=times, noisy=noisy: seasonality(times, noisy))
        yield row("seasonality, 100,000", name, taken, reference)
        assert taken < LIMIT_SECONDS, name
    pilot = 100 + 10 * rng.standard_normal(1_000_000)
    for measure in ("mean", 95):
        taken = processor_time(lambda measure=measure: runtime_needed(pilot, measure=measure))
        yield row("runtime_needed, 1,000,000", str(measure), taken, reference)


def row(what: str, case: str, seconds: float, reference: float) -> dict[str, object]:
    return {"what": what, "case": case, "seconds": round(seconds, 2), "ratio": round(seconds / reference, 1)}


def main() -> None:
    if any(os.environ.get(variable) != "1" for variable in THREADS):
        # Libraries read these when they are loaded, which has happened.
        os.execve(sys.executable, [sys.executable, __file__], os.environ | dict.fromkeys(THREADS, "1"))  # noqa: S606
    rows: list[dict[str, object]] = []
    for one in measured():
        print(one, flush=True)
        rows.append(one)
    results = Path(__file__).parent / "results"
    results.mkdir(exist_ok=True)
    machine = {"processor": platform.machine(), "python": platform.python_version(), "numpy": np.__version__}
    (results / "seasonality.json").write_text(json.dumps({"machine": machine, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
