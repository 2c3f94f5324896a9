"""Files and folders to compare, made with a seed."""

import json

import numpy as np

SCHEMES = {
    "cubic": (9.5, 0.1, 220.0, 5.0),
    "bbr": (9.4, 0.1, 60.0, 3.0),
    "vegas": (4.0, 0.5, 45.0, 4.0),
    "quic": (3.0, 0.3, 60.0, 4.0),
}
"""Throughput and delay: mean and standard deviation."""


def pantheon(folder, runs, seed, factor=1.0):
    """A Pantheon folder; every throughput is multiplied."""
    rng = np.random.default_rng(seed)
    folder.mkdir()
    perf = {
        name: {
            str(run): {
                "all": {
                    "tput": factor * float(rng.normal(up, up_spread)),
                    "delay": float(rng.normal(across, across_spread)),
                    "loss": float(rng.uniform(0.004, 0.006)),
                }
            }
            for run in range(1, runs + 1)
        }
        for name, (up, up_spread, across, across_spread) in SCHEMES.items()
    }
    (folder / "pantheon_perf.json").write_text(json.dumps(perf))
    (folder / "pantheon_metadata.json").write_text(json.dumps({"runtime": 30}))
    return perf


def hyperfine(path, commands, seed=1):
    """A file of hyperfine with normal times: command to mean, standard deviation, number of runs."""
    rng = np.random.default_rng(seed)
    results = [
        {"command": name, "times": rng.normal(mean, spread, n).tolist(), "exit_codes": [0] * n}
        for name, (mean, spread, n) in commands.items()
    ]
    path.write_text(json.dumps({"results": results}))
    return path
