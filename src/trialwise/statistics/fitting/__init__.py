"""Fitting a simulation to measurements: distances between distributions, and a search with few evaluations."""
