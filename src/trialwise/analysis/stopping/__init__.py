"""What decides that an experiment has enough: the state of each claim after each round."""
