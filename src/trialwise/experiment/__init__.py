"""The experiment: its model, and reading and checking `experiment.toml`."""
