"""Two versions of one program, run in turns until it is clear which is better."""
