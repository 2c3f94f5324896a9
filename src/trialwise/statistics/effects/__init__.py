"""Factors: analysis of variance, variance components, effects and their sizes."""
