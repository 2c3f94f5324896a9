"""The required length of a trial."""
