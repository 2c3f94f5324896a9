"""Estimation: what many simulated trials say of each treatment, with the estimand named."""
