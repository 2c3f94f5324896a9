"""Effects of the order of trials: fixed against random, carry-over, position."""
