"""Factors: analysis of variance, components, effects and their sizes."""
