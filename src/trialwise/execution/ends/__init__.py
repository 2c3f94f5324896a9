"""Trials over real paths: two ends, each this machine or one that ssh reaches."""
