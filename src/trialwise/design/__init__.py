"""The design: how many trials, in what order, and when."""
