"""Effects of time: seasons, spectra, noise."""
