"""ns-3 as a second engine for simulated trials: the same flow lists, simulated by a program that is not ours.

`request` translates a trial and rejects what ns-3 cannot do identically, `installation` finds it, `process` keeps it running, and
`driver` with the three `.hpp` is what runs inside it. ns-3 is GPL-2.0-only: it runs as a separate program, is not
distributed with Trialwise, and no part of it is in here.
"""
