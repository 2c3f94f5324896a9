"""Stopping of an experiment: the state of each claim after each round."""
