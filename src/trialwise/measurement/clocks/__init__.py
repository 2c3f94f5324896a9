"""Two clocks from the packets between them: offset, rate, steps, and which delays need them."""
