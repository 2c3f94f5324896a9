"""Trials of four programs in fixed and in random order, one of which slows another: made up, for the page."""

import numpy as np

rng = np.random.Generator(np.random.PCG64DXSM(4))
programs = ["copy", "sort", "scan", "join"]
speed = dict(zip(programs, (120.0, 80.0, 200.0, 60.0), strict=True))
turns = rng.permuted(np.tile([["fixed", "random"]], (30, 1)), axis=1).ravel()

print("test,order,run,position,value")
for run, order in enumerate(turns):
    before = ""
    for position, test in enumerate(rng.permutation(programs) if order == "random" else programs):
        # scan finds the cache full of what sort has left there.
        slow = 0.9 if (test, before) == ("scan", "sort") else 1.0
        print(f"{test},{order},{run},{position},{speed[test] * slow * (1 + 0.015 * rng.normal()):.2f}")
        before = test
