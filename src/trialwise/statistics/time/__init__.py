"""What time does: seasons, spectra, noise."""
