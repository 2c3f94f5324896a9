"""Estimation: results for each treatment from many simulated trials, with the estimand named."""
