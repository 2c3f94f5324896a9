"""What the order of trials does: fixed against random, carry-over, position."""
