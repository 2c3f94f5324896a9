"""Condition data to try `trialwise profile` on: four weeks of a link's quality, with a day, a week and gaps.

python docs/how-to/link_quality.py > link_quality.csv
"""

import random
from datetime import UTC, datetime, timedelta
from math import pi, sin

draw = random.Random(7)
start = datetime(2026, 8, 3, tzinfo=UTC)
noise = 0.0
print("when,quality")
for sample in range(4 * 7 * 12):
    moment = start + timedelta(hours=2 * sample)
    day, week = sample / 12, sample / 84
    noise = 0.5 * noise + draw.gauss(0, 0.6)
    # Nobody measured on the 9th, and one sample in ten was lost.
    if moment.day != 9 and draw.random() > 0.1:
        quality = 94 + 1.5 * sin(2 * pi * day) + 0.8 * sin(2 * pi * week) + noise
        print(f"{moment.isoformat()},{quality:.2f}")
