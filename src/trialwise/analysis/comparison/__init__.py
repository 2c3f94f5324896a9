"""Comparison of two sets of trials, ending in verdicts."""
