"""Effect of the order of trials on their results."""
