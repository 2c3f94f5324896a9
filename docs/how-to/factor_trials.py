"""Trials of a made-up server: three flavours of logging at three loads, of which one flavour is slower at the highest load.

`python factor_trials.py` prints one row for each trial, `python factor_trials.py samples` 200 samples of one trial of each.
"""

import random
import sys

FLAVOURS, LOADS, ROUNDS, SAMPLES = ("none", "summary", "every"), (10, 100, 1000), 8, 200

random.seed(6)


def delay(flavour: str, load: int) -> float:
    return 2 + load / 500 + (0.5 if flavour == "every" and load == 1000 else 0)


def main() -> None:
    if sys.argv[1:] == ["samples"]:
        print("flavour,load,trial,delay")
        for flavour in FLAVOURS:
            for load in LOADS:
                level = delay(flavour, load) + random.gauss(0, 0.03)
                wander = 0.0
                for _ in range(SAMPLES):
                    wander = 0.8 * wander + random.gauss(0, 0.1)
                    print(f"{flavour},{load},{flavour}-{load},{level + wander:.4f}")
        return
    print("flavour,load,round,delay")
    treatments = [(flavour, load) for flavour in FLAVOURS for load in LOADS]
    for number in range(ROUNDS):
        for flavour, load in random.sample(treatments, len(treatments)):
            print(f"{flavour},{load},{number},{random.gauss(delay(flavour, load), 0.03):.4f}")


main()
