"""One controller in three worlds: simulated, with real packets over the emulator by UDP, and another's implementation of the same law.

Run with `.venv/bin/python benches/worlds.py FOLDER [SCHEME…]`; the directories of the runs stay in FOLDER, and a run that was ended
goes on where it was. Twelve paths: three rates, two delays, two buffers, random loss on half of them. Links of both worlds draw the
same numbers. Wanted, of each path: throughput within 5 %, and the 95th percentile of queueing delay within 15 % or 2 ms. The table
is printed and kept in `benches/results/worlds.json`.
"""

from __future__ import annotations

import sys
from itertools import product
from pathlib import Path

from measuring import write
from trialwise import study
from trialwise.schemes.library import SHIPPED, read_file

RUNTIME, WARMUP = "14s", "4s"
THROUGHPUT, DELAY, DELAY_MS = 0.05, 0.15, 2.0
GRID = tuple(product((5, 12, 50), (10, 40), (1, 3)))
PATHS = {
    f"at{rate}M-{delay}ms-{buffer}bdp{loss}": f'rate = "{rate}Mbit/s"\ndelay = "{delay}ms"\nqueue = "droptail:bdp={buffer}"\n'
    + ('loss = "0.5%"\n' if loss else "")
    for rate, delay, buffer in GRID
    for loss in (("", "-loss")[(rate // 12 + delay // 40 + buffer // 3) % 2],)
}
SECOND = {"udp-newreno": "reno", "udp-cubic": "cubic", "udp-ledbat": "libutp-ledbat"}
"""Another's implementation of the same law, which runs over the same paths."""
FILE = """[experiment]
name = "worlds"
seed = 12
[factors]
scheme = {schemes}
path = {paths}
[trial]
kind = "path"
engine = "{engine}"
scheme = "{{scheme}}"
path = "{{path}}"
runtime = "{runtime}"
warmup = "{warmup}"
packets = "drop"
[metrics.throughput]
measure = "mean"
[metrics.queueing_delay]
measure = "p95"
[design]
series = 1
rounds = 1
"""
Means = dict[tuple[str, str], tuple[float, float]]
"""Throughput (Mbit/s) and p95 queueing delay (ms) of a scheme over a path."""


def main() -> None:
    folder, *wanted = sys.argv[1:]
    schemes = wanted or [
        path.stem
        for path in sorted(SHIPPED.glob("udp-*.toml"))
        if (scheme := read_file(path)).simulated is not None and "bulk" in scheme.loads
    ]
    place = Path(folder)
    place.mkdir(exist_ok=True)
    simulated = means(place, "simulated", schemes)
    emulated = means(place, "emulated", [*schemes, *(SECOND[name] for name in schemes if name in SECOND)])
    rows = [
        row(scheme, path, simulated[scheme, path], emulated[other, path], other)
        for scheme in schemes
        for other in (scheme, SECOND.get(scheme))
        if other is not None
        for path in PATHS
        if (scheme, path) in simulated and (other, path) in emulated
    ]
    write("worlds", rows)
    for one in rows:
        print("  ".join(f"{value}" for value in one.values()))
    for scheme in dict.fromkeys(one["against"] for one in rows):
        own = [one for one in rows if one["against"] == scheme]
        print(f"{scheme}: {sum(bool(one['within']) for one in own)} of {len(own)} paths within")


def means(place: Path, engine: str, schemes: list[str]) -> Means:
    """Run what is left of one world, and return what every scheme did over every path."""
    file = place / f"{engine}.toml"
    tables = "".join(f'[paths."{name}"]\n{text}' for name, text in PATHS.items())
    head = FILE.format(schemes=schemes, paths=list(PATHS), engine=engine, runtime=RUNTIME, warmup=WARMUP)
    file.write_text((head + tables).replace("'", '"'))
    directory = place / f"{engine}.results"
    study.run(file, directory)
    found: Means = {}
    analysis = study.analyse(directory)
    throughput, delay = (
        {trial.number: trial.value for trial in metric.trials} for metric in analysis.metrics
    )
    for trial in analysis.metrics[0].trials:
        levels = dict(word.split("=", 1) for word in trial.treatment.split())
        values = throughput[trial.number], delay[trial.number]
        if None not in values:
            found[levels["scheme"], levels["path"]] = values  # pyright: ignore[reportArgumentType]
    return found


def row(
    scheme: str, path: str, here: tuple[float, float], there: tuple[float, float], other: str
) -> dict[str, object]:
    change = there[0] / here[0] - 1
    later = there[1] - here[1]
    within = abs(change) <= THROUGHPUT and (abs(later) <= DELAY_MS or abs(later) <= DELAY * here[1])
    return {
        "scheme": scheme,
        "against": f"{other} emulated",
        "path": path,
        "throughput": [round(here[0], 3), round(there[0], 3)],
        "change_percent": round(100 * change, 1),
        "queueing_p95_ms": [round(here[1], 2), round(there[1], 2)],
        "within": within,
    }


if __name__ == "__main__":
    main()
