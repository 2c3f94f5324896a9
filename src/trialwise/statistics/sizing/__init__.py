"""How much to measure: trials, series, length, allocation."""
