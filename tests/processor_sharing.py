"""One bottleneck that all flows share equally: the toy on which importance sampling is judged (M/G/1 processor sharing)."""

from heapq import heappop, heappush

import numpy as np

RATE, DURATION, CAPACITY = 2191.0, 0.02, 12.5e9
"""Toy A: arrivals per second, seconds of arrivals in a trial, bytes per second (100 Gbit/s)."""
WEBSEARCH = (11.725256596341138, 2.834531401332059)
"""Mean and standard deviation of ln S of the lognormal that is fitted to the WebSearch sizes (bytes)."""


def sharing(duration=DURATION, capacity=CAPACITY):
    """A function that simulates one trial: arrivals during a time, then run until the last flow has ended.

    A flow ends when the service that each flow has had reaches what it was at its arrival, plus its size: a heap of these
    is all that is needed.
    """

    def simulate(sampler):
        now, served = 0.0, 0.0
        active, responses, logs = [], [], []
        gap = sampler.gap()
        following = last = gap
        while active or following < duration:
            ending = now + (active[0][0] - served) * len(active) / capacity if active else np.inf
            if following < duration and following <= ending:
                served += (following - now) * capacity / len(active) if active else 0.0
                now = last = following
                heappush(active, (served + sampler.arrival(gap), now))
                gap = sampler.gap()
                following = now + gap
                continue
            now, (served, arrived) = ending, heappop(active)
            responses.append(now - arrived)
            before = sampler.switched
            logs.append(sampler.finish(now - arrived, now - last))
            if sampler.switched and not before and following > now:
                # A gap that is open when the rate changes begins anew; at the same rate that changes nothing in distribution.
                gap = sampler.gap()
                following = now + gap
        return responses, logs

    return simulate
