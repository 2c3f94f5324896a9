"""Two long pilot trials to try `trialwise runtime` on: a sender that takes 38 seconds to reach its rate.

python docs/how-to/pilot.py > pilot.csv
"""

import random

draw = random.Random(7)
print("trial,time,throughput")
for trial in (1, 2):
    for sample in range(1200):
        time = sample / 4
        rate = 92 * min(time / 38, 1) + draw.gauss(0, 4.6)
        print(f"{trial},{time:.2f},{max(rate, 0):.2f}")
