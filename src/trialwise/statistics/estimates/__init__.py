"""Percentiles, means, KPIs and scores of one sample, with intervals."""
