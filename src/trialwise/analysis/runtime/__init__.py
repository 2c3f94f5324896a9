"""How long a trial has to be."""
