"""Timing side by side: what every bench shares."""

import json
import platform
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

RESULTS = Path(__file__).parent / "results"


def fastest(*functions: Callable[[], object], rounds: int = 7) -> list[float]:
    """Shortest time of each function, in seconds; they take turns, so that disturbances hit all alike."""
    times: list[list[float]] = [[] for _ in functions]
    for _ in range(rounds):
        for function, kept in zip(functions, times, strict=True):
            begin = time.perf_counter()
            function()
            kept.append(time.perf_counter() - begin)
    return [min(kept) for kept in times]


def write(name: str, rows: list[dict[str, object]]) -> None:
    """Keep the rows, with the machine they come from, and show them."""
    machine = {"processor": processor(), "python": platform.python_version(), "numpy": np.__version__}
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{name}.json").write_text(json.dumps({"machine": machine, "rows": rows}, indent=1) + "\n")
    show(rows)


def show(rows: list[dict[str, object]]) -> None:
    """Print the rows."""
    for row in rows:
        print("  ".join(f"{key} {value}" for key, value in row.items()))


def processor() -> str:
    """Model name of the processor."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    return next((line.split(": ")[1] for line in lines if line.startswith("model name")), platform.machine())


def milliseconds(seconds: float) -> float:
    """Rounded for people."""
    return round(seconds * 1e3, 3)
