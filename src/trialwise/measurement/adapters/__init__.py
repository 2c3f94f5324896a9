"""Adapters that stream from programs without measurement points: one file for each way to observe them."""
