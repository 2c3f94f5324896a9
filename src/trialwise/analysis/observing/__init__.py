"""Observer effect: whether measuring changes the measured quantity, for flavours compared with a base, at each load."""
