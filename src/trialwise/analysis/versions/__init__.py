"""Two versions of one program, run alternately until it is clear which is better."""
