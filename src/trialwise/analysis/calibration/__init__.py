"""Calibration of a bench by running a treatment against itself, so that everything found is noise."""
