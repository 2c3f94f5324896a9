"""Pooled samples of many trials: trials as clusters, control variates."""
