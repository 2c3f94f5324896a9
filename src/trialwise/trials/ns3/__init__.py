"""ns-3 as a second engine of simulated trials: the same flow lists by a program that is not ours.

`request` says what ns-3 is asked for and refuses what it cannot do the same, `installation` finds it, `process` keeps it running, and
`driver` with the three `.hpp` is what runs inside it. ns-3 is GPL-2.0-only: it runs as a program of its own, is not
distributed with Trialwise, and no part of it is in here.
"""
