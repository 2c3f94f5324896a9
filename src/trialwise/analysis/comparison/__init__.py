"""Two sets of trials side by side, ending in verdicts."""
