"""Figures: one Vega-Lite description of each, shown on pages and printed; one file per family."""
