"""Experiments over paths: throughput, delay and loss of flows."""
