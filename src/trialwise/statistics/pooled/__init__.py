"""Samples of many trials together: trials as clusters, control variates."""
