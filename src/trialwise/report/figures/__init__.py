"""Figures: one Vega-Lite description of each, shown on pages and printed; a file for each family."""
